/* links: worker_core */
#include "member_fixture.h"
#include "test.h"

/* ---- joining ---- */

TEST_ON (b, hello_is_repeated_until_welcome)
{
    assert_int_equal (member_deadline_ms (b->member), 0);
    tick (b, 0);
    const struct msg *hello = sent (b, MSG_HELLO);
    assert_non_null (hello);
    assert_true (text_is (hello->of.hello.host, "h0") && text_is (hello->of.hello.boot_id, "boot"));
    assert_int_equal (hello->of.hello.pid, 42);
    assert_int_equal (hello->of.hello.pid_start, 99);
    tick (b, 999);
    assert_null (sent (b, MSG_HELLO));
    assert_int_equal (member_deadline_ms (b->member), b->now_ms + 1);
    tick (b, 1);
    assert_non_null (sent (b, MSG_HELLO));
    receive_welcome (b);
    assert_non_null (sent (b, MSG_HEARTBEAT));
    assert_int_equal (member_session (b->member), 7);
    assert_int_equal (member_epoch (b->member), 1);
    assert_int_equal (member_limits (b->member)->orphan_ms, 20000);
    tick (b, 5000);
    assert_null (sent (b, MSG_HELLO));
}

TEST_ON (b, heartbeat_comes_once_a_period_and_counts)
{
    join (b);
    uint64_t beat = sent (b, MSG_HEARTBEAT)->of.heartbeat.beat;
    tick (b, 999);
    assert_null (sent (b, MSG_HEARTBEAT));
    tick (b, 1);
    assert_int_equal (sent (b, MSG_HEARTBEAT)->of.heartbeat.beat, beat + 1);
    assert_int_equal (member_deadline_ms (b->member), b->now_ms + 1000);
}

TEST_ON (b, nothing_runs_before_welcome)
{
    tick (b, 0);
    receive_run (b, 1);
    assert_null (effect_of (b, MEMBER_START, 0));
    b->session = 0;
    receive_run (b, 1);
    assert_null (effect_of (b, MEMBER_START, 0));
}

TEST_ON (b, welcome_without_session_is_ignored)
{
    tick (b, 0);
    b->session = 0;
    receive_welcome (b);
    tick (b, 1000);
    assert_non_null (sent (b, MSG_HELLO));
}

TEST_ON (b, refusal_ends_the_worker_whatever_its_version)
{
    tick (b, 0);
    struct msg msg = said (b, MSG_REFUSE);
    msg.major = PROTOCOL_MAJOR + 3;
    msg.session = msg.seq = 0;
    msg.of.refuse.why = TEXT_LIT ("another version");
    receive (b, &msg);
    assert_text (effect_of (b, MEMBER_EXIT, 0)->text, "another version");
    tick (b, 10000);
    assert_int_equal (b->out.n, 0);
    assert_true (member_deadline_ms (b->member) == UINT64_MAX);
}

