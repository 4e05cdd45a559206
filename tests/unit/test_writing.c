/* links: simulated */
/* The cache's writer as the coordinator's core decides it: leases and their loss, other runs, violations, modes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "coordinator/core/coord.h"
#include "sample.h"

enum { HOSTS = 3, FACTS_MAX = 256, EFFECTS_MAX = 512, TERM_MS = 15000, DELAY_MS = 15000 };

struct bench {
    struct arena arena;
    struct plan plan;
    struct coord *coord;
    struct outbox out;
    struct fact facts[FACTS_MAX];
    uint32_t facts_n;
    struct effect effects[EFFECTS_MAX]; /* but SEND; texts are copied */
    uint32_t effects_n;
    struct msg_lease leased;        /* the last LEASE, and to whom */
    uint32_t leased_host, leased_n;
    struct msg_run runs[HOSTS];     /* the last RUN of each host */
    bool ordered[HOSTS];
    uint64_t now_ms, seq;
};

static void note_effect (struct bench *bench, const struct effect *effect)
{
    if (effect->kind == FX_SEND && effect->msg->kind == MSG_LEASE) {
        bench->leased = effect->msg->of.lease;
        bench->leased_host = effect->host;
        bench->leased_n++;
    }
    if (effect->kind == FX_SEND && effect->msg->kind == MSG_RUN) {
        record_copy (msg_body (MSG_RUN), &bench->runs[effect->host], &effect->msg->of.run, &bench->arena);
        bench->ordered[effect->host] = true;
    }
    if (effect->kind == FX_SEND)
        return;
    struct effect *kept = &bench->effects[bench->effects_n++];
    *kept = *effect;
    kept->text = text_copy (&bench->arena, effect->text);
}

static void collect (struct bench *bench)
{
    for (uint32_t i = 0; i < bench->out.n; i++) {
        struct outbox_item *item = &bench->out.items[i];
        if (item->is_fact && !fact_is_soft (item->fact.kind))
            fact_copy (&bench->facts[bench->facts_n++], &item->fact, &bench->arena);
        else if (!item->is_fact)
            note_effect (bench, &item->effect);
    }
    outbox_clear (&bench->out);
}

static void step (struct bench *bench, const struct input *in)
{
    coord_step (bench->coord, in, ++bench->now_ms, &bench->out);
    collect (bench);
}

static void tell (struct bench *bench, uint32_t host, struct msg *msg)
{
    struct input in = { .kind = IN_MSG, .host = host, .msg = msg, .text = text_of ("sha") };
    msg->session = msg->kind == MSG_HELLO ? 0 : coord_session (bench->coord, host);
    msg->seq = ++bench->seq;
    step (bench, &in);
}

static void all_join (struct bench *bench)
{
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct msg msg = { .kind = MSG_HELLO, .of.hello = { .version = TEXT_LIT ("t"), .pid = 100 + host, .pid_start = 1 } };
        tell (bench, host, &msg);
    }
}

/* One solo rung, `tiny`; writers host0 and host1. */
static void bench_open (struct bench *bench, enum cache_mode mode)
{
    *bench = (struct bench) { .now_ms = 1000 };
    sample_plan (&bench->plan, HOSTS, &bench->arena);
    bench->plan.cache.mode = mode;
    bench->plan.cache.writers.items = arena_array (&bench->arena, 2, sizeof (struct text));
    bench->plan.cache.writers.items[0] = TEXT_LIT ("host0");
    bench->plan.cache.writers.items[1] = TEXT_LIT ("host1");
    bench->plan.cache.writers.n = 2;
    bench->plan.limits.lost_ms = 600000; /* leases are about silence that is shorter than that */
    bench->plan.limits.suspect_ms = 300000;
    bench->plan.rungs.items += 1;
    bench->plan.rungs.n = 1;
    bench->coord = coord_create ();
    outbox_init (&bench->out);
    coord_open (bench->coord, text_of ("00112233445566778899aabbccddeeff"), &bench->plan, 7, text_of ("t"), 1, bench->now_ms,
                &bench->out);
    collect (bench);
    all_join (bench);
}

