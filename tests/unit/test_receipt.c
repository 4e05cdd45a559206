/* links: view */
/* Receipts made from facts: the fold, the frontier, what the text and the JSON say of it. */

#include <jansson.h>

#include "coordinator/story/board.h"
#include "coordinator/story/frontier.h"
#include "coordinator/view/receipt_text.h"
#include "receipt_fixture.h"
#include "test.h"

static struct plan_host plan_hosts[2] = { { .name = TEXT_LIT ("h0") }, { .name = TEXT_LIT ("h1") } };
static struct rung plan_rungs[3] = { { .id = TEXT_LIT ("one"), .launch = TEXT_LIT ("00000000deadbeef") },
                                     { .id = TEXT_LIT ("two") },
                                     { .id = TEXT_LIT ("three") } };

static void open_run (struct board *fold)
{
    struct fact fact = { .kind = FACT_RUN_OPENED };
    fact.of.run_opened.run = TEXT_LIT ("0123456789abcdef0123456789abcdef");
    fact.of.run_opened.plan.slice = TEXT_LIT ("sample");
    fact.of.run_opened.plan.ladder = TEXT_LIT ("three");
    fact.of.run_opened.plan.profile.name = TEXT_LIT ("plain");
    fact.of.run_opened.plan.hosts.items = plan_hosts;
    fact.of.run_opened.plan.hosts.n = 2;
    fact.of.run_opened.plan.rungs.items = plan_rungs;
    fact.of.run_opened.plan.rungs.n = 3;
    board_apply (fold, &fact);
}

static void end_attempt (struct board *fold, uint32_t host, struct attempt_key key)
{
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED };
    fact.of.attempt_ended.host = host;
    fact.of.attempt_ended.result =
        (struct result){ .key = key, .ending = ENDING_EXITED, .done = true, .duration_ms = 10 };
    board_apply (fold, &fact);
}

static void end_pass (struct board *fold, struct attempt_key key, struct verdict *verdicts, uint32_t n)
{
    struct fact fact = { .kind = FACT_PASS_ENDED };
    fact.of.pass_ended =
        (struct fact_pass_ended){ .key = key, .outcome = n ? OUTCOME_FAILED : OUTCOME_PASSED, .duration_ms = 20 };
    fact.of.pass_ended.verdicts.items = verdicts;
    fact.of.pass_ended.verdicts.n = n;
    board_apply (fold, &fact);
}

/* One passes, two fails on h1 only, three is not reached. */
static struct board *failed_at_two (struct arena *arena, struct slice_receipt *receipt)
{
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    struct attempt_key one = { 0, PASS_ONCE, 1 }, two = { 1, PASS_ONCE, 1 };
    struct verdict verdict = {
        .host = 1, .outcome = OUTCOME_FAILED, .owner = OWNER_PROGRAM, .cause = TEXT_LIT ("exit status 3")
    };
    open_run (fold);
    for (uint32_t host = 0; host < 2; host++)
        end_attempt (fold, host, one);
    end_pass (fold, one, NULL, 0);
    for (uint32_t host = 0; host < 2; host++)
        end_attempt (fold, host, two);
    end_pass (fold, two, &verdict, 1);
    board_make_receipt (fold, arena, receipt);
    return fold;
}

TEST (the_fold_tells_where_each_host_stands)
{
    struct slice_receipt receipt;
    struct board *fold = failed_at_two (&t->arena, &receipt);
    const struct run_header *header = &receipt.headers.items[0];
    struct frontier slice = frontier_of_slice (header, &receipt);
    assert_int_equal (receipt.hosts.n, 2);
    assert_int_equal (slice.first_passing, 0);
    assert_int_equal (slice.highest_passing, 0);
    assert_int_equal (slice.next_failing, 1);
    assert_int_equal (frontier_host_outcome (header, &receipt.hosts.items[0]), OUTCOME_PASSED);
    assert_int_equal (frontier_host_outcome (header, &receipt.hosts.items[1]), OUTCOME_FAILED);
    assert_int_equal (frontier_of_host (header, &receipt.hosts.items[0]).highest_passing, 1);
    assert_int_equal (frontier_slice_outcome (header, &receipt), OUTCOME_FAILED);
    board_destroy (fold);
}

/* Else what hosts say alike would be in memory once a host. */
TEST (an_attempt_that_hosts_have_alike_is_kept_once_until_they_differ)
{
    struct slice_receipt receipt;
    struct board *fold = failed_at_two (&t->arena, &receipt);
    struct rung_receipt **first = receipt.hosts.items[0].rungs.items, **second = receipt.hosts.items[1].rungs.items;
    assert_ptr_equal (first[0], second[0]);
    assert_int_equal (first[1]->outcome, OUTCOME_PASSED);
    assert_int_equal (second[1]->outcome, OUTCOME_FAILED);
    assert_text (first[1]->cause.text, "");
    board_destroy (fold);
}

TEST (a_failure_by_what_others_grant_is_always_rechecked)
{
    struct signature known[] = { { .id = TEXT_LIT ("quota"), .recheck = true }, { .id = TEXT_LIT ("disk") } };
    for (uint32_t i = 0; i < 2; i++) {
        struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
        struct attempt_key key = { 0, PASS_ONCE, 1 };
        struct verdict verdict = {
            .host = 1, .outcome = OUTCOME_FAILED, .owner = OWNER_PLATFORM, .signature = known[i].id
        };
        struct fact opened = { .kind = FACT_RUN_OPENED };
        struct arena arena = { 0 };
        struct slice_receipt receipt;
        opened.of.run_opened.plan.hosts.items = plan_hosts, opened.of.run_opened.plan.hosts.n = 2;
        opened.of.run_opened.plan.rungs.items = plan_rungs, opened.of.run_opened.plan.rungs.n = 3;
        opened.of.run_opened.plan.signatures.items = known, opened.of.run_opened.plan.signatures.n = 2;
        board_apply (fold, &opened);
        end_attempt (fold, 1, key);
        end_pass (fold, key, &verdict, 1);
        board_make_receipt (fold, &arena, &receipt);
        const struct host_receipt *host = &receipt.hosts.items[1];
        assert_int_equal (host->notes.n, i == 0);
        assert_true (i > 0 || host->notes.items[0].durability == DURABILITY_RECHECK);
        board_destroy (fold);
        arena_release (&arena);
    }
}

