/* links: simulated view */
/* What views and receipts make of retries and of parts of the slice that were run by themselves. */
#include "coordinator/story/frontier.h"

#include "coordinator/story/board.h"
#include "coordinator/verdict/blame.h"
#include "coordinator/view/receipt_text.h"
#include "coordinator/view/status.h"
#include "test.h"
#include "view_fixture.h"

enum { HOSTS = 4 };

/* Every fact that went onto the board goes into the receipt as well. */
struct both {
    struct show show;
    struct board *fold;
};

static void tell (struct both *both, struct fact fact)
{
    fact.index = ++both->show.index;
    fact.at_ms = both->show.at_ms;
    fact.wall_ms = SHOW_WALL_MS + both->show.at_ms;
    board_apply (both->show.board, &fact);
    burst_fact (both->show.burst, both->show.board, &fact, both->show.at_ms, &both->show.style, &both->show.lines);
    board_apply (both->fold, &fact);
}

static void both_open (struct both *both)
{
    show_make (&both->show, HOSTS);
    both->show.plan.limits.retries = 2;
    both->fold = board_create (BOARD_JUDGED_EVIDENCE);
    tell (both, (struct fact){ .kind = FACT_RUN_OPENED,
                               .of.run_opened = { .run = TEXT_LIT ("3fa9c1d2000000000000000000000000"),
                                                  .plan = both->show.plan,
                                                  .version = TEXT_LIT ("0.1.0") } });
    tell (both, (struct fact){ .kind = FACT_EPOCH_BEGAN, .of.epoch_began = { 1, 77, 0 } });
    for (uint32_t i = 0; i < HOSTS; i++)
        tell (both, (struct fact){ .kind = FACT_HOST_JOINED, .of.host_joined = { .host = i, .session = 1 } });
}

static void both_close (struct both *both)
{
    board_destroy (both->fold);
    show_release (&both->show);
}

TEST_FIXTURE (struct both, TEST_NOTHING, both_close)

static void begin (struct both *both, struct attempt_key key, enum purpose purpose, uint32_t from, uint32_t n)
{
    uint32_t hosts[HOSTS];
    for (uint32_t i = 0; i < n; i++)
        hosts[i] = from + i;
    struct fact fact = { .kind = FACT_PASS_BEGAN,
                         .of.pass_began = { .key = key, .purpose = purpose, .hosts = { hosts, n } } };
    tell (both, fact);
}

static void end (struct both *both, struct attempt_key key, uint32_t from, uint32_t n, enum ending ending,
                 uint32_t code)
{
    for (uint32_t i = from; i < from + n; i++)
        tell (both, (struct fact){ .kind = FACT_ATTEMPT_ENDED,
                                   .of.attempt_ended = { .host = i,
                                                         .result = { .key = key,
                                                                     .ending = ending,
                                                                     .code = code,
                                                                     .duration_ms = 700 + 200 * i,
                                                                     .backend.platform = TEXT_LIT ("cpu"),
                                                                     .backend.devices = 2 * n } } });
}

/* All of these fell, `first` for a cause of its own. */
static void judge (struct both *both, struct attempt_key key, uint32_t first, uint32_t from, uint32_t n,
                   enum outcome outcome)
{
    struct verdict verdicts[HOSTS];
    for (uint32_t i = 0; i < n; i++)
        verdicts[i] = (struct verdict){
            .host = from + i,
            .outcome = from + i == first ? outcome : OUTCOME_CASCADE,
            .owner = OWNER_UNKNOWN,
            .cause = from + i == first ? TEXT_LIT ("the cause") : TEXT_LIT (BLAME_AT_LIMIT ", as it did"),
        };
    struct fact fact = { .kind = FACT_PASS_ENDED,
                         .of.pass_ended = { .key = key,
                                            .outcome = n ? outcome : OUTCOME_PASSED,
                                            .duration_ms = 1000,
                                            .verdicts = { verdicts, n } } };
    both->show.at_ms += 1000;
    tell (both, fact);
}

static void plan_retry (struct both *both, struct attempt_key key)
{
    tell (both, (struct fact){ .kind = FACT_RETRY_PLANNED,
                               .of.retry_planned = { .key = key,
                                                     .due_ms = both->show.at_ms + 2000,
                                                     .left = 1,
                                                     .signature = TEXT_LIT ("metadata"),
                                                     .why = TEXT_LIT ("metadata on host3") } });
}

