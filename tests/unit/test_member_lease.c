/* links: worker_core */
/* The writer of a cache: started with its lease, killed without. T is 1200 ms: asked for every 400, and what writes is
 * killed 1014 ms after the last answered question. */
#include "member_fixture.h"
#include "test.h"

enum { T_MS = 1200, ASK_MS = 400, STOP_MS = 1014, TOKEN = 7 };

static void receive_write (struct bench *bench, uint32_t attempt, enum cache_role role, uint64_t token)
{
    struct msg msg = said (bench, MSG_RUN);
    msg.of.run.key = key_of (attempt);
    msg.of.run.nonce = TEXT_LIT ("00112233445566778899aabbccddeeff");
    msg.of.run.cache = (struct cache_access){ .role = role, .token = token, .lease_ms = T_MS };
    receive (bench, &msg);
}

static void receive_lease (struct bench *bench, uint64_t token, uint64_t ask, uint64_t term_ms)
{
    struct msg msg = said (bench, MSG_LEASE);
    msg.of.lease = (struct msg_lease){ token, ask, term_ms };
    receive (bench, &msg);
}

/* The number asked with in the last step; 0: it did not ask. */
static uint64_t asked (const struct bench *bench)
{
    const struct msg *beat = sent (bench, MSG_HEARTBEAT);
    if (!beat)
        return 0;
    assert_int_equal (beat->of.heartbeat.lease_token, beat->of.heartbeat.lease_ask ? TOKEN : 0);
    return beat->of.heartbeat.lease_ask;
}

/* Told to write, it asks at once; 100 ms after it joined, so that the beat is not one too many. */
static uint64_t told (struct bench *bench)
{
    join (bench);
    bench->now_ms += 100;
    receive_write (bench, 1, CACHE_ROLE_WRITER, TOKEN);
    uint64_t ask = asked (bench);
    assert_true (ask > 0);
    return ask;
}

static void writes (struct bench *bench)
{
    receive_lease (bench, TOKEN, told (bench), T_MS);
    assert_non_null (effect_of (bench, MEMBER_START, 0));
}

/* Time goes on as the member asks for it, and nobody answers, until `kind` is seen; how long that took. */
static uint64_t until (struct bench *bench, enum member_effect_kind kind)
{
    uint64_t from_ms = bench->now_ms;
    for (uint32_t i = 0; i < 1000; i++) {
        uint64_t at_ms = member_deadline_ms (bench->member);
        tick (bench, at_ms > bench->now_ms ? at_ms - bench->now_ms : 0);
        if (effect_of (bench, kind, 0))
            return bench->now_ms - from_ms;
    }
    fail_msg ("not within %u deadlines", 1000);
    return 0;
}

static void assert_killed (const struct bench *bench)
{
    const struct member_effect *stop = effect_of (bench, MEMBER_STOP, 0);
    assert_non_null (stop);
    assert_true (stop->hard);
    assert_int_equal (stop->ending, ENDING_LEASE_LOST);
    assert_has (stop->text.ptr, "generation 7");
}

/* ---- before it starts ---- */

TEST_ON (b, a_writer_is_taken_at_once_and_started_with_its_lease)
{
    uint64_t ask = told (b);
    assert_null (effect_of (b, MEMBER_START, 0));
    assert_int_equal (held (b, 0)->state, ATTEMPT_RUNNING);
    assert_text (held (b, 0)->phase, "lease");
    receive_lease (b, TOKEN, ask, T_MS);
    const struct member_effect *start = effect_of (b, MEMBER_START, 0);
    assert_non_null (start);
    assert_text (start->msg->of.run.nonce, "00112233445566778899aabbccddeeff");
    assert_int_equal (start->msg->of.run.cache.token, TOKEN);
    receive_lease (b, TOKEN, ask, T_MS);
    assert_null (effect_of (b, MEMBER_START, 0));
}

TEST_ON (b, nobody_else_needs_a_lease)
{
    static const enum cache_role roles[] = { CACHE_ROLE_NONE, CACHE_ROLE_READER, CACHE_ROLE_OWN };
    join (b);
    for (uint32_t i = 0; i < 3; i++) {
        b->now_ms += 100;
        receive_write (b, i + 1, roles[i], TOKEN);
        assert_non_null (effect_of (b, MEMBER_START, 0));
        tick (b, 1000);
        assert_int_equal (asked (b), 0);
        end (b, i + 1, ENDING_EXITED);
        receive_ack (b, i + 1);
    }
}