TEST (a_later_attempt_counts_and_keeps_its_history)
{
    struct slice_receipt receipt;
    struct board *fold = failed_at_two (&t->arena, &receipt);
    struct attempt_key again = { 1, PASS_ONCE, 2 };
    for (uint32_t host = 0; host < 2; host++)
        end_attempt (fold, host, again);
    end_pass (fold, again, NULL, 0);
    board_make_receipt (fold, &t->arena, &receipt);
    const struct rung_receipt *latest = frontier_latest_attempt (&receipt.hosts.items[1], TEXT_LIT ("two"), PASS_ONCE);
    assert_int_equal (latest->outcome, OUTCOME_PASSED);
    assert_int_equal (latest->recovered.n, 1);
    assert_has (latest->recovered.items[0], "exit status 3");
    assert_int_equal (frontier_slice_outcome (&receipt.headers.items[0], &receipt), OUTCOME_PASSED);
    board_destroy (fold);
}

TEST (a_cold_pass_that_compiled_nothing_says_so)
{
    struct named_number counted[] = { { TEXT_LIT ("compile_requests"), 2 },
                                      { TEXT_LIT ("cache_hits"), 2 },
                                      { TEXT_LIT ("executions"), 1 } };
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    struct fact ended = { .kind = FACT_ATTEMPT_ENDED };
    struct result *result = &ended.of.attempt_ended.result;
    struct slice_receipt receipt;
    struct buf *text = test_buf (t);
    *result = (struct result){ .key = { 0, PASS_COLD, 1 }, .ending = ENDING_EXITED, .done = true };
    result->counters.items = counted, result->counters.n = 3;
    open_run (fold);
    board_apply (fold, &ended);
    end_pass (fold, result->key, NULL, 0);
    board_make_receipt (fold, &t->arena, &receipt);
    assert_text (receipt.hosts.items[0].rungs.items[0]->cache, "restored");
    receipt_text (&receipt, &(const struct drift_query){ 0 }, text);
    assert_has (text, "cold     passed         h0  compiled nothing: every program was in the "
                      "cache already\n");
    board_destroy (fold);
}

/* A generation of two programs, compiled in 40 s in all; this rung found one of them, which took 1.6 s. */
TEST (what_was_saved_is_of_the_programs_that_were_found)
{
    struct named_number counted[] = { { TEXT_LIT ("cache_hits"), 1 }, { TEXT_LIT ("retrieval_ms"), 100 } };
    struct cache_key sealed[] = {
        { .program = TEXT_LIT ("small"), .key = TEXT_LIT ("small-1"), .state = KEY_WRITTEN, .compile_ms = 1600 },
        { .program = TEXT_LIT ("large"), .key = TEXT_LIT ("large-1"), .state = KEY_WRITTEN, .compile_ms = 38400 },
    };
    struct cache_key found[] = { { .program = TEXT_LIT ("small"), .key = TEXT_LIT ("small-1"), .state = KEY_HIT } };
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    struct fact adopted = { .kind = FACT_GENERATION_ADOPTED, .of.generation = { .token = 1, .compile_ms = 40000 } };
    struct fact ended = { .kind = FACT_ATTEMPT_ENDED };
    struct result *result = &ended.of.attempt_ended.result;
    struct slice_receipt receipt;
    struct buf *text = test_buf (t);
    adopted.of.generation.keys.items = sealed, adopted.of.generation.keys.n = 2;
    *result = (struct result){ .key = { 0, PASS_RESTORED, 1 }, .ending = ENDING_EXITED, .done = true };
    result->counters.items = counted, result->counters.n = 2;
    result->keys.items = found, result->keys.n = 1;
    open_run (fold);
    board_apply (fold, &adopted);
    board_apply (fold, &ended);
    end_pass (fold, result->key, NULL, 0);
    board_make_receipt (fold, &t->arena, &receipt);
    assert_int_equal (receipt.hosts.items[0].rungs.items[0]->keys.items[0].compile_ms, 1600);
    receipt_text (&receipt, &(const struct drift_query){ 0 }, text);
    assert_has (text, ": 1 program loaded instead of compiled, compile time saved 1.5 s (compiling "
                      "them again would take 1.6 s, loading took 100 ms)\n");
    board_destroy (fold);
}

/* What h1 measured and saw when it fell, as its receipt has it. */
static void measure (struct board *fold, struct attempt_key key)
{
    static struct named_number phases[] = { { TEXT_LIT ("start"), 5 }, { TEXT_LIT ("compile"), 7 } };
    static struct sighting seen[] = { { TEXT_LIT ("hbm"), 12, 345, TEXT_LIT ("out of memory in hbm"), true } };
    static struct result_note notes[] = { { TEXT_LIT ("/dev/accel0 was held by pid 7 (x) for 2 s"), TEXT_LIT ("device"),
                                            DURABILITY_RECHECK } };
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED };
    struct result *result = &fact.of.attempt_ended.result;
    fact.of.attempt_ended.host = 1;
    *result = (struct result){ .key = key,
                               .ending = ENDING_EXITED,
                               .code = 1,
                               .duration_ms = 90,
                               .peak_bytes = 1,
                               .predicted_bytes = 2,
                               .device_peak_bytes = 3,
                               .tail = TEXT_LIT ("the end") };
    result->phases.items = phases, result->phases.n = 2;
    result->sightings.items = seen, result->sightings.n = 1;
    result->notes.items = notes, result->notes.n = 1;
    board_apply (fold, &fact);
}