static void assert_status (struct both *both, const char *words)
{
    struct status status = { .board = both->show.board, .now_ms = both->show.at_ms };
    struct buf out;
    buf_init (&out, 1 << 20);
    status_json (&status, &out);
    assert_has (&out, words);
    buf_release (&out);
}

static void assert_waiting (struct both *both, const char *expected)
{
    struct buf out;
    buf_init (&out, 1 << 20);
    waiting_append_lines (both->show.board, both->show.at_ms, WAITING_LINES, 0, &out);
    assert_string_equal (buf_c (&out), expected);
    buf_release (&out);
}

TEST_ON (both, a_retry_is_waited_for_by_name_and_stays_in_the_history)
{
    struct attempt_key first = { FACTS, PASS_ONCE, 1 }, second = { FACTS, PASS_ONCE, 2 };
    both_open (both);
    begin (both, first, PURPOSE_CLIMB, 0, HOSTS);
    end (both, first, 0, HOSTS, ENDING_EXITED, 1);
    judge (both, first, 3, 3, 1, OUTCOME_FAILED);
    plan_retry (both, first);
    assert_waiting (both, "waiting 2 s before retry 1 of 2 of rung facts: metadata on host3\n");
    assert_status (both, "\"fell_attempt\": 1");
    both->show.at_ms += 2000;
    begin (both, second, PURPOSE_RETRY, 0, HOSTS);
    assert_has_not (&both->show.lines, "waiting");
    assert_int_equal (both->show.board->retry.key.attempt, 0);
    end (both, second, 0, HOSTS, ENDING_EXITED, 0);
    judge (both, second, 0, 0, 0, OUTCOME_PASSED);
    assert_has (&both->show.lines, "facts is run again in 2 s (retry 1 of 2): metadata on host3");
    assert_has (&both->show.lines, "facts again, attempt 2 began on host[0-3]");
    struct slice_receipt receipt;
    board_make_receipt (both->fold, &both->show.arena, &receipt);
    const struct rung_receipt *rung = frontier_latest_attempt (&receipt.hosts.items[3], TEXT_LIT ("facts"), PASS_ONCE);
    assert_int_equal (rung->outcome, OUTCOME_PASSED);
    assert_int_equal (rung->purpose, PURPOSE_RETRY);
    assert_int_equal (rung->recovered.n, 1);
    assert_text (rung->recovered.items[0], "once attempt 1 failed: the cause; run again after 2 s: metadata on host3");
    assert_int_equal (receipt.recoveries.n, 1);
    assert_text (receipt.recoveries.items[0].what,
                 "rung facts, once attempt 1, was run again after 2 s: metadata on host3");
}

static uint32_t count_lines (struct buf *lines, const char *words)
{
    uint32_t n = 0;
    for (const char *at = strstr (buf_c (lines), words); at; at = strstr (at + 1, words))
        n++;
    return n;
}

/* The slice hung; hosts 0 and 1 work by themselves, 2 and 3 do not; host 3 is named. */
static void isolate (struct both *both)
{
    struct attempt_key whole = { ALL, PASS_ONCE, 1 }, left = { ALL, PASS_ONCE, 2 }, right = { ALL, PASS_ONCE, 3 };
    uint32_t suspects[] = { 3 };
    begin (both, whole, PURPOSE_CLIMB, 0, HOSTS);
    end (both, whole, 0, HOSTS, ENDING_TIMEOUT, 0);
    judge (both, whole, 0, 0, HOSTS, OUTCOME_TIMED_OUT);
    begin (both, left, PURPOSE_ISOLATION, 0, 2);
    end (both, left, 0, 2, ENDING_EXITED, 0);
    judge (both, left, 0, 0, 0, OUTCOME_PASSED);
    begin (both, right, PURPOSE_ISOLATION, 2, 2);
    end (both, right, 2, 2, ENDING_TIMEOUT, 0);
    judge (both, right, 2, 2, 2, OUTCOME_TIMED_OUT);
    tell (both, (struct fact){ .kind = FACT_SUSPECTS_NAMED,
                               .of.suspects_named = { .key = whole,
                                                      .passes = 2,
                                                      .why = TEXT_LIT ("run by themselves, h3 failed"),
                                                      .suspects = { suspects, 1 } } });
}

