/* links: simulated */
/* The coordinator's mind, input by input: what it decides over restarts, lost orders, gates and the end. */
#include "common/base/duration.h"
#include "coord_bench.h"
#include "coordinator/core/coord.h"
#include "coordinator/core/steps.h"
#include "state_record.h"

enum { HOSTS = 3 };

static void bench_forget (struct bench *bench)
{
    memset (bench->said, 0, sizeof (bench->said));
}

/* A run that waits for its hosts, and begins with the rung `first`; with these limits, or the sample's. */
static void bench_open_limited (struct bench *bench, uint32_t first, const struct limits *limits)
{
    *bench = (struct bench){ .now_ms = 1000 };
    sample_plan (&bench->plan, HOSTS, &bench->arena);
    if (limits)
        bench->plan.limits = *limits;
    bench->plan.rungs.items += first;
    bench->plan.rungs.n = 1;
    bench->plan.rungs.items[0].warm = WARM_NONE;
    bench_begin (bench);
}

static void bench_open (struct bench *bench, uint32_t first)
{
    bench_open_limited (bench, first, NULL);
}

TEST_FIXTURE (struct bench, TEST_NOTHING, bench_close)

static const struct attempt_key running = { 0, PASS_ONCE, 1 };

static void beat (struct bench *bench, uint32_t host, struct holding *held)
{
    struct msg msg = { .kind = MSG_HEARTBEAT };
    msg.of.heartbeat.holdings.items = held;
    msg.of.heartbeat.holdings.n = held ? 1 : 0;
    tell (bench, host, &msg);
}

static void at_gate (struct bench *bench, uint32_t host, enum gate_mode mode, const char *value)
{
    struct holding held = { .key = running,
                            .state = ATTEMPT_AT_GATE,
                            .gate = TEXT_LIT ("program"),
                            .gate_mode = mode,
                            .gate_value = text_of (value) };
    beat (bench, host, &held);
}

static void end_with (struct bench *bench, uint32_t host, enum ending ending, uint32_t code)
{
    bool done = ending == ENDING_EXITED && code == 0;
    struct msg msg = { .kind = MSG_RESULT,
                       .of.result = { .key = running, .ending = ending, .code = code, .done = done } };
    tell (bench, host, &msg);
}

static void end (struct bench *bench, uint32_t host, enum ending ending)
{
    end_with (bench, host, ending, 0);
}

static void restart (struct bench *bench)
{
    restart_at (bench, 0);
}

static void cancel (struct bench *bench, uint32_t level)
{
    struct core_input in = { .kind = IN_CANCEL, .level = level };
    step (bench, &in);
}

TEST_ON (bench, a_cancel_survives_a_restart)
{
    struct holding held = { .key = running, .state = ATTEMPT_RUNNING };
    bench_open (bench, 0);
    all_join (bench);
    cancel (bench, 1);
    restart (bench);
    all_join (bench);
    bench_forget (bench);
    bench->now_ms += 5000;
    beat (bench, 0, &held);
    assert_int_equal (bench->said[MSG_CANCEL], 1);
    assert_int_equal (bench->said[MSG_RUN], 0);
}

/* Nothing runs, and those who were here before have not come back: they could not be told of the end. */
TEST (the_end_waits_for_those_who_are_to_be_told_of_it)
{
    for (int lost = 0; lost < 2; lost++) {
        struct bench bench;
        struct core_input time = { .kind = IN_TICK };
        bench_open (&bench, 0);
        join (&bench, 0);
        join (&bench, 1); /* not the third: no pass was begun */
        restart (&bench);
        cancel (&bench, 1);
        join (&bench, 0);
        assert_false (coord_ended (bench.coord, NULL));
        bench_forget (&bench);
        for (uint32_t i = 0; lost && i < 200 && !coord_ended (bench.coord, NULL); i++) {
            bench.now_ms += 500;
            beat (&bench, 0, NULL);
            step (&bench, &time);
        }
        if (!lost)
            join (&bench, 1);
        assert_true (coord_ended (bench.coord, NULL));
        assert_int_equal (bench.said[MSG_SHUTDOWN], lost ? 1 : 2); /* each is told once */
        assert_int_equal (last_fact (&bench, FACT_RUN_ENDED)->of.run_ended.outcome, OUTCOME_CANCELLED);
        bench_close (&bench);
    }
}

TEST_ON (bench, an_attempt_that_was_cancelled_before_it_arrived_is_not_ordered_again)
{
    bench_open (bench, 0);
    all_join (bench);
    cancel (bench, 2);
    bench_forget (bench);
    bench->now_ms += 5000;
    for (uint32_t host = 0; host < HOSTS; host++)
        beat (bench, host, NULL);
    assert_int_equal (bench->said[MSG_RUN], 0);
    assert_true (coord_ended (bench->coord, NULL));
}

TEST_ON (bench, an_order_that_cannot_be_said_ends_its_own_attempt_only)
{
    struct core_input undeliverable = { .kind = IN_RUN_UNDELIVERABLE, .key = running, .text = TEXT_LIT ("too large") };
    bench_open (bench, 0);
    all_join (bench);
    undeliverable.key.attempt = 2;
    step (bench, &undeliverable);
    assert_null (last_fact (bench, FACT_ATTEMPT_ENDED));
    undeliverable.key = running;
    for (undeliverable.host = 0; undeliverable.host < HOSTS; undeliverable.host++) {
        step (bench, &undeliverable);
        const struct fact_attempt_ended *ended = &last_fact (bench, FACT_ATTEMPT_ENDED)->of.attempt_ended;
        assert_int_equal (ended->host, undeliverable.host);
        assert_int_equal (ended->result.ending, ENDING_NOT_STARTED);
        uint32_t facts = bench->facts_n;
        step (bench, &undeliverable); /* it is over already */
        assert_int_equal (bench->facts_n, facts);
    }
    assert_int_equal (last_fact (bench, FACT_PASS_ENDED)->of.pass_ended.outcome, OUTCOME_BLOCKED);
    assert_true (coord_ended (bench->coord, NULL));
}