TEST (what_an_attempt_measured_and_saw_is_kept)
{
    struct slice_receipt receipt, back;
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    struct attempt_key one = { 0, PASS_ONCE, 1 };
    struct verdict verdict = { .host = 1,
                               .outcome = OUTCOME_FAILED,
                               .owner = OWNER_PROGRAM,
                               .cause = TEXT_LIT ("full"),
                               .signature = TEXT_LIT ("hbm"),
                               .evidence = TEXT_LIT ("out of memory in hbm") };
    struct buf *out = test_buf (t);
    open_run (fold);
    measure (fold, one);
    end_pass (fold, one, &verdict, 1);
    board_make_receipt (fold, &t->arena, &receipt);
    const struct rung_receipt *rung = frontier_latest_attempt (&receipt.hosts.items[1], TEXT_LIT ("one"), PASS_ONCE);
    assert_int_equal (rung->phases.n, 2);
    assert_true (text_is (rung->phases.items[0].name, "start") && rung->phases.items[1].value == 7);
    assert_true (rung->memory.peak_bytes == 1 && rung->memory.predicted_bytes == 2 &&
                 rung->memory.device_peak_bytes == 3);
    assert_int_equal (rung->sightings.items[0].offset, 345);
    assert_int_equal (rung->recovered.n, 1);
    assert_true (text_starts (rung->recovered.items[0], "/dev/accel0 was held by"));
    assert_text (rung->cause.evidence, "out of memory in hbm");
    assert_text (rung->launch, "00000000deadbeef");
    receipt_text (&receipt, &(const struct drift_query){ 0 }, out);
    assert_has (buf_c (out), "h1  (90 ms)\n             line 12: out of memory in hbm\n             full; whose: ");
    buf_clear (out);
    receipt_json (&receipt, &(const struct drift_query){ 0 }, out);
    read_back (out, &back, &t->arena);
    assert_int_equal (frontier_latest_attempt (&back.hosts.items[1], TEXT_LIT ("one"), PASS_ONCE)->phases.n, 2);
    board_destroy (fold);
}

static void lose_host (struct board *fold, uint32_t host, const char *why)
{
    struct fact fact = { .kind = FACT_HOST_LOST };
    fact.of.host_lost = (struct fact_host_lost){ .host = host, .why = text_of (why) };
    board_apply (fold, &fact);
}

static void end_run (struct board *fold, enum outcome outcome)
{
    struct fact fact = { .kind = FACT_RUN_ENDED };
    fact.of.run_ended = (struct fact_run_ended){ .outcome = outcome, .exit_status = 3, .sentence = TEXT_LIT ("over") };
    board_apply (fold, &fact);
}

static struct board *refused_at_launch (struct arena *arena, struct slice_receipt *receipt)
{
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    open_run (fold);
    lose_host (fold, 1, "the worker was not started, in step connect: no connection to port 22");
    end_run (fold, OUTCOME_BLOCKED);
    board_make_receipt (fold, arena, receipt);
    return fold;
}

TEST (a_host_that_was_refused_could_not_run_and_the_others_were_not_reached)
{
    struct slice_receipt receipt;
    struct board *fold = refused_at_launch (&t->arena, &receipt);
    const struct run_header *header = &receipt.headers.items[0];
    const struct rung_receipt *first = frontier_latest_attempt (&receipt.hosts.items[1], TEXT_LIT ("one"), PASS_ONCE);
    assert_non_null (first);
    assert_int_equal (first->outcome, OUTCOME_BLOCKED);
    assert_has (first->cause.text, "step connect");
    assert_true (text_starts (first->cause.next, "to go on with the 1 that are up: "));
    assert_has (first->cause.next, " --min-hosts 1; ");
    assert_int_equal (frontier_host_outcome (header, &receipt.hosts.items[0]), OUTCOME_NOT_REACHED);
    assert_int_equal (frontier_host_outcome (header, &receipt.hosts.items[1]), OUTCOME_BLOCKED);
    assert_int_equal (frontier_rung_outcome (&receipt.hosts.items[1], TEXT_LIT ("two")), OUTCOME_NOT_REACHED);
    assert_int_equal (frontier_slice_outcome (header, &receipt), OUTCOME_BLOCKED);
    assert_int_equal (frontier_of_slice (header, &receipt).next_failing, 0);
    board_destroy (fold);
}

TEST (where_nobody_is_up_no_command_goes_on_with_them)
{
    struct slice_receipt receipt;
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    open_run (fold);
    for (uint32_t host = 0; host < 2; host++)
        lose_host (fold, host, "its worker did not join within 8 s");
    end_run (fold, OUTCOME_BLOCKED);
    board_make_receipt (fold, &t->arena, &receipt);
    const struct rung_receipt *first = frontier_latest_attempt (&receipt.hosts.items[1], TEXT_LIT ("one"), PASS_ONCE);
    assert_non_null (first);
    assert_true (first->cause.next.len > 0);
    assert_has_not (first->cause.next, "--min-hosts");
    board_destroy (fold);
}

TEST (the_frontier_is_of_those_that_came_and_the_outcome_of_all)
{
    struct slice_receipt receipt;
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    struct attempt_key one = { 0, PASS_ONCE, 1 };
    struct verdict verdict = { .host = 1, .outcome = OUTCOME_BLOCKED, .owner = OWNER_HOST };
    struct fact left = { .kind = FACT_HOSTS_LEFT_BEHIND };
    open_run (fold);
    lose_host (fold, 1, "its worker did not join within 8 s");
    left.of.hosts_left_behind.verdicts.items = &verdict;
    left.of.hosts_left_behind.verdicts.n = 1;
    board_apply (fold, &left);
    end_attempt (fold, 0, one);
    end_pass (fold, one, NULL, 0);
    board_make_receipt (fold, &t->arena, &receipt);
    struct frontier slice = frontier_of_slice (&receipt.headers.items[0], &receipt);
    assert_int_equal (slice.first_passing, 0);
    assert_int_equal (slice.highest_passing, 0);
    assert_int_equal (slice.next_failing, -1);
    assert_int_equal (frontier_slice_outcome (&receipt.headers.items[0], &receipt), OUTCOME_BLOCKED);
    end_run (fold, OUTCOME_BLOCKED);
    board_make_receipt (fold, &t->arena, &receipt);
    assert_int_equal (receipt.hosts.items[1].rungs.n, 1); /* it is told once */
    board_destroy (fold);
}

TEST (a_cancelled_run_tells_why_a_host_never_came)
{
    for (int joined = 0; joined < 2; joined++) {
        struct arena arena = { 0 };
        struct slice_receipt receipt;
        struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
        open_run (fold);
        struct fact fact = { .kind = FACT_HOST_JOINED, .of.host_joined.host = 1 };
        if (joined)
            board_apply (fold, &fact);
        lose_host (fold, 1, "the worker was not started, in step connect: no connection to port 22");
        fact = (struct fact){ .kind = FACT_RUN_ENDED };
        fact.of.run_ended = (struct fact_run_ended){ .outcome = OUTCOME_CANCELLED, .exit_status = 130 };
        board_apply (fold, &fact);
        board_make_receipt (fold, &arena, &receipt);
        const struct rung_receipt *first = frontier_latest_attempt (&receipt.hosts.items[1], TEXT_LIT ("one"),
                                                                    PASS_ONCE);
        assert_non_null (first);
        assert_int_equal (first->outcome, joined ? OUTCOME_LOST : OUTCOME_BLOCKED);
        assert_has (first->cause.text, "step connect");
        assert_has_not (first->cause.next, "--min-hosts"); /* it did not end for that */
        assert_int_equal (receipt.hosts.items[0].rungs.n, 0);
        board_destroy (fold);
        arena_release (&arena);
    }
}