static void bench_close (struct bench *bench)
{
    coord_destroy (bench->coord);
    outbox_release (&bench->out);
    arena_release (&bench->arena);
}

static const struct effect *last_effect (const struct bench *bench, enum effect_kind kind)
{
    for (uint32_t i = bench->effects_n; i > 0; i--)
        if (bench->effects[i - 1].kind == kind)
            return &bench->effects[i - 1];
    return NULL;
}

static uint32_t count_effects (const struct bench *bench, enum effect_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < bench->effects_n; i++)
        n += bench->effects[i].kind == kind;
    return n;
}

static const struct fact *last_fact (const struct bench *bench, enum fact_kind kind)
{
    for (uint32_t i = bench->facts_n; i > 0; i--)
        if (bench->facts[i - 1].kind == kind)
            return &bench->facts[i - 1];
    return NULL;
}

static void found (struct bench *bench, const struct fact_generation *generation)
{
    struct input in = { .kind = IN_CACHE_FOUND, .generation = generation };
    step (bench, &in);
}

static void audited (struct bench *bench, const struct root_finding *finding)
{
    struct input in = { .kind = IN_CACHE_AUDITED, .findings = finding, .findings_n = finding ? 1 : 0 };
    step (bench, &in);
}

static void token (struct bench *bench, uint64_t value)
{
    struct input in = { .kind = IN_TOKEN, .token = value };
    step (bench, &in);
}

/* To where host0 has the token 1 and was told to run. */
static void open_granted (struct bench *bench)
{
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, NULL);
    audited (bench, NULL);
    token (bench, 1);
    assert_true (bench->ordered[0]);
    assert_int_equal (bench->runs[0].cache.role, CACHE_ROLE_WRITER);
}

static void ask (struct bench *bench, uint32_t host, uint64_t lease_token, uint64_t number)
{
    struct holding held = { .key = bench->runs[host].key, .state = ATTEMPT_RUNNING };
    struct msg msg = { .kind = MSG_HEARTBEAT, .of.heartbeat = { .lease_token = lease_token, .lease_ask = number } };
    msg.of.heartbeat.holdings.items = &held;
    msg.of.heartbeat.holdings.n = 1;
    tell (bench, host, &msg);
}

static void tick_at (struct bench *bench, uint64_t at_ms)
{
    struct input in = { .kind = IN_TICK };
    bench->now_ms = at_ms - 1;
    step (bench, &in);
}

static void end_run_of (struct bench *bench, uint32_t host, const struct finding *finding)
{
    struct arena arena = { 0 };
    uint64_t secrets[HOSTS] = { 0 };
    struct msg msg = { .kind = MSG_RESULT };
    sample_result (&bench->runs[host], secrets, &msg.of.result, &arena);
    if (finding) {
        msg.of.result.findings.items = (struct finding *) finding;
        msg.of.result.findings.n = 1;
    }
    tell (bench, host, &msg);
    arena_release (&arena);
}

static void end_all (struct bench *bench)
{
    for (uint32_t host = 0; host < HOSTS; host++)
        end_run_of (bench, host, NULL);
}

static void restart (struct bench *bench)
{
    coord_destroy (bench->coord);
    bench->coord = coord_create ();
    for (uint32_t i = 0; i < bench->facts_n; i++)
        coord_apply (bench->coord, &bench->facts[i]);
    coord_attach (bench->coord, 2, ++bench->now_ms, &bench->out);
    collect (bench);
    all_join (bench);
}

/* ---- the lease ---- */

static void the_holder_is_answered_with_the_number_of_its_question (void **state)
{
    (void) state;
    struct bench bench;
    open_granted (&bench);
    ask (&bench, 0, 1, 17);
    assert_int_equal (bench.leased_host, 0);
    assert_int_equal (bench.leased.ask, 17);
    assert_int_equal (bench.leased.term_ms, TERM_MS);
    assert_non_null (last_effect (&bench, FX_LEASE_BEAT));
    bench_close (&bench);
}