TEST_ON (bench, nothing_is_recorded_after_the_end)
{
    bench_open (bench, 0);
    all_join (bench);
    for (uint32_t host = 0; host < HOSTS; host++)
        end (bench, host, ENDING_EXITED);
    assert_true (coord_ended (bench->coord, NULL));
    uint32_t facts = bench->facts_n;
    static const enum input_kind kinds[] = { IN_TICK,        IN_WORKER_KEYED, IN_WORKER_EXITED,
                                             IN_CACHE_FOUND, IN_TOKEN,        IN_CANCEL };
    for (size_t i = 0; i < sizeof (kinds) / sizeof (kinds[0]); i++) {
        struct core_input in = { .kind = kinds[i], .token = 1, .level = 1, .text = TEXT_LIT ("x") };
        step (bench, &in);
    }
    beat (bench, 0, NULL);
    assert_int_equal (bench->facts_n, facts);
}

static void tell_quiet_hosts (struct bench *bench, uint32_t n, uint64_t quiet_ms)
{
    uint32_t hosts[] = { 0, 2 };
    struct last_output group = { { hosts, n }, TEXT_LIT ("step 4"), quiet_ms };
    struct fact_output_awaited told = { .key = running, .groups = { &group, 1 } };
    struct core_input in = { .kind = IN_OUTPUT, .output = &told };
    step (bench, &in);
}

static void tell_quiet (struct bench *bench, uint64_t quiet_ms)
{
    tell_quiet_hosts (bench, 2, quiet_ms);
}

TEST_ON (bench, a_silent_slice_is_asked_where_it_stands_all_at_once_and_seldom)
{
    struct holding held = { .key = running, .state = ATTEMPT_RUNNING };
    bench_open (bench, 2);
    all_join (bench);
    for (uint32_t host = 0; host < HOSTS; host++)
        beat (bench, host, &held);
    at_gate (bench, 1, GATE_SHARE, "v");
    tell_quiet (bench, 7999);
    tell_quiet_hosts (bench, 1, 60000); /* the other one prints */
    assert_int_equal (bench->said[MSG_LOOK], 0);
    tell_quiet (bench, 8000);
    assert_int_equal (bench->said[MSG_LOOK], HOSTS - 1); /* one waits at a gate */
    tell_quiet (bench, 9000);
    assert_int_equal (bench->said[MSG_LOOK], HOSTS - 1);
    bench->now_ms += 20000;
    tell_quiet (bench, 29000);
    assert_int_equal (bench->said[MSG_LOOK], 2 * (HOSTS - 1));
    bench->now_ms += 20000; /* the wait has doubled */
    tell_quiet (bench, 49000);
    assert_int_equal (bench->said[MSG_LOOK], 2 * (HOSTS - 1));
    struct core_input asked = { .kind = IN_LOOK };
    step (bench, &asked);
    assert_int_equal (bench->said[MSG_LOOK], 3 * (HOSTS - 1));
}

TEST_ON (bench, programs_that_run_alone_are_asked_only_if_somebody_wants_to_know)
{
    struct holding held = { .key = running, .state = ATTEMPT_RUNNING };
    struct core_input asked = { .kind = IN_LOOK };
    bench_open (bench, 0);
    all_join (bench);
    beat (bench, 0, &held);
    tell_quiet (bench, 60000);
    assert_int_equal (bench->said[MSG_LOOK], 0);
    step (bench, &asked);
    assert_int_equal (bench->said[MSG_LOOK], HOSTS);
}

TEST_ON (bench, a_loss_of_output_is_recorded_of_an_attempt_that_began_only)
{
    struct core_input lost = { .kind = IN_OUTPUT_LOST, .host = 1, .key = running, .text = TEXT_LIT ("no room") };
    bench_open (bench, 0);
    all_join (bench);
    lost.key.attempt = 2;
    step (bench, &lost);
    assert_null (last_fact (bench, FACT_OUTPUT_LOST));
    lost.key = running;
    step (bench, &lost);
    assert_non_null (last_fact (bench, FACT_OUTPUT_LOST));
}

/* h1 ended before the order to stop reached it: its peers had gone. */
TEST (a_run_that_the_user_cancelled_has_nobody_to_blame)
{
    for (int complains = 0; complains < 2; complains++) {
        struct bench bench;
        struct msg complaint = { .kind = MSG_RESULT,
                                 .of.result = { .key = running,
                                                .ending = ENDING_EXITED,
                                                .code = 1,
                                                .owner = OWNER_PEER,
                                                .failure = TEXT_LIT ("rank 0 is gone") } };
        bench_open (&bench, 2);
        all_join (&bench);
        cancel (&bench, 1);
        if (complains)
            tell (&bench, 1, &complaint);
        for (uint32_t host = 0; host < HOSTS; host++)
            if (host != 1 || !complains)
                end (&bench, host, ENDING_CANCELLED);
        const struct fact_pass_ended *ended = &last_fact (&bench, FACT_PASS_ENDED)->of.pass_ended;
        assert_int_equal (ended->verdicts.n, HOSTS);
        for (uint32_t i = 0; i < HOSTS; i++)
            assert_int_equal (ended->verdicts.items[i].outcome,
                              i == 1 && complains ? OUTCOME_CASCADE : OUTCOME_CANCELLED);
        assert_int_equal (ended->outcome, OUTCOME_CANCELLED);
        const struct fact_run_ended *over = &last_fact (&bench, FACT_RUN_ENDED)->of.run_ended;
        assert_int_equal (over->outcome, OUTCOME_CANCELLED);
        assert_int_equal (over->exit_status, 130);
        bench_close (&bench);
    }
}