TEST_ON (b, strangers_are_not_received)
{
    join (b);
    static const struct {
        const char *what;
        uint32_t major;
        uint64_t epoch, session;
        const char *run;
    } rows[] = {
        { "another run", PROTOCOL_MAJOR, 1, 7, "fedcba9876543210" },
        { "an older epoch", PROTOCOL_MAJOR, 0, 7, "0123456789abcdef" },
        { "another session", PROTOCOL_MAJOR, 1, 6, "0123456789abcdef" },
        { "another version", PROTOCOL_MAJOR + 1, 1, 7, "0123456789abcdef" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct msg msg = said (b, MSG_RUN);
        msg.major = rows[i].major;
        msg.epoch = rows[i].epoch;
        msg.session = rows[i].session;
        msg.run_id = (struct text){ rows[i].run, RUN_ID_BYTES };
        msg.of.run.key = key_of (1);
        receive (b, &msg);
        if (effect_of (b, MEMBER_START, 0))
            fail_msg ("heard %s", rows[i].what);
    }
    run (b, 1); /* the same from the right one */
}

TEST_ON (b, a_workers_own_words_are_not_obeyed)
{
    join (b);
    struct msg msg = said (b, MSG_BYE);
    msg.epoch = 9;
    receive (b, &msg);
    assert_int_equal (member_epoch (b->member), 1);
}

/* ---- running ---- */

TEST_ON (b, repeated_and_reordered_messages_are_dropped)
{
    join (b);
    struct msg first = said (b, MSG_RUN), second = said (b, MSG_RUN);
    first.of.run.key = key_of (1);
    second.of.run.key = key_of (2);
    receive (b, &second);
    assert_int_equal (effect_of (b, MEMBER_START, 0)->msg->of.run.key.attempt, 2);
    receive (b, &first); /* overtaken: not the coordinator's latest word */
    assert_null (effect_of (b, MEMBER_STOP, 0));
    receive (b, &second);
    assert_int_equal (b->out.n, 0);
    assert_int_equal (member_seen_seq (b->member), second.seq);
}

TEST_ON (b, repeated_run_is_answered_with_its_state)
{
    join (b);
    run (b, 1);
    tick (b, 100);
    receive_run (b, 1);
    assert_null (effect_of (b, MEMBER_START, 0));
    assert_int_equal (held (b, 0)->state, ATTEMPT_RUNNING);
    assert_int_equal (held (b, 0)->key.attempt, 1);
}

TEST_ON (b, phase_is_told_at_once_with_its_age)
{
    join (b);
    run (b, 1);
    tick (b, 100);
    step (b, &(struct member_input){ .kind = MEMBER_PHASE, .text = TEXT_LIT ("compile") });
    assert_text (held (b, 0)->phase, "compile");
    assert_int_equal (held (b, 0)->phase_ms, 0);
    tick (b, 1000);
    assert_int_equal (held (b, 0)->phase_ms, 1000);
}

/* The coordinator's clock shows `wall_ms` in the middle of a round trip that began at `asked_ms` and ends now. */
static void answer_clock (struct bench *bench, uint64_t asked_ms, uint64_t wall_ms)
{
    struct msg msg = said (bench, MSG_WELCOME);
    msg.of.welcome.heartbeat_ms = 1000;
    msg.of.welcome.asked_ms = asked_ms;
    msg.of.welcome.wall_ms = wall_ms;
    receive (bench, &msg);
}

static void expect_offset (struct bench *bench, uint64_t wall_ms, int64_t ms, uint64_t error_ms)
{
    struct clock_offset offset = member_clock_offset (bench->member, bench->now_ms, wall_ms);
    assert_int_equal (offset.ms, ms);
    assert_int_equal (offset.error_ms, error_ms);
}

enum { HOUR_MS = 3600 * 1000 };
static const uint64_t wall_ms = 1700000000000; /* of the coordinator at bench->now_ms == 0 */

TEST_ON (b, its_clock_is_held_against_the_coordinators)
{
    tick (b, 0);
    uint64_t asked_ms = b->now_ms;
    assert_int_equal (sent (b, MSG_HELLO)->of.hello.asked_ms, asked_ms);
    expect_offset (b, wall_ms, 0, 0); /* nothing came yet: not known */
    b->now_ms += 40;
    answer_clock (b, asked_ms, wall_ms + asked_ms + 20);
    expect_offset (b, wall_ms + b->now_ms, 0, 22);
    expect_offset (b, wall_ms + b->now_ms + 88, 0, 22); /* what it may be wrong is no small part of it */
    expect_offset (b, wall_ms + b->now_ms + 89, 89, 22);
    expect_offset (b, wall_ms + b->now_ms - HOUR_MS, -HOUR_MS, 22);
    b->now_ms += 90000; /* whatever was set meanwhile: it is now that counts */
    expect_offset (b, wall_ms + b->now_ms + HOUR_MS, HOUR_MS, 22);
}

TEST_ON (b, the_shortest_round_trip_tells_the_offset)
{
    tick (b, 0);
    uint64_t asked_ms = b->now_ms;
    b->now_ms += 3000;
    answer_clock (b, asked_ms, wall_ms + asked_ms); /* written at once, and then 3 s on its way */
    expect_offset (b, wall_ms + b->now_ms, 0, 0);   /* 1.5 s, give or take 1.5 s: not known */
    expect_offset (b, wall_ms + b->now_ms + HOUR_MS, HOUR_MS + 1500, 1502);
    tick (b, 1000);
    asked_ms = sent (b, MSG_HEARTBEAT)->of.heartbeat.asked_ms;
    assert_int_equal (asked_ms, b->now_ms);
    b->now_ms += 10;
    answer_clock (b, asked_ms, wall_ms + asked_ms + 5);
    expect_offset (b, wall_ms + b->now_ms + HOUR_MS, HOUR_MS, 7);
    b->now_ms += 500;
    answer_clock (b, b->now_ms - 400, wall_ms); /* a longer one says no more */
    expect_offset (b, wall_ms + b->now_ms + HOUR_MS, HOUR_MS, 7);
    b->epoch++; /* another coordinator, maybe on another machine, whose clock counts now */
    b->session++;
    answer_clock (b, b->now_ms - 400, wall_ms + b->now_ms - 200 + HOUR_MS);
    expect_offset (b, wall_ms + b->now_ms + HOUR_MS, 0, 202);
}

TEST_ON (b, what_answers_nothing_tells_no_offset)
{
    tick (b, 0);
    b->now_ms += 20;
    answer_clock (b, 0, wall_ms);
    answer_clock (b, b->now_ms - 10, 0);
    answer_clock (b, b->now_ms + 1, wall_ms);
    answer_clock (b, UINT64_MAX, wall_ms);
    expect_offset (b, wall_ms, 0, 0);
}

TEST_ON (b, a_storm_of_phases_is_thinned)
{
    join (b);
    run (b, 1);
    uint32_t beats = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        b->now_ms += i % 10 == 0;
        step (b, &(struct member_input){ .kind = MEMBER_PHASE, .text = TEXT_LIT ("x") });
        beats += sent (b, MSG_HEARTBEAT) != NULL;
    }
    assert_in_range (beats, 1, 8); /* 100 ms */
}