static void nobody_else_and_no_other_token_is_given_time (void **state)
{
    (void) state;
    struct bench bench;
    open_granted (&bench);
    ask (&bench, 1, 1, 1);
    assert_int_equal (bench.leased.term_ms, 0);
    ask (&bench, 0, 2, 1);
    assert_int_equal (bench.leased.term_ms, 0);
    assert_null (last_effect (&bench, FX_LEASE_BEAT));
    bench_close (&bench);
}

static void a_silent_writer_loses_and_another_candidate_is_granted_after_the_lock_delay (void **state)
{
    (void) state;
    struct bench bench;
    open_granted (&bench);
    ask (&bench, 0, 1, 1);
    uint64_t asked_ms = bench.now_ms;
    tick_at (&bench, asked_ms + TERM_MS * 102 / 100 - 10);
    assert_null (last_fact (&bench, FACT_LEASE_LOST));
    tick_at (&bench, asked_ms + TERM_MS * 102 / 100 + 10);
    assert_non_null (last_fact (&bench, FACT_LEASE_LOST));
    audited (&bench, NULL);
    uint32_t asked = count_effects (&bench, FX_TOKEN);
    tick_at (&bench, asked_ms + TERM_MS * 102 / 100 + DELAY_MS - 10);
    assert_int_equal (count_effects (&bench, FX_TOKEN), asked);
    tick_at (&bench, asked_ms + TERM_MS * 102 / 100 + DELAY_MS + 20);
    assert_int_equal (count_effects (&bench, FX_TOKEN), asked + 1);
    token (&bench, 2);
    assert_true (bench.ordered[1]);
    assert_int_equal (bench.runs[1].cache.token, 2);
    assert_int_equal (bench.runs[1].key.attempt, 2);
    /* the first one wakes up */
    ask (&bench, 0, 1, 2);
    assert_int_equal (bench.leased.term_ms, 0);
    bench_close (&bench);
}

static void what_a_late_writer_sealed_is_not_published (void **state)
{
    (void) state;
    struct bench bench;
    open_granted (&bench);
    ask (&bench, 0, 1, 1);
    tick_at (&bench, bench.now_ms + TERM_MS + DELAY_MS / 2);
    end_run_of (&bench, 0, NULL);
    assert_null (last_fact (&bench, FACT_GENERATION_PUBLISHED));
    assert_null (last_effect (&bench, FX_CACHE_PUBLISH));
    bench_close (&bench);
}

static void a_sealed_result_is_the_release (void **state)
{
    (void) state;
    struct bench bench;
    open_granted (&bench);
    ask (&bench, 0, 1, 1);
    end_run_of (&bench, 0, NULL);
    assert_non_null (last_fact (&bench, FACT_GENERATION_PUBLISHED));
    assert_non_null (last_effect (&bench, FX_CACHE_PUBLISH));
    audited (&bench, NULL);
    assert_int_equal (bench.runs[2].cache.role, CACHE_ROLE_READER);
    assert_int_equal (bench.runs[2].cache.token, 1);
    bench_close (&bench);
}

static void a_new_coordinator_grants_nothing_for_a_term_and_the_delay (void **state)
{
    (void) state;
    struct bench bench;
    open_granted (&bench);
    ask (&bench, 0, 1, 1);
    restart (&bench);
    uint64_t began_ms = bench.now_ms;
    bench.leased_n = 0;
    tick_at (&bench, began_ms + TERM_MS * 102 / 100 + 50); /* the old one never comes back */
    assert_non_null (last_fact (&bench, FACT_LEASE_LOST));
    audited (&bench, NULL);
    uint32_t asked = count_effects (&bench, FX_TOKEN);
    tick_at (&bench, began_ms + TERM_MS * 102 / 100 + DELAY_MS - 50);
    assert_int_equal (count_effects (&bench, FX_TOKEN), asked);
    tick_at (&bench, began_ms + TERM_MS * 102 / 100 + DELAY_MS + 50);
    assert_int_equal (count_effects (&bench, FX_TOKEN), asked + 1);
    bench_close (&bench);
}