TEST (a_gate_opens_when_all_agree_and_names_who_does_not)
{
    struct bench bench;
    bench_open (&bench, 2);
    all_join (&bench);
    for (uint32_t host = 0; host < HOSTS; host++)
        at_gate (&bench, host, GATE_AGREE, "P");
    assert_non_null (last_fact (&bench, FACT_GATE_OPENED));
    bench_close (&bench);

    bench_open (&bench, 2);
    all_join (&bench);
    at_gate (&bench, 0, GATE_AGREE, "P");
    at_gate (&bench, 1, GATE_AGREE, "P");
    at_gate (&bench, 2, GATE_SHARE, "Q"); /* saying "share" does not get it past those who want agreement */
    assert_null (last_fact (&bench, FACT_GATE_OPENED));
    const struct fact *stopped = last_fact (&bench, FACT_PASS_STOPPED);
    assert_non_null (stopped);
    assert_int_equal (stopped->of.pass_stopped.culprits.n, 1);
    assert_int_equal (stopped->of.pass_stopped.culprits.items[0], 2);
    bench_close (&bench);
}

TEST_ON (bench, a_host_that_passes_a_gate_by_is_named)
{
    bench_open (bench, 2);
    all_join (bench);
    end (bench, 2, ENDING_EXITED);
    at_gate (bench, 0, GATE_SHARE, "x");
    const struct fact *stopped = last_fact (bench, FACT_PASS_STOPPED);
    assert_non_null (stopped);
    assert_int_equal (stopped->of.pass_stopped.culprits.items[0], 2);
}

/* It takes its time to die: its worker says so before it has a result. */
static void stopping_at_gate (struct bench *bench, uint32_t host)
{
    struct holding held = {
        .key = running, .state = ATTEMPT_STOPPING, .gate = TEXT_LIT ("program"), .gate_mode = GATE_SHARE
    };
    beat (bench, host, &held);
}

static void hang_at_a_gate (struct bench *bench, bool with_restart, bool slowly)
{
    bench_open (bench, 2);
    all_join (bench);
    at_gate (bench, 0, GATE_SHARE, "x");
    at_gate (bench, 1, GATE_SHARE, "");
    for (uint32_t host = 0; host < 2 && slowly; host++)
        stopping_at_gate (bench, host);
    end (bench, 0, ENDING_TIMEOUT);
    if (with_restart) {
        restart (bench);
        all_join (bench);
        if (slowly)
            stopping_at_gate (bench, 1);
        else
            at_gate (bench, 1, GATE_SHARE, "");
    }
    end (bench, 1, ENDING_TIMEOUT);
    end (bench, 2, ENDING_TIMEOUT);
}

TEST (a_restart_does_not_change_who_is_to_blame)
{
    for (int way = 0; way < 4; way++) {
        struct bench bench;
        hang_at_a_gate (&bench, way & 1, way & 2);
        const struct fact *ended = last_fact (&bench, FACT_PASS_ENDED);
        assert_non_null (ended);
        for (uint32_t i = 0; i < ended->of.pass_ended.verdicts.n; i++) {
            const struct verdict *verdict = &ended->of.pass_ended.verdicts.items[i];
            assert_int_equal (verdict->outcome, verdict->host == 2 ? OUTCOME_TIMED_OUT : OUTCOME_CASCADE);
        }
        bench_close (&bench);
    }
}

TEST_ON (bench, a_host_that_was_stopped_on_its_own_is_the_cause)
{
    bench_open (bench, 2);
    all_join (bench);
    end (bench, 2, ENDING_TERMINATED);
    end_with (bench, 0, ENDING_EXITED, 1); /* its peers break in words that nobody knows */
    end_with (bench, 1, ENDING_EXITED, 1);
    const struct fact *ended = last_fact (bench, FACT_PASS_ENDED);
    for (uint32_t i = 0; i < HOSTS; i++) {
        const struct verdict *verdict = &ended->of.pass_ended.verdicts.items[i];
        assert_int_equal (verdict->outcome, verdict->host == 2 ? OUTCOME_LOST : OUTCOME_CASCADE);
    }
}

/* The first that is stopped at its limit takes connections of the others along. */
TEST (who_falls_when_others_are_stopped_at_their_limit_is_not_the_cause)
{
    static const struct {
        bool at_limit, stopped, cause; /* stopped: the others were */
    } rows[] = { { false, true, true }, { true, true, false }, { true, false, true } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench bench;
        bench_open (&bench, 2);
        all_join (&bench);
        struct msg late = { .kind = MSG_RESULT,
                            .of.result = { .key = running,
                                           .ending = ENDING_EXITED,
                                           .code = 1,
                                           .tail = TEXT_LIT ("AssertionError"),
                                           .at_limit = rows[i].at_limit } };
        tell (&bench, 2, &late);
        end (&bench, 0, rows[i].stopped ? ENDING_TIMEOUT : ENDING_CANCELLED);
        end (&bench, 1, rows[i].stopped ? ENDING_TIMEOUT : ENDING_CANCELLED);
        const struct fact *ended = last_fact (&bench, FACT_PASS_ENDED);
        assert_non_null (ended);
        for (uint32_t at = 0; at < HOSTS; at++) {
            const struct verdict *verdict = &ended->of.pass_ended.verdicts.items[at];
            if (verdict->host == 2)
                assert_int_equal (verdict->outcome == OUTCOME_FAILED, rows[i].cause);
            else
                assert_int_equal (verdict->outcome == OUTCOME_CASCADE, rows[i].cause);
        }
        bench_close (&bench);
    }
}