TEST_ON (b, gate_opens_once_and_only_by_its_name)
{
    join (b);
    run (b, 1);
    receive_go (b, "start");
    assert_null (effect_of (b, MEMBER_GO, 0));
    b->now_ms += 100;
    reach_gate (b, "start");
    assert_int_equal (held (b, 0)->state, ATTEMPT_AT_GATE);
    assert_int_equal (held (b, 0)->gate_mode, GATE_SHARE);
    assert_true (text_is (held (b, 0)->gate, "start") && text_is (held (b, 0)->gate_value, "mine"));
    receive_go (b, "other");
    assert_null (effect_of (b, MEMBER_GO, 0));
    receive_go (b, "start");
    assert_text (effect_of (b, MEMBER_GO, 0)->text, "start");
    assert_text (effect_of (b, MEMBER_GO, 0)->value, "opened");
    receive_go (b, "start");
    assert_null (effect_of (b, MEMBER_GO, 0));
    tick (b, 1000);
    assert_int_equal (held (b, 0)->state, ATTEMPT_RUNNING);
    assert_int_equal (held (b, 0)->gate.len, 0);
}

TEST_ON (b, where_a_program_stands_is_asked_once_and_told_for_a_while)
{
    join (b);
    run (b, 1);
    struct msg look = said (b, MSG_LOOK);
    look.of.look.key = key_of (2);
    receive (b, &look);
    assert_null (effect_of (b, MEMBER_LOOK, 0)); /* of another attempt */
    look = said (b, MSG_LOOK);
    look.of.look.key = key_of (1);
    receive (b, &look);
    assert_non_null (effect_of (b, MEMBER_LOOK, 0));
    step (b, &(struct member_input){ .kind = MEMBER_STAND, .text = TEXT_LIT ("main thread: x") });
    tick (b, 1000);
    assert_text (held (b, 0)->stand, "main thread: x");
    assert_int_equal (held (b, 0)->stand_ms, 1000);
    tick (b, 5000);
    assert_int_equal (held (b, 0)->stand.len, 0);
    reach_gate (b, "start");
    look = said (b, MSG_LOOK);
    look.of.look.key = key_of (1);
    receive (b, &look);
    assert_null (effect_of (b, MEMBER_LOOK, 0)); /* it waits for others */
}