TEST (a_host_lost_between_two_rungs_stands_at_the_next_one)
{
    struct slice_receipt receipt;
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    struct attempt_key one = { 0, PASS_ONCE, 1 };
    open_run (fold);
    end_attempt (fold, 0, one);
    end_attempt (fold, 1, one);
    end_pass (fold, one, NULL, 0);
    lose_host (fold, 0, "silent for 30 s");
    end_run (fold, OUTCOME_LOST);
    board_make_receipt (fold, &t->arena, &receipt);
    assert_int_equal (frontier_rung_outcome (&receipt.hosts.items[0], TEXT_LIT ("one")), OUTCOME_PASSED);
    assert_int_equal (frontier_rung_outcome (&receipt.hosts.items[0], TEXT_LIT ("two")), OUTCOME_LOST);
    assert_int_equal (frontier_rung_outcome (&receipt.hosts.items[1], TEXT_LIT ("two")), OUTCOME_NOT_REACHED);
    board_destroy (fold);
}

TEST (a_host_that_came_back_is_not_missing)
{
    struct slice_receipt receipt;
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    struct fact joined = { .kind = FACT_HOST_JOINED };
    open_run (fold);
    lose_host (fold, 0, "silent for 30 s");
    board_apply (fold, &joined);
    lose_host (fold, 1, "silent for 31 s");
    end_run (fold, OUTCOME_BLOCKED);
    board_make_receipt (fold, &t->arena, &receipt);
    assert_int_equal (receipt.hosts.items[0].rungs.n, 0);
    assert_int_equal (receipt.hosts.items[1].rungs.n, 1);
    board_destroy (fold);
}

static bool text_has (const struct slice_receipt *receipt, const char *words)
{
    struct buf out;
    buf_init (&out, 1 << 20);
    receipt_text (receipt, &(const struct drift_query){ 0 }, &out);
    bool found = strstr (buf_c (&out), words) != NULL;
    buf_release (&out);
    return found;
}

/* Whatever the wall clock did meanwhile; and a host that was silent is no host that was always there. */
TEST (a_run_has_one_length_and_a_survived_silence_is_history)
{
    struct slice_receipt receipt;
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    struct fact facts[] = { { .kind = FACT_HOST_RETURNED, .of.host_suspected = { 1, 26700, SILENCE_CUT_OFF } },
                            { .kind = FACT_HOST_ASKED,
                              .of.host_asked = { 1, TEXT_LIT ("10.77.0.11"), 22, REACH_SILENT, REACH_SILENT } },
                            { .kind = FACT_EPOCH_BEGAN, .of.epoch_began = { .epoch = 2, .away_ms = 60000 } },
                            { .kind = FACT_RUN_ENDED, .at_ms = 158900, .wall_ms = 1795364232992 } };
    open_run (fold);
    for (size_t i = 0; i < sizeof (facts) / sizeof (facts[0]); i++)
        board_apply (fold, &facts[i]);
    board_make_receipt (fold, &t->arena, &receipt);
    assert_true (text_has (&receipt, ", took 3 min 38 s\n"));
    assert_true (
        text_has (&receipt, "  h1 came back after 26 s of silence: its worker ran on, so the network was cut off"));
    assert_true (text_has (&receipt, "h1 answers nothing at 10.77.0.11 (ssh port, ping)"));
    struct buf *json = test_buf (t);
    receipt_json (&receipt, &(const struct drift_query){ 0 }, json);
    assert_has (json, "\"h1 answers nothing at 10.77.0.11 (ssh port, ping)\"");
    assert_has (json, "\"h1 came back after 26 s of silence: its worker ran on, so the network was cut off\"");
    board_destroy (fold);
}

TEST (the_text_folds_hosts_and_shows_no_control_bytes)
{
    struct slice_receipt receipt;
    struct board *fold = failed_at_two (&t->arena, &receipt);
    assert_true (text_has (&receipt, "passed         h[0-1]"));
    assert_true (text_has (&receipt, "exit status 3; whose: your program (certain)"));
    assert_true (text_has (&receipt, "not reached"));
    receipt.hosts.items[1].rungs.items[1]->cause.text = TEXT_LIT ("\x1b]52;c;evil\x07");
    assert_false (text_has (&receipt, "\x1b"));
    assert_false (text_has (&receipt, "\x07"));
    board_destroy (fold);
}

TEST (a_receipt_says_both_owners_and_reads_them_back)
{
    struct slice_receipt receipt, again;
    struct board *fold = failed_at_two (&t->arena, &receipt);
    struct cause *cause = &receipt.hosts.items[1].rungs.items[1]->cause;
    struct err err = { 0 };
    struct buf *json = test_buf (t);
    cause->else_owner = OWNER_DEVICE;
    cause->certainty = certainty_of_owner (cause->owner, cause->else_owner, false);
    assert_true (text_has (&receipt, "exit status 3; whose: your program, else the device (likely)"));
    receipt_json (&receipt, &(const struct drift_query){ 0 }, json);
    assert_has (json, "\"else_owner\": \"device\"");
    assert_int_equal (receipt_from_json (buf_as_text (json), &again, &t->arena, &err), 0);
    assert_int_equal (again.hosts.items[1].rungs.items[1]->cause.else_owner, OWNER_DEVICE);
    board_destroy (fold);
}