static void the_holder_of_the_journal_goes_on_under_a_new_coordinator (void **state)
{
    (void) state;
    struct bench bench;
    open_granted (&bench);
    restart (&bench);
    ask (&bench, 0, 1, 9);
    assert_int_equal (bench.leased.term_ms, TERM_MS);
    end_run_of (&bench, 0, NULL);
    assert_non_null (last_fact (&bench, FACT_GENERATION_PUBLISHED));
    bench_close (&bench);
}

/* ---- other runs ---- */

static void rival (struct bench *bench, uint64_t beat)
{
    struct input in = { .kind = IN_TOKEN, .rival = { TEXT_LIT ("ff112233445566778899aabbccddeeff"), 5, beat } };
    step (bench, &in);
}

static void while_another_run_writes_its_generation_is_looked_for (void **state)
{
    (void) state;
    struct bench bench;
    struct lease_rival seen;
    uint64_t since_ms;
    bench_open (&bench, CACHE_SINGLE_WRITER);
    found (&bench, NULL);
    audited (&bench, NULL);
    rival (&bench, 3);
    assert_true (coord_waits_for_lease (bench.coord, &seen, &since_ms));
    assert_int_equal (seen.token, 5);
    uint32_t looked = count_effects (&bench, FX_CACHE_FIND);
    tick_at (&bench, bench.now_ms + TERM_MS / 3 + 5);
    assert_int_equal (count_effects (&bench, FX_CACHE_FIND), looked + 1);
    found (&bench, NULL);
    assert_int_equal (count_effects (&bench, FX_TOKEN), 2);
    assert_int_equal (last_effect (&bench, FX_TOKEN)->rival.token, 0);
    bench_close (&bench);
}

/* Looks again as long as it must; returns the first question that would take the lease over. */
static uint64_t wait_for_takeover (struct bench *bench, bool beats)
{
    uint64_t began_ms = bench->now_ms, beat = 3;
    while (bench->now_ms < began_ms + 10 * TERM_MS) {
        rival (bench, beats ? ++beat : beat);
        tick_at (bench, bench->now_ms + TERM_MS / 3 + 5);
        found (bench, NULL);
        if (last_effect (bench, FX_TOKEN)->rival.token)
            return bench->now_ms - began_ms;
    }
    return 0;
}

static void a_run_that_beats_is_never_taken_over_and_a_silent_one_after_term_and_delay (void **state)
{
    (void) state;
    struct bench bench;
    bench_open (&bench, CACHE_SINGLE_WRITER);
    found (&bench, NULL);
    audited (&bench, NULL);
    assert_int_equal (wait_for_takeover (&bench, true), 0);
    uint64_t waited_ms = wait_for_takeover (&bench, false);
    assert_in_range (waited_ms, TERM_MS * 102 / 100 + DELAY_MS, TERM_MS * 102 / 100 + DELAY_MS + TERM_MS / 2);
    bench_close (&bench);
}

static void a_lease_that_was_taken_over_ends_our_writer (void **state)
{
    (void) state;
    struct bench bench;
    open_granted (&bench);
    ask (&bench, 0, 1, 1);
    struct input in = { .kind = IN_LEASE_TAKEN, .token = 1 };
    step (&bench, &in);
    assert_non_null (last_fact (&bench, FACT_LEASE_LOST));
    ask (&bench, 0, 1, 2);
    assert_int_equal (bench.leased.term_ms, 0);
    bench_close (&bench);
}

/* ---- violations ---- */

static const struct finding changed = { FINDING_CHANGED, 1, TEXT_LIT ("jit_tiny-cache"), TEXT_LIT ("other bytes") };

static void open_restored (struct bench *bench)
{
    open_granted (bench);
    ask (bench, 0, 1, 1);
    end_run_of (bench, 0, NULL);
    audited (bench, NULL);
    assert_int_equal (bench->runs[1].key.pass, PASS_RESTORED);
}