/* Nor do its words count against others; a kill from outside, or for want of memory, is a reason of its own. */
TEST (what_others_say_at_their_limit_names_nobody_and_kills_count)
{
    static const struct {
        struct result late;
        enum outcome outcome; /* of host 2 */
    } rows[] = {
        { { .ending = ENDING_EXITED, .code = 1, .tail = TEXT_LIT ("lost the connection to host0\n") },
          OUTCOME_CASCADE },
        { { .ending = ENDING_SIGNALLED, .code = 9 }, OUTCOME_FAILED },
        { { .ending = ENDING_SIGNALLED, .code = 9, .group_memory_kills = 1 }, OUTCOME_FAILED },
        { { .ending = ENDING_EXITED, .code = 1, .tail = TEXT_LIT ("OSError: [Errno 28] No space left on device") },
          OUTCOME_FAILED },
        { { .ending = ENDING_TERMINATED }, OUTCOME_LOST },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench bench;
        bench_open (&bench, 2);
        all_join (&bench);
        struct msg late = { .kind = MSG_RESULT, .of.result = rows[i].late };
        late.of.result.key = running;
        late.of.result.at_limit = true;
        tell (&bench, 2, &late);
        end (&bench, 0, ENDING_TIMEOUT);
        end (&bench, 1, ENDING_TIMEOUT);
        const struct fact *ended = last_fact (&bench, FACT_PASS_ENDED);
        assert_non_null (ended);
        for (uint32_t at = 0; at < HOSTS; at++) {
            const struct verdict *verdict = &ended->of.pass_ended.verdicts.items[at];
            if (verdict->host == 2 && verdict->outcome != rows[i].outcome)
                fail_msg ("row %zu: %s, %.*s", i, enum_name_of (&outcome_names, verdict->outcome),
                          TEXT_ARG (verdict->cause));
            assert_false (text_find (verdict->cause, TEXT_LIT ("name this one"), NULL));
        }
        bench_close (&bench);
    }
}

TEST_ON (bench, a_host_that_keeps_announcing_new_workers_is_given_up)
{
    bench_open (bench, 0);
    all_join (bench);
    for (uint32_t i = 0; i < 100; i++) {
        struct msg msg = { .kind = MSG_HELLO,
                           .of.hello = { .version = TEXT_LIT ("t"), .pid = 1000 + i, .pid_start = 1 } };
        tell (bench, 1, &msg);
    }
    assert_in_range (count (bench, FACT_HOST_JOINED), HOSTS + 1, HOSTS + 16);
    assert_int_equal (count (bench, FACT_HOST_LOST), 1);
}

static void come_back (struct bench *bench, uint32_t pid, const char *boot_id)
{
    struct msg msg = { .kind = MSG_HELLO, .of.hello = { .version = TEXT_LIT ("t"), .pid = pid, .pid_start = 1 } };
    msg.of.hello.boot_id = text_of (boot_id);
    tell (bench, 0, &msg);
}

TEST (a_restarted_worker_and_a_rebooted_host_are_told_apart)
{
    static const struct {
        const char *before, *after, *why;
        bool by_another_coordinator;
    } rows[] = {
        { "boot-1", "boot-1", "its worker was restarted during the run", false },
        { "boot-1", "boot-2", "the host was rebooted during the run", false },
        { "boot-1", "boot-1", "its worker was restarted during the run", true },
        { "boot-1", "boot-2", "the host was rebooted during the run", true },
        { "", "boot-2", "its worker was restarted during the run", false }, /* not known: nothing is claimed */
    };
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct bench bench;
        bench_open (&bench, 0);
        come_back (&bench, 100, rows[i].before);
        for (uint32_t host = 1; host < HOSTS; host++)
            join (&bench, host);
        if (rows[i].by_another_coordinator)
            restart (&bench);
        come_back (&bench, 200, rows[i].after);
        const struct fact *ended = last_fact (&bench, FACT_ATTEMPT_ENDED);
        assert_non_null (ended);
        assert_int_equal (ended->of.attempt_ended.host, 0);
        assert_int_equal (ended->of.attempt_ended.result.ending, ENDING_LOST);
        if (!text_is (ended->of.attempt_ended.result.problem, rows[i].why))
            fail_msg ("row %zu: %.*s", i, TEXT_ARG (ended->of.attempt_ended.result.problem));
        for (uint32_t host = 1; host < HOSTS; host++)
            end (&bench, host, ENDING_EXITED);
        if (!rows[i].by_another_coordinator) {
            const struct fact *over = last_fact (&bench, FACT_RUN_ENDED);
            assert_non_null (over);
            assert_has (over->of.run_ended.sentence, rows[i].why);
        }
        bench_close (&bench);
    }
}

TEST_ON (bench, many_different_results_are_one_conflict)
{
    bench_open (bench, 0);
    all_join (bench);
    end (bench, 0, ENDING_EXITED);
    for (uint32_t i = 0; i < 100; i++) {
        struct msg msg = { .kind = MSG_RESULT, .of.result = { .key = running, .ending = ENDING_EXITED, .code = i } };
        struct core_input in = { .kind = IN_MSG, .host = 0, .msg = &msg, .text = TEXT_LIT ("another") };
        msg.session = bench->coord->state->hosts.items[0].session;
        msg.seq = ++bench->seq;
        step (bench, &in);
    }
    assert_int_equal (count (bench, FACT_CONFLICT_SEEN), 1);
}

TEST_ON (bench, a_result_that_comes_after_its_host_was_given_up_is_no_conflict)
{
    bench_open (bench, 0);
    all_join (bench);
    struct core_input gone = { .kind = IN_WORKER_EXITED, .host = 0, .text = TEXT_LIT ("killed") };
    step (bench, &gone);
    join (bench, 0);
    bench_forget (bench);
    end (bench, 0, ENDING_ORPHANED);
    assert_int_equal (bench->said[MSG_RESULT_ACK], 1);
    assert_int_equal (count (bench, FACT_CONFLICT_SEEN), 0);
    assert_int_equal (last_fact (bench, FACT_ATTEMPT_ENDED)->of.attempt_ended.result.ending, ENDING_LOST);
}

/* The longest time without a word to a host that beats as it was told and has nothing to be told. */
static uint64_t longest_silence_ms (const struct limits *limits)
{
    struct bench bench;
    struct holding held = { .key = running, .state = ATTEMPT_RUNNING };
    bench_open_limited (&bench, 0, limits);
    all_join (&bench);
    uint64_t longest_ms = 0, sent_ms = bench.now_ms, end_ms = bench.now_ms + 60000;
    while (bench.now_ms < end_ms) {
        bench_forget (&bench);
        bench.now_ms += bench.heartbeat_ms;
        beat (&bench, 0, &held);
        if (bench.now_ms - sent_ms > longest_ms)
            longest_ms = bench.now_ms - sent_ms;
        if (bench.said[MSG_WELCOME])
            sent_ms = bench.now_ms;
    }
    bench_close (&bench);
    return longest_ms;
}