/* A receipt may come from a file of anybody. */
TEST (names_show_no_control_bytes)
{
    for (uint32_t place = 0; place < 4; place++) {
        struct arena arena = { 0 };
        struct slice_receipt receipt;
        struct board *fold = failed_at_two (&arena, &receipt);
        struct environment_receipt setup = { .pins = TEXT_LIT ("pins"),
                                             .pins_sha256 = TEXT_LIT ("0123456789abcdef"),
                                             .environment = TEXT_LIT ("other") };
        struct host_receipt *host = &receipt.hosts.items[1];
        struct text *names[] = { &host->rungs.items[1]->cause.signature, &setup.pins_sha256, &setup.pins,
                                 &host->backend.requested };
        *names[place] = TEXT_LIT ("a\x1b]52;c;evil\x07");
        host->backend.observed.platform = TEXT_LIT ("cpu");
        host->setup = setup;
        assert_true (text_has (&receipt, "]52"));
        assert_false (text_has (&receipt, "\x1b") || text_has (&receipt, "\x07"));
        board_destroy (fold);
        arena_release (&arena);
    }
}

TEST (hosts_of_which_the_same_is_said_share_a_line)
{
    struct slice_receipt receipt;
    struct board *fold = failed_at_two (&t->arena, &receipt);
    for (uint32_t i = 0; i < 2; i++)
        receipt.hosts.items[i].policy.profile = TEXT_LIT ("own");
    assert_true (text_has (&receipt, "policy   profile own on h[0-1]\n"));
    assert_false (text_has (&receipt, "profile own on h1\n"));
    receipt.hosts.items[1].policy.profile = TEXT_LIT ("other");
    assert_true (text_has (&receipt, "policy   profile own on h0\n         profile other on h1\n"));
    receipt.hosts.items[0].policy.profile.len = 0;
    assert_true (text_has (&receipt, "policy   profile other on h1\n"));
    board_destroy (fold);
}

TEST (a_canary_that_could_be_no_copy_says_why_and_one_that_was_not_to_be_does_not)
{
    struct slice_receipt receipt;
    struct board *fold = failed_at_two (&t->arena, &receipt);
    assert_false (text_has (&receipt, "programs "));
    struct rung_receipt **shared = &receipt.hosts.items[1].rungs.items[0];
    *shared = arena_copy (&t->arena, *shared, sizeof **shared);
    for (uint32_t i = 0; i < 2; i++) {
        receipt.hosts.items[i].rungs.items[0]->interpreter = TEXT_LIT ("executed");
        receipt.hosts.items[i].rungs.items[1]->interpreter = TEXT_LIT ("copied");
    }
    assert_false (text_has (&receipt, "programs "));
    for (uint32_t i = 0; i < 2; i++)
        receipt.hosts.items[i].rungs.items[1]->interpreter = TEXT_LIT ("executed: it made no copy in 5 s");
    assert_true (text_has (&receipt, "programs executed, not copied: two, since it made no copy in 5 s on h[0-1]\n"));
    receipt.hosts.items[1].rungs.items[0]->interpreter = TEXT_LIT ("executed: it made no copy in 5 s");
    assert_true (text_has (&receipt, ": one, since it made no copy in 5 s; two, since it made no copy in 5 s on h1\n"));
    receipt.hosts.items[1].rungs.items[0]->interpreter = TEXT_LIT ("executed: \x1b]52");
    assert_true (text_has (&receipt, ": one, since \\x1b]52; two, since it made no copy in 5 s on h1\n"));
    board_destroy (fold);
}

/* ---- a run that has not ended ---- */

static void begin_pass (struct board *fold, struct attempt_key key, enum purpose purpose)
{
    uint32_t hosts[] = { 0, 1 };
    struct fact fact = { .kind = FACT_PASS_BEGAN,
                         .of.pass_began = { .key = key, .purpose = purpose, .hosts = { hosts, 2 } } };
    board_apply (fold, &fact);
}

/* Its attempt had begun, though nothing came of it: it was not kept from the rung. With a history and without one. */
TEST (a_host_that_is_lost_while_it_tries_a_rung_was_not_kept_from_it)
{
    static const enum board_keep keeps[] = { BOARD_JUDGED_EVIDENCE, BOARD_RECEIPT };
    for (uint32_t i = 0; i < 2; i++) {
        struct board *fold = board_create (keeps[i]);
        struct slice_receipt receipt;
        open_run (fold);
        begin_pass (fold, (struct attempt_key){ 0, PASS_ONCE, 1 }, PURPOSE_CLIMB);
        lose_host (fold, 1, "its link was cut");
        end_run (fold, OUTCOME_LOST);
        board_make_receipt (fold, &t->arena, &receipt);
        assert_int_equal (receipt.hosts.items[1].rungs.n, 0);
        board_destroy (fold);
    }
}

static struct text markdown (const struct board *fold, struct arena *arena)
{
    struct slice_receipt receipt;
    struct buf out;
    board_make_receipt (fold, arena, &receipt);
    buf_init (&out, 1 << 20);
    receipt_markdown (&receipt, &(const struct drift_query){ 0 }, &out);
    struct text text = text_copy (arena, buf_as_text (&out));
    buf_release (&out);
    return text;
}

static void expect (struct text in, const char *words, bool there)
{
    if (text_find (in, text_of (words), NULL) != there)
        fail_msg ("%s '%s' in:\n%.*s", there ? "no" : "a", words, TEXT_ARG (in));
}

TEST (a_rung_that_runs_is_not_called_not_reached)
{
    struct slice_receipt receipt;
    struct attempt_key one = { 0, PASS_ONCE, 1 };
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    open_run (fold);
    begin_pass (fold, one, PURPOSE_CLIMB);
    board_make_receipt (fold, &t->arena, &receipt);
    assert_true (text_has (&receipt, "one   running\n") && text_has (&receipt, "two   not reached\n"));
    struct text told = markdown (fold, &t->arena);
    expect (told, "| one | | running | | |", true);
    expect (told, "none: no host failed this rung by itself so far", true);
    expect (told, "]` had not ended this rung", true);
    expect (told, "### Why", false);
    end_run (fold, OUTCOME_CANCELLED);
    board_make_receipt (fold, &t->arena, &receipt);
    assert_false (text_has (&receipt, "running"));
    board_destroy (fold);
}