TEST_ON (b, other_heartbeats_do_not_ask)
{
    writes (b);
    b->now_ms += 100;
    step (b, &(struct member_input){ .kind = MEMBER_PHASE, .text = TEXT_LIT ("compile") });
    assert_non_null (sent (b, MSG_HEARTBEAT));
    assert_int_equal (asked (b), 0);
}

TEST_ON (b, a_term_of_a_millisecond_makes_no_storm)
{
    join (b);
    b->now_ms += 100;
    struct msg msg = said (b, MSG_RUN);
    msg.of.run.key = key_of (1);
    msg.of.run.cache = (struct cache_access){ .role = CACHE_ROLE_WRITER, .token = TOKEN, .lease_ms = 1 };
    receive (b, &msg);
    uint32_t beats = 0;
    for (uint32_t i = 0; i < 100; i++) {
        tick (b, 1);
        beats += sent (b, MSG_HEARTBEAT) != NULL;
    }
    assert_in_range (beats, 1, 6);
    assert_true (member_deadline_ms (b->member) > b->now_ms);
}

TEST_ON (b, refused_before_it_started_it_is_reported_and_never_started)
{
    receive_lease (b, TOKEN, told (b), 0);
    assert_null (effect_of (b, MEMBER_START, 0));
    assert_null (effect_of (b, MEMBER_STOP, 0));
    const struct member_effect *keep = effect_of (b, MEMBER_KEEP, 0);
    assert_non_null (keep);
    assert_int_equal (keep->result->ending, ENDING_LEASE_LOST);
    assert_text (keep->result->phase, "lease");
    assert_has (keep->result->problem.ptr, "generation 7 of the cache was refused");
    assert_int_equal (sent (b, MSG_RESULT)->of.result.ending, ENDING_LEASE_LOST);
    tick (b, 1000);
    assert_int_equal (held (b, 0)->state, ATTEMPT_ENDED);
    assert_int_equal (asked (b), 0);
    receive_write (b, 1, CACHE_ROLE_WRITER, TOKEN); /* said again: an attempt is one thing */
    assert_null (effect_of (b, MEMBER_START, 0));
    assert_non_null (sent (b, MSG_RESULT));
}

TEST_ON (b, an_order_without_a_generation_is_not_started)
{
    join (b);
    receive_write (b, 1, CACHE_ROLE_WRITER, 0);
    assert_null (effect_of (b, MEMBER_START, 0));
    assert_int_equal (effect_of (b, MEMBER_KEEP, 0)->result->ending, ENDING_NOT_STARTED);
    receive_write (b, 2, CACHE_ROLE_NONE, 0);
    assert_non_null (effect_of (b, MEMBER_START, 0));
}

TEST_ON (b, an_order_without_a_generation_that_had_to_wait_ends_once)
{
    join (b);
    run (b, 1);
    receive_write (b, 2, CACHE_ROLE_WRITER, 0);
    end (b, 1, ENDING_CANCELLED);
    assert_int_equal (effect_of (b, MEMBER_KEEP, 0)->result->key.attempt, 1);
    assert_int_equal (effect_of (b, MEMBER_KEEP, 1)->result->key.attempt, 2);
    assert_null (effect_of (b, MEMBER_KEEP, 2));
    assert_null (effect_of (b, MEMBER_START, 0));
}

TEST_ON (b, cancelled_before_it_started_it_ends_at_once)
{
    uint64_t ask = told (b);
    receive_cancel (b, 1, false);
    assert_null (effect_of (b, MEMBER_STOP, 0));
    assert_int_equal (effect_of (b, MEMBER_KEEP, 0)->result->ending, ENDING_CANCELLED);
    receive_lease (b, TOKEN, ask, T_MS);
    assert_null (effect_of (b, MEMBER_START, 0));
}

TEST_ON (b, another_attempt_takes_the_place_of_one_that_waits_for_its_lease)
{
    told (b);
    receive_run (b, 2);
    assert_int_equal (effect_of (b, MEMBER_KEEP, 0)->result->key.attempt, 1);
    assert_int_equal (effect_of (b, MEMBER_START, 0)->msg->of.run.key.attempt, 2);
    assert_null (effect_of (b, MEMBER_STOP, 0));
}