TEST (a_worker_is_told_often_enough_not_to_think_itself_alone)
{
    static const uint64_t orphan_ms[] = { 5000, 6000, 9000, 120000, 0 };
    for (size_t i = 0; i < sizeof (orphan_ms) / sizeof (orphan_ms[0]); i++) {
        struct limits limits = { .join_ms = 60000, .suspect_ms = 5000, .lost_ms = 30000, .orphan_ms = orphan_ms[i] };
        uint64_t longest_ms = longest_silence_ms (&limits);
        assert_true (longest_ms <= 6100);
        assert_true (orphan_ms[i] == 0 || longest_ms * 2 < orphan_ms[i]);
    }
}

TEST (a_beat_that_comes_in_time_is_no_silence)
{
    static const struct {
        uint64_t suspect_ms, beat_ms;
    } rows[] = {
        { 1000, 500 },
        { 1500, 750 },
        { 2000, 1000 },
        { 5000, 1000 },
    };
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct bench bench;
        struct limits limits = { .join_ms = 60000, .lost_ms = 30000, .suspect_ms = rows[i].suspect_ms };
        bench_open_limited (&bench, 0, &limits);
        all_join (&bench);
        assert_int_equal (bench.heartbeat_ms, rows[i].beat_ms);
        bench_close (&bench);
    }
}

static void tick (struct bench *bench, uint64_t now_ms)
{
    struct core_input in = { .kind = IN_TICK };
    bench->now_ms = now_ms - 1;
    step (bench, &in);
}

TEST_ON (bench, time_in_which_the_coordinator_stood_still_is_nobodys_silence)
{
    struct holding held = { .key = running, .state = ATTEMPT_RUNNING };
    struct limits limits = { .join_ms = 60000, .suspect_ms = 2000, .lost_ms = 5000 };
    bench_open_limited (bench, 0, &limits);
    all_join (bench);
    for (uint32_t host = 0; host < HOSTS; host++)
        beat (bench, host, &held);
    uint64_t woken_ms = bench->now_ms + 3600000;
    tick (bench, woken_ms);
    assert_int_equal (count (bench, FACT_ATTEMPT_ENDED), 0);
    assert_int_equal (count (bench, FACT_HOST_LOST), 0);
    for (uint32_t host = 0; host + 1 < HOSTS; host++)
        beat (bench, host, &held);
    for (uint32_t i = 0; i < 100 && count (bench, FACT_HOST_LOST) == 0; i++)
        tick (bench, coord_deadline_ms (bench->coord)); /* woken in time, it judges as ever */
    assert_in_range (bench->now_ms, woken_ms + 4000, woken_ms + 5000);
    assert_int_equal (last_fact (bench, FACT_HOST_LOST)->of.host_lost.host, HOSTS - 1);
}

TEST_ON (bench, a_resumed_coordinator_gives_workers_the_time_to_find_it)
{
    struct limits limits = { .join_ms = 60000, .suspect_ms = 2000, .lost_ms = 5000 };
    bench_open_limited (bench, 0, &limits);
    all_join (bench);
    restart (bench);
    uint64_t restarted_ms = bench->now_ms;
    for (uint32_t i = 0; i < 100 && count (bench, FACT_HOST_LOST) == 0; i++)
        tick (bench, coord_deadline_ms (bench->coord));
    assert_in_range (bench->now_ms, restarted_ms + 7000, restarted_ms + 9000); /* a worker tries at least every 5 s */
}

/* The run's clock stands still meanwhile, and nothing is late; a pass lasts as long as its hosts did, within that time. */
TEST (time_without_a_coordinator_counts_in_durations_as_far_as_hosts_used_it)
{
    static const uint64_t own_ms[] = { 40000, 900000 }, wanted_ms[] = { 40000, 600000 };
    struct bench bench;
    for (size_t i = 0; i < sizeof (own_ms) / sizeof (own_ms[0]); i++) {
        struct msg result = { .kind = MSG_RESULT,
                              .of.result = {
                                  .key = running, .ending = ENDING_EXITED, .done = true, .duration_ms = own_ms[i] } };
        bench_open (&bench, 0);
        all_join (&bench);
        for (uint32_t k = 0; k < bench.facts_n; k++)
            bench.facts[k].wall_ms = 5000;
        restart_at (&bench, 5000 + 600000);
        all_join (&bench);
        for (uint32_t host = 0; host < HOSTS; host++)
            tell (&bench, host, &result);
        assert_in_range (last_fact (&bench, FACT_PASS_ENDED)->of.pass_ended.duration_ms, wanted_ms[i],
                         wanted_ms[i] + 100);
        assert_in_range (last_fact (&bench, FACT_RUN_ENDED)->at_ms, 1, 1000);
        bench_close (&bench);
    }
    bench_open (&bench, 0); /* while there was one, it is what was seen: it stops programs, and awaits the slowest */
    all_join (&bench);
    bench.now_ms += 3000;
    for (uint32_t host = 0; host < HOSTS; host++)
        end (&bench, host, ENDING_EXITED);
    assert_in_range (last_fact (&bench, FACT_PASS_ENDED)->of.pass_ended.duration_ms, 3000, 3100);
    bench_close (&bench);
    bench_open (&bench, 0); /* a wall clock that was set back, or is unknown, adds nothing */
    all_join (&bench);
    for (uint32_t i = 0; i < bench.facts_n; i++)
        bench.facts[i].wall_ms = 5000;
    restart_at (&bench, 4000);
    assert_int_equal (last_fact (&bench, FACT_EPOCH_BEGAN)->of.epoch_began.away_ms, 0);
    bench_close (&bench);
}