TEST (what_is_known_before_the_verdict_is_told_as_so_far)
{
    struct attempt_key one = { 0, PASS_ONCE, 1 };
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    struct verdict verdict = { .host = 1, .outcome = OUTCOME_FAILED, .owner = OWNER_HOST, .cause = TEXT_LIT ("x") };
    open_run (fold);
    begin_pass (fold, one, PURPOSE_CLIMB);
    measure (fold, one); /* h1 fails */
    struct text told = markdown (fold, &t->arena);
    expect (told, "not judged yet; whose: not known", true);
    expect (told, "**h1 failed, not judged yet; whose: not known", true);
    expect (told, " so far", true);
    expect (told, "### Whose fault, so far, in rung one", true);
    expect (told, "h0 had not ended this rung", true);
    expect (told, "h1 none", false);
    expect (told, "none: no host", false);
    end_attempt (fold, 0, one);
    expect (markdown (fold, &t->arena), "h0 ended without an error of their own; not judged yet", true);
    end_pass (fold, one, &verdict, 1);
    told = markdown (fold, &t->arena);
    expect (told, "### Why rung one", true);
    expect (told, "so far", false);
    board_destroy (fold);
}

TEST (where_nothing_is_judged_anew_a_pass_that_never_ended_lacks_a_cause)
{
    struct attempt_key one = { 0, PASS_ONCE, 1 };
    for (enum board_keep keep = BOARD_EVIDENCE; keep <= BOARD_JUDGED_EVIDENCE; keep++) {
        struct slice_receipt receipt;
        struct board *board = board_create (keep);
        open_run (board);
        begin_pass (board, one, PURPOSE_CLIMB);
        measure (board, one); /* h1 fails */
        board_make_receipt (board, &t->arena, &receipt);
        assert_int_equal (receipt.hosts.items[1].rungs.items[0]->cause.text.len > 0, (keep & BOARD_JUDGED) != 0);
        board_destroy (board);
    }
}

/* ---- the compile cache ---- */

static void see_cache (struct board *fold, uint32_t host, struct attempt_key key, enum enforcement level,
                       const char *open_way)
{
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED };
    struct result *result = &fact.of.attempt_ended.result;
    struct text way = text_of (open_way ? open_way : "");
    struct var part = { TEXT_LIT ("flags"), TEXT_LIT ("0123abcd") };
    struct cache_key program = { .program = TEXT_LIT ("jit_step"),
                                 .key = TEXT_LIT ("jit_step-ab"),
                                 .state = KEY_HIT,
                                 .parts.items = &part,
                                 .parts.n = 1 };
    struct finding finding = { .kind = FINDING_EXTRA, .token = 7, .path = TEXT_LIT ("x") };
    fact.of.attempt_ended.host = host;
    *result = (struct result){ .key = key, .ending = ENDING_EXITED, .done = true };
    result->cache = (struct cache_view){ .level = level,
                                         .storage = TEXT_LIT ("0011223344556677"),
                                         .mount = TEXT_LIT ("nfs4 rw s:/c") };
    result->cache.open_ways.items = &way;
    result->cache.open_ways.n = open_way != NULL;
    result->keys.items = &program;
    result->findings.items = &finding;
    result->keys.n = result->findings.n = 1;
    board_apply (fold, &fact);
}

static void publish (struct board *fold, uint64_t token)
{
    struct fact fact = { .kind = FACT_GENERATION_PUBLISHED };
    fact.of.generation = (struct fact_generation){
        .token = token, .sha256 = TEXT_LIT ("abcdef0123456789"), .bundle = TEXT_LIT ("jax/b"), .writer = 1, .entries = 2
    };
    board_apply (fold, &fact);
}

static void drop (struct board *fold, uint64_t token)
{
    struct fact fact = { .kind = FACT_GENERATION_DROPPED,
                         .of.generation_dropped = { token, TEXT_LIT ("an entry changed") } };
    board_apply (fold, &fact);
}

static void violate (struct board *fold, uint32_t host, uint64_t since, uint64_t index)
{
    struct fact fact = { .kind = FACT_CACHE_VIOLATED, .index = index };
    fact.of.cache_violated = (struct fact_cache_violated){
        .host = host,
        .rung = 1,
        .since = since,
        .from_run = TEXT_LIT ("fedcba9876543210fedcba9876543210"),
        .finding = { .kind = FINDING_CHANGED,
                     .token = 7,
                     .path = TEXT_LIT ("jit_step-ab-cache"),
                     .detail = TEXT_LIT ("other bytes") },
    };
    board_apply (fold, &fact);
}

/* Both hosts used generation 7 with less and more; it was violated, dropped, and 8 took its place. */
static struct board *violated (struct arena *arena, struct slice_receipt *receipt)
{
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    struct attempt_key one = { 0, PASS_ONCE, 1 }, two = { 1, PASS_RESTORED, 1 };
    struct fact lost = { .kind = FACT_LEASE_LOST, .of.lease_lost = { 6, 0, TEXT_LIT ("it was silent") } };
    open_run (fold);
    board_apply (fold, &lost);
    publish (fold, 7);
    see_cache (fold, 0, one, ENFORCEMENT_LANDLOCK, NULL);
    see_cache (fold, 0, two, ENFORCEMENT_NAMESPACE_LANDLOCK, NULL);
    see_cache (fold, 1, one, ENFORCEMENT_NAMESPACE_LANDLOCK, NULL);
    see_cache (fold, 1, two, ENFORCEMENT_COOPERATIVE, "remount");
    violate (fold, 1, 12, 17);
    violate (fold, UINT32_MAX, 0, 18);
    drop (fold, 7);
    drop (fold, 3);
    publish (fold, 8);
    board_make_receipt (fold, arena, receipt);
    receipt->headers.items[0].ended_wall_ms = 1795364232992;
    receipt->headers.items[0].exit_status = 4;
    return fold;
}

TEST (violations_stand_with_their_place_in_the_journal)
{
    struct slice_receipt receipt;
    struct board *fold = violated (&t->arena, &receipt);
    assert_int_equal (receipt.violations.n, 2);
    const struct violation_receipt *by_us = &receipt.violations.items[0], *on_host = &receipt.violations.items[1];
    assert_true (by_us->host.len == 0 && by_us->since == 0 && by_us->index == 18);
    assert_true (text_is (on_host->host, "h1") && text_is (on_host->rung, "two") && on_host->kind == FINDING_CHANGED);
    assert_true (on_host->token == 7 && on_host->since == 12 && on_host->index == 17);
    assert_true (text_is (on_host->path, "jit_step-ab-cache") && text_starts (on_host->from_run, "fedc"));
    assert_true (text_has (&receipt, "exit     4: the cache was violated"));
    assert_true (text_has (&receipt, "violated changed in generation 7: jit_step-ab-cache: other bytes"));
    assert_true (text_has (&receipt, "found on h1 at rung two; it happened between entries 12 and 17 of the journal; "
                                     "its token was granted to run fedcba98\n"));
    assert_true (text_has (&receipt, "found at rung two; it happened before entry 18 of the journal"));
    board_destroy (fold);
}