TEST_ON (b, result_is_kept_before_it_is_sent)
{
    join (b);
    run (b, 1);
    end (b, 1, ENDING_EXITED);
    assert_int_equal (b->out.items[0].kind, MEMBER_KEEP);
    assert_int_equal (b->out.items[0].result->ending, ENDING_EXITED);
    assert_int_equal (b->out.items[1].kind, MEMBER_SEND);
    assert_int_equal (b->out.items[1].msg->kind, MSG_RESULT);
    assert_text (b->out.items[1].msg->of.result.phase, "run");
}

TEST_ON (b, result_is_sent_again_until_acknowledged)
{
    join (b);
    run (b, 1);
    end (b, 1, ENDING_EXITED);
    for (uint32_t i = 0; i < 3; i++) {
        tick (b, 1000);
        assert_non_null (sent (b, MSG_RESULT));
        assert_int_equal (held (b, 0)->state, ATTEMPT_ENDED);
    }
    receive_ack (b, 1);
    assert_int_equal (effect_of (b, MEMBER_FORGET, 0)->result->key.attempt, 1);
    tick (b, 1000);
    assert_null (sent (b, MSG_RESULT));
    assert_int_equal (sent (b, MSG_HEARTBEAT)->of.heartbeat.holdings.n, 0);
    receive_ack (b, 1);
    assert_null (effect_of (b, MEMBER_FORGET, 0));
}

TEST_ON (b, ended_run_is_answered_with_its_result_until_acknowledged)
{
    join (b);
    run (b, 1);
    end (b, 1, ENDING_EXITED);
    receive_run (b, 1);
    assert_non_null (sent (b, MSG_RESULT));
    assert_null (effect_of (b, MEMBER_START, 0));
    receive_ack (b, 1);
    receive_run (b, 1);
    assert_null (effect_of (b, MEMBER_START, 0));
    assert_null (sent (b, MSG_RESULT));
}

TEST_ON (b, attempts_are_remembered_for_256_others)
{
    join (b);
    for (uint32_t i = 1; i <= 256; i++) {
        run (b, i);
        end (b, i, ENDING_EXITED);
        receive_ack (b, i);
    }
    receive_run (b, 1);
    assert_null (effect_of (b, MEMBER_START, 0));
    run (b, 257);
    end (b, 257, ENDING_EXITED);
    receive_ack (b, 257);
    receive_run (b, 1);
    assert_non_null (effect_of (b, MEMBER_START, 0));
}

TEST_ON (b, another_run_waits_until_the_old_one_is_gone)
{
    join (b);
    run (b, 1);
    receive_run (b, 2);
    const struct member_effect *stop = effect_of (b, MEMBER_STOP, 0);
    assert_non_null (stop);
    assert_false (stop->hard);
    assert_int_equal (stop->ending, ENDING_CANCELLED);
    assert_null (effect_of (b, MEMBER_START, 0));
    receive_run (b, 2);
    assert_int_equal (b->out.n, 0);
    end (b, 1, ENDING_CANCELLED);
    assert_int_equal (b->out.items[0].kind, MEMBER_KEEP);
    assert_int_equal (sent (b, MSG_RESULT)->of.result.key.attempt, 1);
    const struct member_effect *start = effect_of (b, MEMBER_START, 0);
    assert_int_equal (start->msg->of.run.key.attempt, 2);
    assert_text (start->msg->of.run.nonce, "00112233445566778899aabbccddeeff");
    tick (b, 1000);
    assert_int_equal (held (b, 0)->key.attempt, 1);
    assert_int_equal (held (b, 1)->key.attempt, 2);
    assert_int_equal (held (b, 1)->state, ATTEMPT_RUNNING);
}

TEST_ON (b, results_nobody_takes_hold_up_new_runs)
{
    join (b);
    for (uint32_t i = 1; i <= 4; i++) {
        run (b, i);
        end (b, i, ENDING_EXITED);
    }
    receive_run (b, 5);
    assert_null (effect_of (b, MEMBER_START, 0));
    receive_ack (b, 2);
    assert_int_equal (effect_of (b, MEMBER_START, 0)->msg->of.run.key.attempt, 5);
}

/* ---- stopping ---- */