/* Seconds after the fact before, for it waited for who may come: the length that is told is not that of this fact. */
TEST_ON (bench, the_sentence_has_the_length_of_the_run)
{
    char span[DURATION_TEXT_BYTES];
    struct core_input keyed = { .kind = IN_WORKER_KEYED, .text = TEXT_LIT ("a key") };
    bench_open (bench, 0);
    step (bench, &keyed);
    restart (bench);
    cancel (bench, 1);
    assert_null (last_fact (bench, FACT_RUN_ENDED));
    uint64_t before_ms = last_fact (bench, FACT_CANCEL_ASKED)->at_ms;
    for (uint32_t i = 0; i < 100 && !last_fact (bench, FACT_RUN_ENDED); i++)
        tick (bench, bench->now_ms + 500);
    const struct fact *ended = last_fact (bench, FACT_RUN_ENDED);
    assert_non_null (ended);
    assert_true (ended->at_ms >= before_ms + 2000);
    duration_print (ended->at_ms, span);
    assert_has (ended->of.run_ended.sentence, span);
}

/* Silent for long enough to be suspected, and then there again: it is recorded, and not without end. */
TEST_ON (bench, a_silence_that_is_survived_is_recorded)
{
    struct limits limits = { .join_ms = 600000, .suspect_ms = 2000, .lost_ms = 9000 };
    bench_open_limited (bench, 0, &limits);
    join (bench, 0);
    join (bench, 1); /* not the third: nothing runs */
    for (uint32_t i = 0; i < 100; i++) {
        for (uint32_t k = 0; k < 6; k++) {
            bench->now_ms += 500;
            beat (bench, 1, NULL);
            tick (bench, bench->now_ms + 1);
        }
        beat (bench, 0, NULL);
        if (i == 0) {
            const struct fact *back = last_fact (bench, FACT_HOST_RETURNED);
            assert_non_null (back);
            assert_int_equal (back->of.host_suspected.host, 0);
            assert_in_range (back->of.host_suspected.silent_ms, 3000, 3100);
        }
    }
    assert_int_equal (count (bench, FACT_HOST_RETURNED), 64);
    assert_null (last_fact (bench, FACT_HOST_LOST));
}

/* For whoever begins to watch meanwhile: every `suspect_ms`, and no more often. */
TEST_ON (bench, a_silence_is_told_again_while_it_lasts)
{
    struct limits limits = { .join_ms = 600000, .suspect_ms = 2000, .lost_ms = 60000 };
    bench_open_limited (bench, 0, &limits);
    join (bench, 0);
    const uint64_t *told_ms = &bench->coord->soft.hosts[0].told_ms;
    uint64_t began_ms = bench->now_ms, last_ms = 0, times = 0;
    for (uint32_t i = 0; i < 40; i++) {
        tick (bench, began_ms + 250 * i);
        assert_true (*told_ms == last_ms || last_ms == 0 || *told_ms == last_ms + 2000);
        times += *told_ms != last_ms;
        last_ms = *told_ms;
    }
    assert_int_equal (times, 4);
}

/* It was told silent, and then heard in a way that does not end the silence: it is due again by what was heard. */
TEST_ON (bench, a_silence_that_something_is_heard_in_does_not_keep_the_clock_busy)
{
    struct limits limits = { .join_ms = 600000, .suspect_ms = 2000, .lost_ms = 60000 };
    bench_open_limited (bench, 0, &limits);
    join (bench, 0);
    struct host_soft_state *link = &bench->coord->soft.hosts[0];
    for (uint32_t i = 0; i < 12 && !link->suspected; i++)
        tick (bench, bench->now_ms + 250);
    assert_true (link->suspected);
    for (uint32_t i = 0; i < 12; i++) {
        link->received_ms = link->told_ms + 250 * i;
        tick (bench, bench->now_ms + 250);
        assert_true (coord_deadline_ms (bench->coord) > bench->now_ms);
    }
}

/* Host 0 was last heard with beat 7, sent at 500,000 ms by its own clock, and then was silent for `silent_ms`. */
static enum silence silence_of_beat (struct bench *bench, uint64_t silent_ms, uint64_t beats, uint64_t own_ms)
{
    struct limits limits = { .join_ms = 600000, .suspect_ms = 2000, .lost_ms = 90000 };
    struct msg msg = { .kind = MSG_HEARTBEAT, .of.heartbeat = { .beat = 7, .asked_ms = 500000 } };
    bench_open_limited (bench, 0, &limits);
    join (bench, 0);
    tell (bench, 0, &msg);
    uint64_t began_ms = bench->now_ms;
    for (uint64_t at_ms = 500; at_ms < silent_ms; at_ms += 500) /* this coordinator runs on */
        tick (bench, began_ms + at_ms);
    bench->now_ms = began_ms + silent_ms - 1;
    msg.of.heartbeat.beat += beats;
    msg.of.heartbeat.asked_ms += own_ms;
    tell (bench, 0, &msg);
    enum silence silence = last_fact (bench, FACT_HOST_RETURNED)->of.host_suspected.silence;
    assert_int_equal (last_fact (bench, FACT_HOST_RETURNED)->of.host_suspected.silent_ms, silent_ms);
    bench_close (bench);
    *bench = (struct bench){ 0 };
    return silence;
}