TEST (a_dropped_generation_is_not_the_one_that_counts)
{
    struct slice_receipt receipt;
    struct board *fold = violated (&t->arena, &receipt);
    assert_int_equal (receipt.generations.n, 2);
    assert_true (receipt.generations.items[0].token == 7 &&
                 text_is (receipt.generations.items[0].dropped, "an entry changed"));
    assert_int_equal (receipt.generations.items[1].dropped.len, 0);
    assert_int_equal (receipt_newest_generation (&receipt, receipt.headers.items[0].run)->token, 8);
    assert_true (text_has (&receipt, "generation 7 is no longer used: an entry changed"));
    assert_true (text_has (&receipt, "generation 3 was quarantined: an entry changed"));
    assert_true (text_has (&receipt, "h0 lost the lease to write generation 6: it was silent"));
    receipt.generations.items[1].dropped = TEXT_LIT ("as well");
    assert_null (receipt_newest_generation (&receipt, receipt.headers.items[0].run));
    board_destroy (fold);
}

TEST (enforcement_is_that_of_the_latest_rung_with_a_cache)
{
    struct slice_receipt receipt;
    struct board *fold = violated (&t->arena, &receipt);
    struct text names[2], run = receipt.headers.items[0].run;
    assert_int_equal (receipt_hosts_at_level (&receipt, run, ENFORCEMENT_LANDLOCK, names), 0);
    assert_int_equal (receipt_hosts_at_level (&receipt, run, ENFORCEMENT_NAMESPACE_LANDLOCK, names), 1);
    assert_text (names[0], "h0");
    assert_int_equal (receipt_hosts_at_level (&receipt, run, ENFORCEMENT_COOPERATIVE, names), 1);
    assert_text (names[0], "h1");
    assert_true (text_has (
        &receipt, "kept from writing the cache by namespace+landlock on h0; convention only (cooperative) on h1\n"));
    assert_true (text_has (&receipt, "ways in which programs could still write the cache on h1: remount\n"));
    const struct rung_receipt *rung = receipt.hosts.items[0].rungs.items[1];
    assert_true (text_is (rung->cache_view.mount, "nfs4 rw s:/c") && rung->findings.n == 1);
    assert_true (rung->keys.n == 1 && rung->keys.items[0].state == KEY_HIT &&
                 text_is (rung->keys.items[0].parts.items[0].value, "0123abcd"));
    board_destroy (fold);
}

static void check_schema (const struct slice_receipt *receipt)
{
    struct buf json;
    char path[] = "/tmp/sliceup-receipt-XXXXXX", command[512];
    buf_init (&json, 1 << 20);
    receipt_json (receipt, &(const struct drift_query){ 0 }, &json);
    int fd = mkstemp (path);
    assert_true (fd >= 0);
    assert_int_equal (write (fd, json.ptr, json.len), (ssize_t) json.len);
    close (fd);
    snprintf (command, sizeof (command),
              "ASAN_OPTIONS= LD_PRELOAD= /usr/bin/python3 -c \"import json,jsonschema,sys;"
              "jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))\" %s "
              "%s/docs/spec/receipt.schema.json",
              path, SLICEUP_SOURCE_DIR);
    int status = system (command);
    unlink (path);
    assert_int_equal (status, 0);
    buf_release (&json);
}

TEST (the_cache_of_the_json_says_the_same)
{
    static const char *const words[] = {
        "\"namespace+landlock\": \"h0\"",
        "\"cooperative\": \"h1\"",
        "\"token\": 8",
        "\"kind\": \"changed\"",
        "\"since\": 12",
        "\"state\": \"hit\"",
        "\"flags\": \"0123abcd\"",
        "\"open_ways\": [\n",
        "\"dropped\": \"an entry changed\"",
        "\"ended\": \"2026-11-22T16:17:12.992Z\"",
        "\"began\": null",
        "\"peak_bytes\": null",
        "\"since\": null",
        "\"host\": null",
        "\"exit_status\": 4",
    };
    struct slice_receipt receipt;
    struct buf *json = test_buf (t);
    struct board *fold = violated (&t->arena, &receipt);
    receipt_json (&receipt, &(const struct drift_query){ 0 }, json);
    for (size_t i = 0; i < sizeof (words) / sizeof (words[0]); i++)
        assert_has (buf_c (json), words[i]);
    json_t *object = json_loads (buf_c (json), 0, NULL);
    assert_int_equal (json_array_size (json_object_get (json_object_get (object, "cache"), "violations")), 2);
    assert_int_equal (json_array_size (json_object_get (object, "violations")), 2);
    json_decref (object);
    struct slice_receipt back;
    read_back (json, &back, &t->arena);
    assert_true (same (&receipt, &back));
    board_destroy (fold);
}

/* Of a run that goes on, when it ended and how is not known; a zero that was counted stays one. */
TEST (what_is_not_known_is_null)
{
    static const char *const members[] = { "ended_wall_ms", "ended", "exit_status", "sentence" };
    struct slice_receipt receipt;
    struct buf *json = test_buf (t);
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    open_run (fold);
    end_attempt (fold, 0, (struct attempt_key){ 0, PASS_ONCE, 1 });
    board_make_receipt (fold, &t->arena, &receipt);
    receipt_json (&receipt, &(const struct drift_query){ 0 }, json);
    json_t *object = json_loads (buf_c (json), 0, NULL);
    json_t *header = json_array_get (json_object_get (object, "headers"), 0);
    json_t *host = json_array_get (json_object_get (object, "hosts"), 0);
    json_t *rung = json_array_get (json_object_get (host, "rungs"), 0);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        assert_true (json_is_null (json_object_get (header, members[i])));
    assert_true (json_is_null (json_object_get (json_object_get (host, "backend"), "observed")));
    assert_true (json_is_null (json_object_get (json_object_get (rung, "cause"), "text")));
    assert_true (json_is_null (json_object_get (rung, "phase")));
    assert_int_equal (json_integer_value (json_object_get (rung, "strays")), 0);
    assert_true (json_is_integer (json_object_get (rung, "strays")));
    json_decref (object);
    check_schema (&receipt);
    board_destroy (fold);
}