TEST_ON (both, parts_of_the_slice_do_not_change_how_the_rung_stands)
{
    both_open (both);
    isolate (both);
    const struct board *board = both->show.board;
    const struct board_pass *pass = &board->rungs[ALL].passes[PASS_ONCE];
    assert_int_equal (board_rung_outcome (board, ALL), OUTCOME_TIMED_OUT);
    assert_int_equal (pass->attempt, 1);
    assert_int_equal (pass->counts[OUTCOME_TIMED_OUT], 1);
    assert_int_equal (pass->counts[OUTCOME_CASCADE], 3);
    assert_int_equal (board_rung_ms (board, ALL, both->show.at_ms), 3000);
    for (uint32_t i = 0; i < HOSTS; i++) {
        assert_int_equal (board->hosts[i].rungs_passed, 0);
        assert_int_equal (board->hosts[i].outcome, i == 3 ? OUTCOME_TIMED_OUT : OUTCOME_CASCADE);
    }
    for (uint32_t i = 0; i < pass->groups.n; i++) {
        bool suspect = pass->groups.items[i].hosts.items[0] == 3;
        assert_has (pass->groups.items[i].cause, suspect ? "run by themselves, h3 failed" : " because host3 failed");
    }
    assert_status (both, "\"suspects\": \"host3\"");
    assert_has (&both->show.lines,
                "all: no host reports a cause; to find it, parts of the slice are run by themselves: "
                "at most 8, each for at most 1 min (8 min in all); Ctrl-C ends this search");
    assert_status (both, "\"passes_most\": 8");
    assert_int_equal (count_lines (&both->show.lines, "no host reports a cause"), 1);
    assert_has (&both->show.lines, "all part 1: works by itself (1 s)");
    assert_has (&both->show.lines, "all part 2: fails by itself (1 s)");
    assert_has (&both->show.lines, "all isolated, suspected: host3: run by themselves, h3 failed");
}

TEST_ON (both, a_part_that_runs_shows_as_such)
{
    struct buf *out = test_buf (t);
    struct style style = { .columns = 100 };
    struct attempt_key whole = { ALL, PASS_ONCE, 1 }, left = { ALL, PASS_ONCE, 2 };
    both_open (both);
    begin (both, whole, PURPOSE_CLIMB, 0, HOSTS);
    end (both, whole, 0, HOSTS, ENDING_TIMEOUT, 0);
    judge (both, whole, 0, 0, HOSTS, OUTCOME_TIMED_OUT);
    begin (both, left, PURPOSE_ISOLATION, 0, 2);
    end (both, left, 0, 1, ENDING_EXITED, 0);
    grid_draw (both->show.board, both->show.at_ms, &style, out);
    assert_has (out, "in parts");
    assert_has (out, "1/2");
    assert_has (out, "waiting for host1 (");
}

TEST_ON (both, parts_stand_in_the_receipt_and_count_for_nothing)
{
    struct slice_receipt receipt;
    both_open (both);
    isolate (both);
    board_make_receipt (both->fold, &both->show.arena, &receipt);
    for (uint32_t i = 0; i < HOSTS; i++) {
        const struct host_receipt *host = &receipt.hosts.items[i];
        assert_int_equal (host->rungs.n, 2);
        assert_int_equal (frontier_rung_outcome (host, TEXT_LIT ("all")), i == 3 ? OUTCOME_TIMED_OUT : OUTCOME_CASCADE);
        assert_int_equal (host->backend.observed.devices, 2 * HOSTS);
        for (uint32_t k = 0; k < host->rungs.n; k++)
            assert_int_equal (host->rungs.items[k]->purpose,
                              host->rungs.items[k]->attempt == 1 ? PURPOSE_CLIMB : PURPOSE_ISOLATION);
    }
    struct buf *out = test_buf (t);
    receipt_text (&receipt, &(const struct drift_query){ 0 }, out);
    assert_has (out, "in parts works          host[0-1]  (700 ms to 900 ms)\n");
    assert_has (out, "in parts fails          host[2-3]  (1.1 s to 1.3 s)\n");
    assert_has (out, BLAME_AT_LIMIT " because host3 failed");
}