/* A beat a second, which counts also where it is lost, and bears the time of its worker's clock. */
TEST_ON (bench, a_silence_is_whose_the_beats_say_it_was)
{
    static const struct {
        uint64_t silent_ms, beats, own_ms;
        enum silence silence;
    } rows[] = {
        { 12000, 12, 12000, SILENCE_CUT_OFF },
        { 12000, 1, 12000, SILENCE_STOOD },
        { 12000, 4, 12500, SILENCE_STOOD },   /* the first ones after it were lost */
        { 12000, 8, 12000, SILENCE_CUT_OFF }, /* it stood for less than half of it */
        { 12000, 1, 1000, SILENCE_LATE },     /* sent in time, or its clock stood as well */
        { 12000, 900, 12000, SILENCE_CUT_OFF },
        { 12000, 900, 1000, SILENCE_LATE }, /* a storm of phases proves no more */
        { 2100, 1, 2100, SILENCE_STOOD },
        { 2200, 2, 2000, SILENCE_LATE },
        { 3000, 3, 3000, SILENCE_CUT_OFF },
        { 12000, 0, 12000, SILENCE_NONE }, /* nonsense says nothing */
        { 12000, 5, (uint64_t) -1000, SILENCE_NONE },
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (silence_of_beat (bench, rows[i].silent_ms, rows[i].beats, rows[i].own_ms) != rows[i].silence)
            fail_msg ("row %u", i);
    bench_open_limited (bench, 0, NULL);
}

/* Its beats began anew: nothing is known of those before. A WELCOME answers what was last heard. */
TEST_ON (bench, who_says_hello_after_a_silence_tells_not_whose_it_was)
{
    struct limits limits = { .join_ms = 600000, .suspect_ms = 2000, .lost_ms = 90000 };
    struct msg msg = { .kind = MSG_HEARTBEAT, .of.heartbeat = { .beat = 7, .asked_ms = 500000 } };
    struct msg hello = { .kind = MSG_HELLO,
                         .of.hello = { .version = TEXT_LIT ("t"), .pid = 100, .pid_start = 1, .asked_ms = 512000 } };
    bench_open_limited (bench, 0, &limits);
    join (bench, 0);
    tell (bench, 0, &msg);
    for (uint64_t from_ms = bench->now_ms, i = 1; i < 24; i++)
        tick (bench, from_ms + 500 * i);
    tell (bench, 0, &hello);
    assert_int_equal (last_fact (bench, FACT_HOST_RETURNED)->of.host_suspected.silence, SILENCE_NONE);
    assert_int_equal (bench->answered_ms, 512000);
}

static void answer (struct bench *bench, uint32_t host, enum reach ssh, enum reach ping)
{
    struct fact_host_asked asked = {
        .host = host, .address = TEXT_LIT ("10.77.0.15"), .port = 22, .ssh = ssh, .ping = ping
    };
    step (bench, &(struct core_input){ .kind = IN_HOST_ASKED, .host = host, .asked = &asked });
}

static uint32_t asks (const struct bench *bench)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < bench->effects_n; i++)
        n += bench->effects[i].kind == FX_ASK_HOST;
    return n;
}

/* Host 0 stays silent, the others speak. */
static void be_silent (struct bench *bench, uint64_t until_ms)
{
    struct holding held = { .key = running, .state = ATTEMPT_RUNNING };
    while (bench->now_ms < until_ms) {
        uint64_t next_ms = least_u64 (coord_deadline_ms (bench->coord), bench->now_ms + 1000);
        tick (bench, next_ms > bench->now_ms ? next_ms : bench->now_ms + 1);
        for (uint32_t host = 1; host < HOSTS; host++)
            beat (bench, host, &held);
    }
}

static void bench_open_asking (struct bench *bench, enum launcher launcher)
{
    *bench = (struct bench){ .now_ms = 1000 };
    sample_plan (&bench->plan, HOSTS, &bench->arena);
    bench->plan.limits = (struct limits){ .join_ms = 60000, .suspect_ms = 5000, .lost_ms = 30000, .cascade_ms = 1000 };
    bench->plan.launcher = launcher;
    bench->plan.rungs.items[0].timeout_ms = 3600000;
    bench->plan.rungs.n = 1;
    bench->plan.rungs.items[0].warm = WARM_NONE;
    bench_begin (bench);
    all_join (bench);
}

/* At half of the limit, once a silence; the answer is a part of the reason of the loss. */
TEST_ON (bench, a_silent_host_is_asked_once_before_it_is_given_up)
{
    bench_open_asking (bench, LAUNCHER_SSH);
    uint64_t silent_ms = bench->now_ms;
    be_silent (bench, silent_ms + 14000);
    assert_int_equal (asks (bench), 0);
    be_silent (bench, silent_ms + 16000);
    assert_int_equal (asks (bench), 1);
    assert_int_equal (bench->effects[bench->effects_n - 1].host, 0);
    answer (bench, 0, REACH_SILENT, REACH_SILENT);
    const struct fact_host_asked *asked = &last_fact (bench, FACT_HOST_ASKED)->of.host_asked;
    assert_text (asked->address, "10.77.0.15");
    be_silent (bench, silent_ms + 32000);
    assert_int_equal (asks (bench), 1);
    assert_text (last_fact (bench, FACT_HOST_LOST)->of.host_lost.why,
                 "silent for 30 s; it answers nothing (ssh port, ping)");
    for (uint32_t host = 1; host < HOSTS; host++)
        end (bench, host, ENDING_EXITED);
    const struct fact_pass_ended *ended = &last_fact (bench, FACT_PASS_ENDED)->of.pass_ended;
    assert_text (ended->verdicts.items[0].cause, "silent for 30 s; it answers nothing (ssh port, ping)");
    assert_text (ended->verdicts.items[0].next, "look at its console first: is it up?");
}

/* The verdict waits for no answer, and says as much as before. */
TEST_ON (bench, a_host_whose_machine_says_nothing_is_given_up_as_ever)
{
    bench_open_asking (bench, LAUNCHER_SSH);
    uint64_t silent_ms = bench->now_ms;
    be_silent (bench, silent_ms + 32000);
    assert_int_equal (asks (bench), 1);
    assert_text (last_fact (bench, FACT_HOST_LOST)->of.host_lost.why, "silent for 30 s");
    answer (bench, 0, REACH_ANSWERS, REACH_NOT_ASKED); /* late: recorded, and nothing else */
    assert_int_equal (count (bench, FACT_HOST_ASKED), 1);
    assert_int_equal (count (bench, FACT_HOST_LOST), 1);
}

TEST_ON (bench, hosts_of_this_machine_are_not_asked)
{
    bench_open_asking (bench, LAUNCHER_LOCAL);
    be_silent (bench, bench->now_ms + 32000);
    assert_int_equal (asks (bench), 0);
    assert_non_null (last_fact (bench, FACT_HOST_LOST));
}