TEST_ON (b, orphaned_before_it_started_it_ends_and_keeps_its_result)
{
    told (b);
    tick (b, 20000);
    assert_null (effect_of (b, MEMBER_STOP, 0));
    assert_int_equal (effect_of (b, MEMBER_KEEP, 0)->result->ending, ENDING_ORPHANED);
}

TEST_ON (b, a_worker_that_leaves_does_not_wait_for_a_lease)
{
    told (b);
    step (b, &(struct member_input){ .kind = MEMBER_LEAVE, .text = TEXT_LIT ("SIGTERM") });
    assert_non_null (effect_of (b, MEMBER_KEEP, 0));
    assert_non_null (effect_of (b, MEMBER_EXIT, 0));
}

/* ---- while it writes ---- */

TEST_ON (b, without_an_answer_it_is_killed_before_the_lease_is_over)
{
    writes (b);
    assert_int_equal (until (b, MEMBER_STOP), STOP_MS);
    assert_killed (b);
    tick (b, 1000);
    assert_null (effect_of (b, MEMBER_STOP, 0));
    assert_int_equal (held (b, 0)->state, ATTEMPT_STOPPING);
}

TEST_ON (b, a_refusal_kills_at_once)
{
    writes (b);
    tick (b, ASK_MS);
    receive_lease (b, TOKEN, asked (b), 0);
    assert_killed (b);
}

TEST_ON (b, whoever_slept_past_its_lease_kills_first_and_is_not_resurrected)
{
    writes (b);
    tick (b, ASK_MS);
    uint64_t ask = asked (b);
    b->now_ms += 30000; /* the worker was stopped; an answer waited for it */
    receive_lease (b, TOKEN, ask, 100 * T_MS);
    assert_int_equal (b->out.items[0].kind, MEMBER_STOP);
    assert_killed (b);
    tick (b, 1);
    assert_int_equal (asked (b), 0);
}

TEST_ON (b, whoever_slept_past_its_lease_kills_before_it_does_anything_else)
{
    writes (b);
    reach_gate (b, "start");
    b->now_ms += 15000;
    receive_go (b, "start");
    assert_int_equal (b->out.items[0].kind, MEMBER_STOP);
    assert_killed (b);
    assert_null (effect_of (b, MEMBER_GO, 0));
}

TEST_ON (b, a_program_that_ends_politely_is_killed_when_the_lease_ends_first)
{
    writes (b);
    receive_cancel (b, 1, false);
    assert_false (effect_of (b, MEMBER_STOP, 0)->hard);
    assert_int_equal (until (b, MEMBER_STOP), STOP_MS);
    assert_killed (b);
}

TEST_ON (b, a_lease_that_ends_while_it_is_being_killed_changes_nothing)
{
    writes (b);
    receive_cancel (b, 1, true);
    for (uint32_t i = 0; i < 20; i++) {
        uint64_t at_ms = member_deadline_ms (b->member);
        assert_true (at_ms > b->now_ms); /* nothing is left to wait for again and again */
        tick (b, at_ms - b->now_ms);
        assert_null (effect_of (b, MEMBER_STOP, 0));
    }
    assert_true (b->now_ms > 5000 + 2 * T_MS);
}

TEST_ON (b, a_leaving_worker_kills_its_writer_in_time)
{
    writes (b);
    step (b, &(struct member_input){ .kind = MEMBER_LEAVE, .text = TEXT_LIT ("SIGTERM") });
    assert_false (effect_of (b, MEMBER_STOP, 0)->hard);
    assert_int_equal (until (b, MEMBER_STOP), STOP_MS);
    assert_killed (b);
}

TEST_ON (b, a_new_session_keeps_the_lease_and_goes_on_asking)
{
    writes (b);
    tick (b, ASK_MS);
    uint64_t lost = asked (b);
    struct msg msg = said (b, MSG_REHELLO);
    msg.session = msg.seq = 0;
    b->now_ms += ASK_MS;
    receive (b, &msg);
    assert_null (effect_of (b, MEMBER_STOP, 0));
    assert_true (member_deadline_ms (b->member) > b->now_ms); /* nobody is there to be asked: no hurry */
    b->epoch = 2;
    b->session = 8;
    b->seq = 0;
    receive_welcome (b);
    assert_int_equal (asked (b), lost + 1);
    receive_lease (b, TOKEN, lost + 1, T_MS);
    assert_int_equal (until (b, MEMBER_STOP), STOP_MS);
}