static void a_finding_of_a_reader_drops_the_generation_and_warms_anew (void **state)
{
    (void) state;
    struct bench bench;
    open_restored (&bench);
    uint64_t published = last_fact (&bench, FACT_GENERATION_PUBLISHED)->index;
    end_run_of (&bench, 0, NULL);
    end_run_of (&bench, 1, &changed);
    end_run_of (&bench, 2, &changed);
    const struct fact *violated = last_fact (&bench, FACT_CACHE_VIOLATED);
    assert_non_null (violated);
    assert_int_equal (violated->of.cache_violated.host, 1);
    assert_int_equal (violated->of.cache_violated.since, published);
    assert_int_equal (last_effect (&bench, FX_CACHE_DROP)->token, 1);
    assert_int_equal (count_effects (&bench, FX_CACHE_DROP), 1);
    audited (&bench, NULL);
    token (&bench, 2);
    assert_int_equal (bench.runs[0].key.pass, PASS_COLD);
    assert_int_equal (bench.runs[0].cache.base, 0);
    ask (&bench, 0, 2, 1);
    end_run_of (&bench, 0, NULL);
    audited (&bench, NULL);
    end_all (&bench);
    audited (&bench, NULL);
    uint32_t exit_status = 0;
    assert_true (coord_ended (bench.coord, &exit_status));
    assert_int_equal (exit_status, 4);
    assert_int_equal (last_fact (&bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_PASSED);
    bench_close (&bench);
}

static void the_second_violation_of_a_rung_stops_the_climb (void **state)
{
    (void) state;
    struct bench bench;
    open_restored (&bench);
    for (uint64_t round = 1; round <= 2; round++) {
        struct finding finding = changed;
        finding.token = round;
        for (uint32_t host = 0; host < HOSTS; host++)
            end_run_of (&bench, host, &finding);
        audited (&bench, NULL);
        if (round == 2)
            break;
        token (&bench, 2);
        ask (&bench, 0, 2, 1);
        end_run_of (&bench, 0, NULL);
        audited (&bench, NULL);
    }
    uint32_t exit_status = 0;
    assert_true (coord_ended (bench.coord, &exit_status));
    assert_int_equal (exit_status, 4);
    assert_int_equal (last_fact (&bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_FAILED);
    bench_close (&bench);
}

static void a_late_write_is_told_once_and_hurts_nobody (void **state)
{
    (void) state;
    struct bench bench;
    struct root_finding late = { { FINDING_LATE_WRITE, 77, TEXT_LIT ("gen-77"), TEXT_LIT ("changed") }, TEXT_LIT ("ab") };
    open_restored (&bench);
    end_all (&bench);
    audited (&bench, &late);
    uint32_t exit_status = 0;
    assert_true (coord_ended (bench.coord, &exit_status));
    assert_int_equal (exit_status, 4);
    assert_int_equal (last_fact (&bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_PASSED);
    assert_int_equal (last_effect (&bench, FX_CACHE_DROP)->token, 77);
    bench_close (&bench);
}

static void a_write_that_was_refused_is_recorded_and_changes_no_exit_status (void **state)
{
    (void) state;
    struct bench bench;
    struct finding attempt = { FINDING_WRITE_ATTEMPT, 1, TEXT_LIT ("x"), TEXT_LIT ("3 files") };
    open_restored (&bench);
    for (uint32_t host = 0; host < HOSTS; host++)
        end_run_of (&bench, host, &attempt);
    audited (&bench, NULL);
    uint32_t exit_status = 9;
    assert_true (coord_ended (bench.coord, &exit_status));
    assert_int_equal (exit_status, 0);
    assert_non_null (last_fact (&bench, FACT_CACHE_VIOLATED));
    bench_close (&bench);
}

static void a_storage_that_never_answers_is_not_waited_for (void **state)
{
    (void) state;
    struct bench bench;
    open_restored (&bench);
    end_all (&bench);
    assert_false (coord_ended (bench.coord, NULL));
    tick_at (&bench, bench.now_ms + 61000);
    assert_true (coord_ended (bench.coord, NULL));
    bench_close (&bench);
}

/* ---- modes ---- */

static void read_only_warms_nothing_and_says_what_is_missing (void **state)
{
    (void) state;
    struct bench bench;
    bench_open (&bench, CACHE_READ_ONLY);
    found (&bench, NULL);
    audited (&bench, NULL);
    uint32_t exit_status = 0;
    assert_true (coord_ended (bench.coord, &exit_status));
    assert_int_equal (exit_status, 3);
    assert_null (last_effect (&bench, FX_TOKEN));
    assert_true (text_find (last_fact (&bench, FACT_RUN_ENDED)->of.run_ended.sentence, TEXT_LIT ("read-only"), NULL));
    bench_close (&bench);
}

static void per_host_warms_on_every_host_without_tokens (void **state)
{
    (void) state;
    struct bench bench;
    bench_open (&bench, CACHE_PER_HOST);
    for (uint32_t host = 0; host < HOSTS; host++) {
        assert_true (bench.ordered[host]);
        assert_int_equal (bench.runs[host].cache.role, CACHE_ROLE_OWN);
        assert_int_equal (bench.runs[host].key.pass, PASS_COLD);
    }
    end_all (&bench);
    assert_int_equal (bench.runs[1].key.pass, PASS_RESTORED);
    end_all (&bench);
    uint32_t exit_status = 9;
    assert_true (coord_ended (bench.coord, &exit_status));
    assert_int_equal (exit_status, 0);
    assert_null (last_effect (&bench, FX_TOKEN));
    bench_close (&bench);
}

static void warm_only_publishes_and_restores_nothing (void **state)
{
    (void) state;
    struct bench bench;
    bench_open (&bench, CACHE_WARM_ONLY);
    found (&bench, NULL);
    audited (&bench, NULL);
    token (&bench, 1);
    ask (&bench, 0, 1, 1);
    end_run_of (&bench, 0, NULL);
    audited (&bench, NULL);
    uint32_t exit_status = 9;
    assert_true (coord_ended (bench.coord, &exit_status));
    assert_int_equal (exit_status, 0);
    assert_non_null (last_effect (&bench, FX_CACHE_PUBLISH));
    assert_false (bench.ordered[1]);
    bench_close (&bench);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (the_holder_is_answered_with_the_number_of_its_question),
        cmocka_unit_test (nobody_else_and_no_other_token_is_given_time),
        cmocka_unit_test (a_silent_writer_loses_and_another_candidate_is_granted_after_the_lock_delay),
        cmocka_unit_test (what_a_late_writer_sealed_is_not_published),
        cmocka_unit_test (a_sealed_result_is_the_release),
        cmocka_unit_test (a_new_coordinator_grants_nothing_for_a_term_and_the_delay),
        cmocka_unit_test (the_holder_of_the_journal_goes_on_under_a_new_coordinator),
        cmocka_unit_test (while_another_run_writes_its_generation_is_looked_for),
        cmocka_unit_test (a_run_that_beats_is_never_taken_over_and_a_silent_one_after_term_and_delay),
        cmocka_unit_test (a_lease_that_was_taken_over_ends_our_writer),
        cmocka_unit_test (a_finding_of_a_reader_drops_the_generation_and_warms_anew),
        cmocka_unit_test (the_second_violation_of_a_rung_stops_the_climb),
        cmocka_unit_test (a_late_write_is_told_once_and_hurts_nobody),
        cmocka_unit_test (a_write_that_was_refused_is_recorded_and_changes_no_exit_status),
        cmocka_unit_test (a_storage_that_never_answers_is_not_waited_for),
        cmocka_unit_test (read_only_warms_nothing_and_says_what_is_missing),
        cmocka_unit_test (per_host_warms_on_every_host_without_tokens),
        cmocka_unit_test (warm_only_publishes_and_restores_nothing),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