TEST_ON (bench, an_answer_is_of_its_own_silence_and_answers_do_not_fill_the_journal)
{
    struct holding held = { .key = running, .state = ATTEMPT_RUNNING };
    bench_open_asking (bench, LAUNCHER_JOIN);
    be_silent (bench, bench->now_ms + 16000);
    assert_int_equal (asks (bench), 1);
    beat (bench, 0, &held);
    answer (bench, 0, REACH_REFUSES, REACH_NOT_ASKED); /* it is there again */
    assert_null (last_fact (bench, FACT_HOST_ASKED));
    be_silent (bench, bench->now_ms + 16000);
    answer (bench, 0, REACH_REFUSES, REACH_NOT_ASKED);
    assert_int_equal (count (bench, FACT_HOST_ASKED), 1);
    beat (bench, 0, &held);
    assert_int_equal (bench->coord->state->hosts.items[0].asked.ssh, REACH_NOT_ASKED);
    for (uint32_t i = 0; i < 30; i++) {
        be_silent (bench, bench->now_ms + 16000);
        beat (bench, 0, &held);
    }
    assert_int_equal (asks (bench), 16);
    assert_null (last_fact (bench, FACT_HOST_LOST));
}

TEST_ON (bench, the_sentence_counts_time_without_a_coordinator)
{
    bench_open (bench, 0);
    bench->facts[bench->facts_n - 1].wall_ms = 5000;
    restart_at (bench, 5000 + 600000);
    assert_has (status_sentence_of_run (bench->coord, &t->arena), " in 10 min");
}

TEST_ON (bench, an_unknown_rung_in_a_journal_is_not_followed)
{
    struct state before;
    bench_open (bench, 0);
    struct fact bad = { .kind = FACT_PASS_ENDED, .index = bench->facts_n + 1 };
    uint32_t host = 4000;
    bad.of.pass_ended.key.rung = 63;
    coord_apply (bench->coord, &bad);
    record_copy (&state_record, &before, bench->coord->state, &t->arena);
    bad = (struct fact){ .kind = FACT_PASS_BEGAN, .index = bench->facts_n + 1, .of.pass_began = { .key = running } };
    bad.of.pass_began.hosts.items = &host;
    bad.of.pass_began.hosts.n = 1;
    coord_apply (bench->coord, &bad);
    assert_true (record_equal (&state_record, &before, bench->coord->state));
}

/* A journal is trusted no more than a host: what does not fit to what was before changes nothing. */
TEST_ON (bench, facts_that_do_not_fit_change_nothing)
{
    struct holding held = { .key = running, .state = ATTEMPT_RUNNING };
    struct state before;
    struct verdict of_nobody = { .host = 4000, .outcome = OUTCOME_FAILED };
    char *longest = arena_array (&t->arena, WORD_MAX_BYTES + 2, 1);
    memset (longest, 'g', WORD_MAX_BYTES + 1);
    bench_open (bench, 2);
    all_join (bench);
    beat (bench, 0, &held);
    for (uint32_t host = 0; host < HOSTS; host++)
        at_gate (bench, host, GATE_SHARE, "v");
    end_with (bench, 1, ENDING_EXITED, 1);
    struct fact bad[] = {
        { .kind = FACT_GATE_OPENED, .of.gate_opened = { .gate = TEXT_LIT ("program"), .value = TEXT_LIT ("w") } },
        { .kind = FACT_GATE_OPENED, .of.gate_opened = { .gate = text_of (longest) } },
        { .kind = FACT_ATTEMPT_ENDED, .of.attempt_ended = { .host = 1, .result = { .key = running } } },
        { .kind = FACT_ATTEMPT_ENDED, .of.attempt_ended = { .host = 4000, .result = { .key = running } } },
        { .kind = FACT_PASS_ENDED, .of.pass_ended = { .key = { 0, PASS_RESTORED + 1, 1 } } },
        { .kind = FACT_PASS_ENDED, .of.pass_ended = { .key = running, .verdicts = { &of_nobody, 1 } } },
        { .kind = FACT_PASS_SKIPPED, .of.pass_skipped = { .key = { 63, PASS_COLD, 1 } } },
        { .kind = FACT_HOSTS_LEFT_BEHIND, .of.hosts_left_behind = { .verdicts = { &of_nobody, 1 } } },
        { .kind = FACT_SUSPECTS_NAMED, .of.suspects_named = { .passes = 1 } },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bad[i].index = bench->facts_n + 1;
        if (i == 0)
            coord_apply (bench->coord, &bad[i]);
        record_copy (&state_record, &before, bench->coord->state, &t->arena);
        coord_apply (bench->coord, &bad[i]);
        if (!record_equal (&state_record, &before, bench->coord->state))
            fail_msg ("fact %zu", i);
    }
    assert_text (bench->coord->state->pass.gates.items[0].value, "v");
}

TEST_ON (bench, a_pass_has_so_many_gates_and_no_more)
{
    bench_open (bench, 2);
    all_join (bench);
    for (uint32_t i = 0; i <= GATES_MAX; i++) {
        struct holding held = {
            .key = running, .state = ATTEMPT_AT_GATE, .gate = text_format (&t->arena, "g%u", i), .gate_mode = GATE_SHARE
        };
        beat (bench, 0, &held);
        assert_int_equal (bench->coord->soft.gates_n, i < GATES_MAX ? i + 1 : GATES_MAX);
    }
    struct fact opened = { .kind = FACT_GATE_OPENED, .index = bench->facts_n + 1 };
    for (uint32_t i = 0; i <= GATES_MAX; i++) {
        opened.of.gate_opened.gate = text_format (&t->arena, "g%u", i);
        coord_apply (bench->coord, &opened);
    }
    assert_int_equal (bench->coord->state->pass.gates.n, GATES_MAX);
}

TEST_ON (bench, who_was_just_looked_at_is_not_looked_at_again)
{
    struct holding held = { .key = running, .state = ATTEMPT_RUNNING };
    struct core_input asked = { .kind = IN_LOOK };
    bench_open (bench, 0);
    all_join (bench);
    beat (bench, 0, &held);
    step (bench, &asked);
    step (bench, &asked);
    assert_int_equal (bench->said[MSG_LOOK], HOSTS);
    bench->now_ms += 2000;
    step (bench, &asked);
    assert_int_equal (bench->said[MSG_LOOK], 2 * HOSTS);
}