TEST (drift_of_which_nobody_spoke_is_not_said_to_be_none)
{
    struct slice_receipt receipt;
    struct buf *text = test_buf (t);
    struct board *fold = refused_at_launch (&t->arena, &receipt);
    receipt_text (&receipt, &(const struct drift_query){ 0 }, text);
    assert_has (text, "drift    not known: no host reported facts");
    board_destroy (fold);
}

TEST (what_a_lost_host_counted_is_null)
{
    static const char *const counted[] = { "attempt", "duration_ms", "output_bytes", "dropped_bytes", "strays" };
    struct slice_receipt receipt;
    struct buf *json = test_buf (t);
    struct board *fold = refused_at_launch (&t->arena, &receipt);
    receipt_json (&receipt, &(const struct drift_query){ 0 }, json);
    json_t *object = json_loads (buf_c (json), 0, NULL);
    json_t *host = json_array_get (json_object_get (object, "hosts"), 1);
    json_t *rung = json_array_get (json_object_get (host, "rungs"), 0);
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
        assert_true (json_is_null (json_object_get (rung, counted[i])));
    json_decref (object);
    check_schema (&receipt);
    board_destroy (fold);
}

/* Facts come from a disk: hosts and rungs that the plan does not have. */
TEST (what_the_plan_does_not_have_is_left_empty)
{
    struct slice_receipt receipt;
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    struct fact fact = { .kind = FACT_CACHE_VIOLATED, .of.cache_violated = { .host = 9, .rung = 60 } };
    struct fact lost = { .kind = FACT_LEASE_LOST, .of.lease_lost = { .token = 1, .host = 9 } };
    open_run (fold);
    board_apply (fold, &fact);
    board_apply (fold, &lost);
    board_make_receipt (fold, &t->arena, &receipt);
    assert_int_equal (receipt.violations.n, 1);
    assert_true (receipt.violations.items[0].host.len == 0 && receipt.violations.items[0].rung.len == 0);
    assert_true (text_has (&receipt, "noted    none"));
    board_destroy (fold);
}

/* ---- metrics ---- */

/* On h1; 9 stands for a host that the plan does not have. */
static void judge_loss (struct board *fold, struct attempt_key key, enum proof proof)
{
    static struct text axes[] = { TEXT_LIT ("data"), TEXT_LIT ("model") };
    static uint32_t hosts[] = { 1, 9 };
    static struct contradicted_count contradicted[] = { { 0, 2 }, { 1, 3 }, { 9, 1 } };
    struct fact fact = { .kind = FACT_METRIC_JUDGED,
                         .of.metric_judged = {
                             .key = key, .metric = TEXT_LIT ("loss"), .proof = proof, .value = 2.5 } };
    struct fact_metric_judged *judged = &fact.of.metric_judged;
    judged->axes.items = axes;
    judged->axes.n = 2;
    judged->contradicted.items = contradicted;
    judged->contradicted.n = 3;
    if (proof != PROOF_PROVED) {
        judged->why = TEXT_LIT ("not every host reported the metric");
        judged->missing.items = judged->culprits.items = hosts;
        judged->missing.n = judged->culprits.n = 2;
    }
    board_apply (fold, &fact);
}

static struct board *judged_unproved (struct arena *arena, struct slice_receipt *receipt)
{
    struct board *fold = board_create (BOARD_JUDGED_EVIDENCE);
    struct attempt_key key = { 1, PASS_ONCE, 1 };
    open_run (fold);
    begin_pass (fold, key, PURPOSE_CLIMB);
    judge_loss (fold, key, PROOF_UNPROVED);
    board_make_receipt (fold, arena, receipt);
    return fold;
}

TEST (who_is_at_fault_and_what_is_contradicted_is_told)
{
    struct slice_receipt receipt;
    struct board *fold = judged_unproved (&t->arena, &receipt);
    assert_int_equal (receipt.reductions.n, 1);
    assert_true (text_has (&receipt,
                           "two loss = 2.5  unproved over data, model: not every host reported the metric, missing h1; "
                           "earlier values for which the same proof fails: 2 of h0, 3 of h1\n"));
    board_destroy (fold);
}

TEST (of_each_pass_the_latest_attempt_proves_or_does_not)
{
    struct slice_receipt receipt;
    struct board *fold = judged_unproved (&t->arena, &receipt);
    begin_pass (fold, (struct attempt_key){ 1, PASS_ONCE, 2 }, PURPOSE_ISOLATION); /* a part changes nothing */
    board_make_receipt (fold, &t->arena, &receipt);
    assert_int_equal (receipt.reductions.n, 1);
    begin_pass (fold, (struct attempt_key){ 1, PASS_ONCE, 3 }, PURPOSE_RETRY);
    board_make_receipt (fold, &t->arena, &receipt);
    assert_int_equal (receipt.reductions.n, 0);
    for (int twice = 0; twice < 2; twice++) /* also by the coordinator that took over */
        judge_loss (fold, (struct attempt_key){ 1, PASS_ONCE, 3 }, PROOF_PROVED);
    judge_loss (fold, (struct attempt_key){ 2, PASS_ONCE, 1 }, PROOF_UNPROVED);
    board_make_receipt (fold, &t->arena, &receipt);
    assert_int_equal (receipt.reductions.n, 2);
    assert_true (receipt.reductions.items[0].proof == PROOF_UNPROVED &&
                 text_is (receipt.reductions.items[0].rung, "three"));
    assert_true (receipt.reductions.items[1].proof == PROOF_PROVED && receipt.reductions.items[1].culprits.n == 0);
    board_destroy (fold);
}

TEST (json_follows_the_schema)
{
    struct slice_receipt receipt;
    struct board *fold = failed_at_two (&t->arena, &receipt);
    check_schema (&receipt);
    board_destroy (fold);
    fold = refused_at_launch (&t->arena, &receipt);
    check_schema (&receipt);
    board_destroy (fold);
    fold = violated (&t->arena, &receipt);
    check_schema (&receipt);
    board_destroy (fold);
    fold = judged_unproved (&t->arena, &receipt);
    check_schema (&receipt);
    board_destroy (fold);
}