TEST_ON (b, cancel_is_polite_once_and_then_hard_once)
{
    join (b);
    run (b, 1);
    receive_cancel (b, 1, false);
    assert_false (effect_of (b, MEMBER_STOP, 0)->hard);
    receive_cancel (b, 1, false);
    assert_null (effect_of (b, MEMBER_STOP, 0));
    receive_cancel (b, 1, true);
    assert_true (effect_of (b, MEMBER_STOP, 0)->hard);
    receive_cancel (b, 1, true);
    assert_null (effect_of (b, MEMBER_STOP, 0));
    tick (b, 1000);
    assert_int_equal (held (b, 0)->state, ATTEMPT_STOPPING);
    end (b, 1, ENDING_CANCELLED);
    assert_non_null (sent (b, MSG_RESULT));
}

TEST_ON (b, cancel_of_what_is_not_held_is_answered_by_heartbeat)
{
    join (b);
    tick (b, 100);
    receive_cancel (b, 9, false);
    assert_null (effect_of (b, MEMBER_STOP, 0));
    assert_int_equal (sent (b, MSG_HEARTBEAT)->of.heartbeat.holdings.n, 0);
}

TEST_ON (b, cancel_of_a_waiting_run_removes_it)
{
    join (b);
    run (b, 1);
    receive_run (b, 2);
    receive_cancel (b, 2, false);
    end (b, 1, ENDING_CANCELLED);
    assert_null (effect_of (b, MEMBER_START, 0));
}

TEST_ON (b, a_gate_reached_while_stopping_stays_shut)
{
    join (b);
    run (b, 1);
    receive_cancel (b, 1, false);
    reach_gate (b, "late");
    receive_go (b, "late");
    assert_null (effect_of (b, MEMBER_GO, 0));
}

/* Why it did not end: who is to blame depends on it. */
TEST_ON (b, a_program_stopped_at_a_gate_has_not_left_it)
{
    join (b);
    run (b, 1);
    reach_gate (b, "start");
    receive_cancel (b, 1, false);
    tick (b, 1000);
    assert_int_equal (held (b, 0)->state, ATTEMPT_STOPPING);
    assert_text (held (b, 0)->gate, "start");
    receive_go (b, "start");
    assert_null (effect_of (b, MEMBER_GO, 0));
}

TEST_ON (b, shutdown_kills_then_says_bye_and_leaves)
{
    join (b);
    run (b, 1);
    struct msg msg = said (b, MSG_SHUTDOWN);
    msg.of.shutdown.why = TEXT_LIT ("the run is over");
    receive (b, &msg);
    assert_true (effect_of (b, MEMBER_STOP, 0)->hard);
    assert_null (effect_of (b, MEMBER_EXIT, 0));
    receive_run (b, 2);
    assert_null (effect_of (b, MEMBER_START, 0));
    end (b, 1, ENDING_CANCELLED);
    assert_non_null (effect_of (b, MEMBER_KEEP, 0));
    assert_non_null (sent (b, MSG_RESULT));
    assert_text (sent (b, MSG_BYE)->of.bye.why, "the run is over");
    assert_text (effect_of (b, MEMBER_EXIT, 0)->text, "the run is over");
}

TEST_ON (b, shutdown_is_heard_by_who_only_came_to_join)
{
    tick (b, 0);
    struct msg msg = said (b, MSG_SHUTDOWN);
    msg.of.shutdown.why = TEXT_LIT ("the run is over");
    receive (b, &msg);
    assert_text (effect_of (b, MEMBER_EXIT, 0)->text, "the run is over");
    assert_null (sent (b, MSG_BYE)); /* it never was in a session to leave */
}

TEST_ON (b, shutdown_does_not_wait_for_ever)
{
    join (b);
    run (b, 1);
    struct msg msg = said (b, MSG_SHUTDOWN);
    receive (b, &msg);
    uint64_t by_ms = member_deadline_ms (b->member);
    assert_true (by_ms < UINT64_MAX);
    b->now_ms = by_ms;
    tick (b, 0);
    assert_non_null (effect_of (b, MEMBER_EXIT, 0));
}