/* ---- how it ends ---- */

static void end_sealed (struct bench *bench, enum ending ending, uint32_t code)
{
    struct result result = {
        .key = key_of (1), .ending = ending, .code = code, .seal = { .token = TOKEN, .entries = 3, .bytes = 300 }
    };
    step (bench, &(struct member_input){ .kind = MEMBER_ENDED, .result = &result });
}

TEST_ON (b, what_ended_is_not_asked_for_any_more)
{
    writes (b);
    b->now_ms += 10;
    end_sealed (b, ENDING_EXITED, 0);
    for (uint32_t i = 0; i < 10; i++) {
        uint64_t at_ms = member_deadline_ms (b->member);
        assert_true (at_ms > b->now_ms);
        tick (b, at_ms - b->now_ms);
        assert_int_equal (asked (b), 0);
        assert_null (effect_of (b, MEMBER_STOP, 0));
    }
}

TEST_ON (b, what_was_sealed_too_late_is_lost)
{
    writes (b);
    b->now_ms += STOP_MS;
    end_sealed (b, ENDING_EXITED, 0);
    assert_null (effect_of (b, MEMBER_STOP, 0)); /* nothing is left to stop */
    const struct result *told_so = effect_of (b, MEMBER_KEEP, 0)->result;
    assert_int_equal (told_so->ending, ENDING_LEASE_LOST);
    assert_int_equal (told_so->seal.token, 0);
    assert_has (told_so->problem.ptr, "expired");
    assert_int_equal (sent (b, MSG_RESULT)->of.result.seal.token, 0);
}

TEST_ON (b, a_seal_that_came_after_all_is_not_told_when_the_stop_was_asked_for)
{
    writes (b);
    until (b, MEMBER_STOP);
    struct result result = { .key = key_of (1),
                             .ending = ENDING_EXITED,
                             .problem = TEXT_LIT ("stopped: by the lease"),
                             .seal = { .token = TOKEN } };
    step (b, &(struct member_input){ .kind = MEMBER_ENDED, .result = &result });
    const struct result *told_so = effect_of (b, MEMBER_KEEP, 0)->result;
    assert_int_equal (told_so->ending, ENDING_LEASE_LOST);
    assert_int_equal (told_so->seal.token, 0);
    assert_text (told_so->problem, "stopped: by the lease");
}

TEST_ON (bench, a_program_that_failed_by_itself_did_so_whatever_became_of_its_lease)
{
    static const struct {
        enum ending ending;
        uint32_t code;
    } rows[] = {
        { ENDING_EXITED, 1 },
        { ENDING_SIGNALLED, 11 },
        { ENDING_LEASE_LOST, 0 },
        { ENDING_CANCELLED, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench b;
        bench_open (&b);
        writes (&b);
        b.now_ms += STOP_MS;
        end_sealed (&b, rows[i].ending, rows[i].code);
        assert_int_equal (effect_of (&b, MEMBER_KEEP, 0)->result->ending, rows[i].ending);
        assert_int_equal (effect_of (&b, MEMBER_KEEP, 0)->result->seal.token, 0);
        bench_close (&b);
    }
}

TEST_ON (b, the_next_writer_asks_for_its_own_token)
{
    writes (b);
    b->now_ms += 100;
    end_sealed (b, ENDING_EXITED, 0);
    receive_ack (b, 1);
    b->now_ms += 100;
    receive_write (b, 2, CACHE_ROLE_WRITER, TOKEN + 1);
    const struct msg *beat = sent (b, MSG_HEARTBEAT);
    assert_int_equal (beat->of.heartbeat.lease_token, TOKEN + 1);
    receive_lease (b, TOKEN, beat->of.heartbeat.lease_ask, T_MS);
    assert_null (effect_of (b, MEMBER_START, 0));
    receive_lease (b, TOKEN + 1, 2, T_MS);
    assert_non_null (effect_of (b, MEMBER_START, 0));
}