TEST_ON (b, a_signal_to_the_worker_ends_it_like_a_shutdown)
{
    join (b);
    step (b, &(struct member_input){ .kind = MEMBER_LEAVE, .text = TEXT_LIT ("SIGTERM") });
    assert_text (sent (b, MSG_BYE)->of.bye.why, "SIGTERM");
    assert_non_null (effect_of (b, MEMBER_EXIT, 0));
}

static void leave (struct bench *bench, const char *why)
{
    step (bench, &(struct member_input){ .kind = MEMBER_LEAVE, .text = text_of (why), .ending = ENDING_TERMINATED });
}

TEST_ON (b, a_worker_that_is_told_to_end_stops_its_program_politely_and_the_second_time_at_once)
{
    join (b);
    run (b, 1);
    leave (b, "SIGTERM");
    assert_false (effect_of (b, MEMBER_STOP, 0)->hard);
    assert_int_equal (effect_of (b, MEMBER_STOP, 0)->ending, ENDING_TERMINATED);
    assert_null (effect_of (b, MEMBER_EXIT, 0));
    assert_true (member_deadline_ms (b->member) >= b->now_ms + 2 * 1000); /* politeness takes twice stop_ms */
    leave (b, "SIGTERM");
    assert_true (effect_of (b, MEMBER_STOP, 0)->hard);
    end (b, 1, ENDING_CANCELLED);
    assert_text (sent (b, MSG_BYE)->of.bye.why, "SIGTERM");
    assert_non_null (effect_of (b, MEMBER_EXIT, 0));
}

TEST_ON (b, whoever_is_leaving_politely_is_hurried_by_a_shutdown)
{
    join (b);
    run (b, 1);
    leave (b, "SIGTERM");
    struct msg msg = said (b, MSG_SHUTDOWN);
    receive (b, &msg);
    assert_true (effect_of (b, MEMBER_STOP, 0)->hard);
}

/* ---- coming back ---- */

TEST_ON (b, rehello_mid_run_keeps_the_program_and_tells_of_it)
{
    join (b);
    run (b, 1);
    b->now_ms += 50;
    reach_gate (b, "start");
    struct msg msg = said (b, MSG_REHELLO);
    msg.session = msg.seq = 0;
    receive (b, &msg);
    assert_null (effect_of (b, MEMBER_STOP, 0));
    const struct msg *hello = sent (b, MSG_HELLO);
    assert_non_null (hello);
    assert_int_equal (hello->of.hello.holdings.n, 1);
    assert_int_equal (hello->of.hello.holdings.items[0].state, ATTEMPT_AT_GATE);
    assert_int_equal (member_session (b->member), 0);
    b->session = 8;
    b->seq = 0;
    receive_welcome (b);
    receive_go (b, "start");
    assert_non_null (effect_of (b, MEMBER_GO, 0));
}

TEST_ON (b, a_newer_coordinator_is_told_everything_and_the_older_refused)
{
    join (b);
    run (b, 1);
    struct msg old = said (b, MSG_CANCEL);
    old.of.cancel.key = key_of (1);
    b->epoch = 2;
    receive_run (b, 5);
    assert_null (effect_of (b, MEMBER_START, 0));
    assert_null (effect_of (b, MEMBER_STOP, 0));
    assert_int_equal (sent (b, MSG_HELLO)->of.hello.holdings.items[0].key.attempt, 1);
    assert_int_equal (member_epoch (b->member), 2);
    b->session = 1;
    b->seq = 0;
    receive_welcome (b);
    old.session = 1;
    old.seq = 100;
    receive (b, &old);
    assert_null (effect_of (b, MEMBER_STOP, 0));
}

/* Once a later coordinator has spoken, whatever the earlier one says is lost, and it does not count as being heard. */
TEST_ON (b, nothing_that_an_older_coordinator_says_is_obeyed)
{
    static const enum msg_kind kinds[] = { MSG_WELCOME, MSG_REFUSE, MSG_REHELLO,    MSG_RUN,
                                           MSG_GO,      MSG_CANCEL, MSG_RESULT_ACK, MSG_SHUTDOWN };
    b->epoch = 2;
    join (b);
    run (b, 1);
    reach_gate (b, "start");
    struct bench old = *b;
    old.epoch = 1;
    for (uint32_t round = 0; round < 19; round++) {
        tick (b, 1000);
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
            struct msg msg = said (&old, kinds[i]);
            msg.seq = 1000 + old.seq;
            if (kinds[i] == MSG_WELCOME)
                msg.session = 1000 + old.seq; /* sessions are numbered by journals, and it has one of its own */
            if (kinds[i] == MSG_RUN)
                msg.of.run = (struct msg_run){ .key = key_of (50 + round), .nonce = TEXT_LIT ("00") };
            if (kinds[i] == MSG_GO)
                msg.of.go = (struct msg_go){ .key = key_of (1), .gate = TEXT_LIT ("start") };
            if (kinds[i] == MSG_CANCEL)
                msg.of.cancel = (struct msg_cancel){ .key = key_of (1), .hard = true };
            if (kinds[i] == MSG_RESULT_ACK)
                msg.of.ack_result.key = key_of (1);
            receive (b, &msg);
            assert_int_equal (b->out.n, 0);
            assert_int_equal (member_epoch (b->member), 2);
            assert_int_equal (member_session (b->member), 7);
        }
    }
    tick (b, 1000); /* 20 s after the last word of the one that is obeyed */
    assert_int_equal (effect_of (b, MEMBER_STOP, 0)->ending, ENDING_ORPHANED);
}

TEST_ON (b, an_older_coordinator_cannot_take_a_worker_that_is_joining_again)
{
    b->epoch = 2;
    join (b);
    run (b, 1);
    receive (b, &(struct msg){ .kind = MSG_REHELLO, .major = PROTOCOL_MAJOR, .run_id = run_id, .epoch = 2 });
    assert_int_equal (member_session (b->member), 0);
    b->epoch = 1;
    receive_welcome (b);
    assert_int_equal (member_session (b->member), 0);
    tick (b, 1000);
    assert_non_null (sent (b, MSG_HELLO)); /* still asking */
    b->epoch = 2;
    receive_welcome (b);
    assert_int_equal (member_session (b->member), 7);
}

TEST_ON (b, unacknowledged_result_is_sent_after_every_welcome)
{
    join (b);
    run (b, 1);
    struct msg msg = said (b, MSG_REHELLO);
    receive (b, &msg);
    end (b, 1, ENDING_EXITED);
    assert_non_null (effect_of (b, MEMBER_KEEP, 0));
    assert_null (sent (b, MSG_RESULT));
    receive_welcome (b);
    assert_non_null (sent (b, MSG_RESULT));
    receive (b, &(struct msg){ .kind = MSG_REHELLO, .major = PROTOCOL_MAJOR, .run_id = run_id, .epoch = 1 });
    receive_welcome (b); /* at the same instant: what went into the old session may be lost */
    assert_non_null (sent (b, MSG_RESULT));
}

TEST_ON (b, a_waiting_run_does_not_outlive_its_session)
{
    join (b);
    run (b, 1);
    receive_run (b, 2);
    struct msg msg = said (b, MSG_REHELLO);
    receive (b, &msg);
    end (b, 1, ENDING_CANCELLED);
    assert_null (effect_of (b, MEMBER_START, 0));
}

TEST_ON (b, a_recalled_result_is_told_and_never_run_again)
{
    struct result result = { .key = key_of (1), .ending = ENDING_EXITED };
    member_recall (b->member, &result);
    tick (b, 0);
    assert_int_equal (sent (b, MSG_HELLO)->of.hello.holdings.items[0].state, ATTEMPT_ENDED);
    receive_welcome (b);
    assert_int_equal (sent (b, MSG_RESULT)->of.result.key.attempt, 1);
    receive_run (b, 1);
    assert_null (effect_of (b, MEMBER_START, 0));
    receive_ack (b, 1);
    assert_non_null (effect_of (b, MEMBER_FORGET, 0));
}

TEST_ON (b, a_repeated_welcome_renews_without_a_stir)
{
    join (b);
    run (b, 1);
    b->now_ms += 19000;
    tick (b, 0);
    receive_welcome (b);
    assert_null (sent (b, MSG_HEARTBEAT));
    tick (b, 19000);
    assert_null (effect_of (b, MEMBER_STOP, 0));
}

/* ---- silence ---- */

TEST_ON (b, silence_kills_the_program_and_keeps_its_result)
{
    join (b);
    run (b, 1);
    tick (b, 19999);
    assert_null (effect_of (b, MEMBER_STOP, 0));
    tick (b, 1);
    assert_true (effect_of (b, MEMBER_STOP, 0)->hard);
    assert_int_equal (effect_of (b, MEMBER_STOP, 0)->ending, ENDING_ORPHANED);
    tick (b, 1000);
    assert_null (effect_of (b, MEMBER_STOP, 0));
    end (b, 1, ENDING_ORPHANED);
    assert_non_null (effect_of (b, MEMBER_KEEP, 0));
    assert_null (effect_of (b, MEMBER_EXIT, 0));
    receive_ack (b, 1);
    assert_non_null (effect_of (b, MEMBER_FORGET, 0));
}

TEST_ON (b, orphan_deadline_is_kept_by_the_clock)
{
    join (b);
    run (b, 1);
    for (uint32_t i = 0; i < 100 && !effect_of (b, MEMBER_STOP, 0); i++) {
        b->now_ms = member_deadline_ms (b->member);
        tick (b, 0);
    }
    assert_int_equal (b->now_ms, 5000 + 20000);
}

static void receive_with_index (struct bench *bench, enum msg_kind kind, uint64_t index)
{
    struct msg msg = said (bench, kind);
    msg.of.cancel.key = key_of (9);
    msg_set_recorded_index (&msg, index);
    receive (bench, &msg);
}

static const struct msg_hello *say_hello_again (struct bench *bench)
{
    struct msg msg = said (bench, MSG_REHELLO);
    receive (bench, &msg);
    assert_non_null (sent (bench, MSG_HELLO));
    return &sent (bench, MSG_HELLO)->of.hello;
}

TEST_ON (bench, what_it_was_told_of_is_told_to_the_next_coordinator)
{
    tick (bench, 0);
    assert_true (sent (bench, MSG_HELLO)->of.hello.told_epoch == 0 &&
                 sent (bench, MSG_HELLO)->of.hello.told_index == 0);
    receive_welcome (bench); /* of a version that tells no index */
    assert_int_equal (say_hello_again (bench)->told_index, 0);
    receive_welcome (bench);
    receive_with_index (bench, MSG_CANCEL, 17);
    receive_with_index (bench, MSG_RESULT_ACK, 12); /* said earlier, come later: it knows of 17 all the same */
    bench->seq -= 2;
    receive_with_index (bench, MSG_CANCEL, 99); /* of a number that it has had: dropped */
    bench->seq += 2;
    const struct msg_hello *hello = say_hello_again (bench);
    assert_true (hello->told_epoch == 1 && hello->told_index == 17);
    bench->epoch = 2;
    receive_with_index (bench, MSG_CANCEL, 40); /* of a coordinator that it has not joined: not its session's */
    assert_int_equal (sent (bench, MSG_HELLO)->of.hello.told_index, 17);
    bench->session++;
    receive_welcome (bench);
    receive_with_index (bench, MSG_CANCEL, 5); /* another epoch counts for more than a higher index */
    hello = say_hello_again (bench);
    assert_true (hello->told_epoch == 2 && hello->told_index == 5);
}

TEST_ON (b, long_silence_ends_the_worker)
{
    join (b);
    tick (b, 59999);
    assert_null (effect_of (b, MEMBER_EXIT, 0));
    tick (b, 1);
    assert_non_null (effect_of (b, MEMBER_EXIT, 0));
}

TEST_ON (b, a_worker_that_was_never_welcomed_ends_by_itself)
{
    tick (b, 0);
    uint64_t began_ms = b->now_ms;
    for (uint32_t i = 0; i < 1000 && !effect_of (b, MEMBER_EXIT, 0); i++) {
        b->now_ms = member_deadline_ms (b->member);
        tick (b, 0);
    }
    assert_non_null (effect_of (b, MEMBER_EXIT, 0));
    assert_int_equal (b->now_ms, began_ms + 300000);
}
