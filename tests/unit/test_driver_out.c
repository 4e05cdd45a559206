/* alone: simulated coordinator_run */
#include "tests/unit/driver_fixture.h"

#include "coordinator/core/steps.h"
#include "state_record.h"
#include "test.h"

/* ---- effects wait for the facts before them ---- */

TEST_ON (stage, nothing_is_said_before_it_is_durable)
{
    stage_start (stage);
    stage_key (stage, 0);
    stage_says (stage, 0, (struct msg){ .kind = MSG_HEARTBEAT });
    stage_receives (stage, 0, MSG_REHELLO); /* it is connected: what is said from here on would arrive */
    stage_settle (stage);
    uint64_t before = stage->driver->recorded_index;
    disk_stalls = true;
    stage_says (stage, 0, stage_hello (stage, 0));
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS; !stage->driver->coord->state->joined_n;)
        assert_true (stage_run (stage, STAGE_STEP_MS) && clock_boot_ms () < end);
    assert_true (stage_run (stage, 200));
    assert_int_equal (stage_received (stage, 0, MSG_WELCOME), 0);
    assert_true (stage->driver->held.n > 0);
    disk_stalls = false;
    stage_receives (stage, 0, MSG_WELCOME);
    assert_int_equal (stage->actors[0].told, before + 1); /* and it says of which fact it was sure */
    assert_int_equal (stage_recorded (stage).of[FACT_HOST_JOINED], 1);
}

TEST_ON (stage, nobody_is_let_in_before_it_is_durable)
{
    struct link_keys keys;
    stage_start (stage);
    stage_settle (stage);
    link_keys_make (&keys);
    disk_stalls = true;
    driver_worker_keyed (stage->driver, 0, text_of (keys.public_key));
    assert_true (stage->driver->coord->state->hosts.items[0].keyed);
    assert_true (stage_run (stage, 100));
    struct held_effect *held = held_ready (&stage->driver->held, UINT64_MAX);
    while (held && (held->kind != HELD_EFFECT || held->effect != FX_ADMIT)) { /* only publishing goes before it */
        assert_int_equal (held->kind, HELD_PUBLISH);
        held_done (&stage->driver->held);
        held = held_ready (&stage->driver->held, UINT64_MAX);
    }
    assert_non_null (held);
    assert_int_equal (held->after_index, stage->driver->recorded_index);
    assert_text (held->bytes, keys.public_key);
    disk_stalls = false;
    stage_settle (stage);
}

/* ---- monitors ---- */

/* The last frame of an answer. */
static bool take_last (struct events_client *listener, uint64_t *index, bool *end)
{
    struct text frame;
    while (events_client_receive (listener, &frame)) {
        struct snapshot_piece piece;
        uint32_t at = SNAPSHOT_HEAD_BYTES;
        while (snapshot_is_answer (frame) && snapshot_next_piece (frame, &at, &piece))
            *index = piece.index;
        *end = snapshot_is_answer (frame) && snapshot_has_flag (frame, SNAPSHOT_END);
        if (snapshot_is_answer (frame) && snapshot_has_flag (frame, SNAPSHOT_LAST))
            return true;
    }
    return false;
}

/* The last fact of the answer to who has none, which is all of them. */
static uint64_t told_up_to (struct stage *stage, struct events_client *listener)
{
    uint64_t index = 0, until = clock_boot_ms () + STAGE_WAIT_MS;
    bool end = false;
    stage_ask (stage, listener);
    while (!take_last (listener, &index, &end) && clock_boot_ms () < until)
        stage_run (stage, STAGE_STEP_MS);
    assert_true (end);
    return index;
}

TEST_ON (stage, a_monitor_is_not_told_what_is_committed_and_not_durable)
{
    stage_start (stage);
    stage_settle (stage);
    uint64_t durable = stage->driver->recorded_index;
    struct events_client *listener = stage_listen (stage);
    assert_int_equal (told_up_to (stage, listener), durable);
    mark_stalls = true;
    driver_worker_keyed (stage->driver, 1, TEXT_LIT ("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"));
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS; !stage_recorded (stage).of[FACT_HOST_KEYED];)
        assert_true (stage_run (stage, STAGE_STEP_MS) && clock_boot_ms () < end);
    assert_int_equal (told_up_to (stage, listener), durable);
    mark_stalls = false;
    stage_settle (stage);
    assert_int_equal (told_up_to (stage, listener), durable + 1);
    events_client_close (listener);
}

/* ---- order ---- */

TEST_ON (stage, what_is_said_comes_in_its_order)
{
    stage_start (stage);
    stage_join (stage, 0);
    stage_receives (stage, 0, MSG_RUN);
    stage_receives (stage, 1, MSG_RUN);
    assert_int_equal (stage_recorded (stage).of[FACT_PASS_BEGAN], 1);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal (stage->actors[i].received[0], MSG_WELCOME);
        assert_int_equal (stage->actors[i].received[1], MSG_RUN);
    }
}

/* Heartbeats are told to monitors only: they are no part of the journal, and do not fill memory while a disk stalls. */
TEST_ON (stage, soft_facts_are_not_recorded_and_not_kept_without_end)
{
    struct core_input in = { .kind = IN_WORKER_STEP, .text = TEXT_LIT ("copy") };
    stage_start (stage);
    stage_settle (stage);
    uint64_t recorded = stage->driver->recorded_index;
    disk_stalls = true;
    driver_worker_keyed (stage->driver, 1, TEXT_LIT ("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"));
    for (uint32_t i = 0; i < 70000; i++)
        driver_step (stage->driver, &in);
    assert_int_equal (stage->driver->recorded_index, recorded + 1); /* the key */
    assert_in_range (stage->driver->held.n, 60000, 69000);
    stage_stop (stage);
    assert_int_equal (stage_recorded (stage).of[FACT_HOST_STEPPED], 0);
}

/* ---- what cannot be recorded ---- */

TEST_ON (stage, a_disk_that_fails_ends_it_without_another_word)
{
    struct err problem = { 0 }, err = { 0 };
    uint32_t exit_status = 0;
    stage_start (stage);
    stage_key (stage, 0);
    stage_says (stage, 0, (struct msg){ .kind = MSG_HEARTBEAT });
    stage_receives (stage, 0, MSG_REHELLO);
    stage_settle (stage);
    disk_fails = true;
    stage_says (stage, 0, stage_hello (stage, 0));
    stage_leave (stage);
    assert_true (driver_has_ended (stage->driver, &exit_status, &problem));
    assert_int_equal (exit_status, 3);
    assert_int_not_equal (problem.code, ERR_NONE);
    assert_has (problem.text, "journal");
    struct core_input in = { .kind = IN_CANCEL, .level = 1 };
    struct state before;
    record_copy (&state_record, &before, stage->driver->coord->state, &t->arena);
    driver_step (stage->driver, &in); /* it takes nothing in either */
    assert_true (record_equal (&state_record, &before, stage->driver->coord->state));
    stage_linger (stage, 200);
    assert_int_equal (stage_received (stage, 0, MSG_WELCOME), 0);
    disk_fails = false;
    stage_stop (stage);
    assert_true (stage_has_file (stage, "coordinator.key"));

    assert_int_equal (stage_resume (stage, &err), 0);
    assert_int_equal (stage->facts[FACT_HOST_KEYED], 1); /* what came after may be there or not: nobody heard of it */
    assert_false (driver_has_ended (stage->driver, NULL, NULL));
}

/* Workers that were told of more than is recorded: who else comes is told nothing, and nobody goes on with the run. */
TEST_ON (stage, a_journal_that_lacks_what_a_worker_knows_is_where_it_stops)
{
    struct err problem = { 0 }, err = { 0 };
    uint32_t exit_status = 0;
    stage_start (stage);
    stage_join (stage, 1);
    stage_key (stage, 1);
    stage_says (stage, 1, (struct msg){ .kind = MSG_HEARTBEAT });
    stage_receives (stage, 1, MSG_REHELLO); /* it is connected */
    actor_take (&stage->actors[0]);
    uint32_t received = stage->actors[0].received_n;
    struct msg knows_more = stage_hello (stage, 0), stranger = stage_hello (stage, 1);
    knows_more.of.hello.told_epoch = stage->actors[0].epoch;
    knows_more.of.hello.told_index = stage->driver->recorded_index + 1;
    stage_says (stage, 0, knows_more);
    knows_more.of.hello.host = stranger.of.hello.host; /* one alone is not believed */
    stage_says (stage, 1, knows_more);
    stage_leave (stage);
    assert_true (driver_has_ended (stage->driver, &exit_status, &problem));
    assert_true (clock_boot_ms () < stage->driver->leave_by_ms); /* it waits for no worker */
    assert_int_equal (exit_status, 5);
    assert_int_equal (problem.code, ERR_DAMAGE);
    assert_has (problem.text, "lacks facts that were acknowledged: host host1 knows fact");
    stranger.of.hello.version = TEXT_LIT ("9.9.9"); /* who is refused else, whatever the run's state is */
    stage_says (stage, 1, stranger);
    stage_linger (stage, 200);
    actor_take (&stage->actors[0]);
    actor_take (&stage->actors[1]);
    assert_int_equal (stage->actors[0].received_n, received);
    assert_int_equal (stage->actors[1].received_n, 1);
    stage_stop (stage);
    assert_int_equal (stage_recorded (stage).last, FACT_LOSS_TOLD);
    assert_int_equal (stage_recorded (stage).of[FACT_LOSS_TOLD], 3);
    assert_int_equal (stage_resume (stage, &err), -1);
    assert_int_equal (err.code, ERR_DAMAGE);
}

/* What one host says against all others ends its own part: the run goes on, its record is read and resumed. */
TEST_ON (stage, an_absurd_number_is_the_fault_of_the_host_that_says_it)
{
    stage_start (stage);
    stage_join (stage, 0);
    struct msg absurd = stage_hello (stage, 0), beat = { .kind = MSG_HEARTBEAT };
    absurd.of.hello.told_epoch = stage->actors[0].epoch;
    absurd.of.hello.told_index = UINT64_MAX;
    stage_says (stage, 0, absurd);
    stage_until (stage, FACT_LOSS_TOLD, 1);
    for (uint32_t host = 1; host < coord_plan (stage->driver->coord)->hosts.n; host++)
        stage_says (stage, host, beat);
    stage_until (stage, FACT_HOST_LOST, 1);
    stage_settle (stage);
    assert_false (driver_has_ended (stage->driver, NULL, NULL));
    stage_stop (stage);
    assert_int_equal (stage_recorded (stage).of[FACT_LOSS_TOLD], 1);
    assert_int_equal (stage_resume (stage, &t->err), 0);
}

TEST_ON (stage, a_fact_out_of_its_bounds_is_where_it_stops)
{
    struct err problem = { 0 };
    uint32_t exit_status = 0;
    stage_start (stage);
    stage_settle (stage);
    struct outbox *out = &stage->driver->outbox;
    char longer[4096];
    memset (longer, 'x', sizeof longer);
    struct fact *fact = outbox_add_fact (out, FACT_HOST_KEYED);
    fact->index = stage->driver->recorded_index + 1;
    fact->of.host_keyed.public_key = (struct text){ longer, sizeof longer };
    outbox_add_effect (out, FX_END)->exit_status = 0;
    driver_take_outbox (stage->driver);
    driver_release_held (stage->driver);
    assert_true (driver_has_ended (stage->driver, &exit_status, &problem));
    assert_int_equal (exit_status, 3); /* and not how the effect behind it says */
    assert_int_equal (problem.code, ERR_LIMIT);
    assert_has (problem.text, fact_name (FACT_HOST_KEYED));
    stage_stop (stage);
    assert_int_equal (stage_recorded (stage).of[FACT_HOST_KEYED], 0);
    assert_int_equal (stage_recorded (stage).of[FACT_EPOCH_BEGAN], 1);
}

TEST_ON (stage, what_is_too_large_is_not_sent)
{
    stage_start (stage);
    stage_join (stage, 1);
    char *longer = mem_alloc (MSG_MAX_BYTES);
    memset (longer, 'x', MSG_MAX_BYTES);
    struct msg too_large = { .kind = MSG_SHUTDOWN }, small = { .kind = MSG_RESULT_ACK };
    too_large.of.shutdown.why = (struct text){ longer, MSG_MAX_BYTES };
    outbox_add_effect (&stage->driver->outbox, FX_SEND)->msg = &too_large;
    outbox_add_effect (&stage->driver->outbox, FX_SEND)->msg = &small;
    driver_take_outbox (stage->driver);
    driver_release_held (stage->driver);
    mem_free (longer);
    stage_receives (stage, 0, MSG_RESULT_ACK);
    assert_int_equal (stage_received (stage, 0, MSG_SHUTDOWN), 0);
    assert_has (stage->log_text, "larger than 65536 bytes");
}

/* Nobody would ever hold the attempt: it is over, and the run with it, by what is wrong. */
TEST_ON (stage, an_order_that_is_too_large_ends_the_attempt)
{
    uint32_t exit_status = 0;
    enum { ARGUMENTS = 20, ARGUMENT_BYTES = 4000 };
    struct rung *rung = &stage->plan.rungs.items[0];
    char *longer = arena_alloc (&stage->arena, ARGUMENT_BYTES);
    memset (longer, 'x', ARGUMENT_BYTES);
    rung->argv.items = arena_array (&stage->arena, ARGUMENTS, sizeof (struct text));
    for (rung->argv.n = 0; rung->argv.n < ARGUMENTS; rung->argv.n++)
        rung->argv.items[rung->argv.n] = (struct text){ longer, ARGUMENT_BYTES };
    stage_start (stage);
    stage_join (stage, 0);
    stage_until (stage, FACT_RUN_ENDED, 1);
    assert_true (driver_has_ended (stage->driver, &exit_status, NULL));
    assert_int_equal (exit_status, 3);
    assert_has (stage->driver->coord->state->stop.ptr,
                "the message that starts it is larger than the limit of 65536 bytes");
    assert_int_equal (stage->facts[FACT_ATTEMPT_ENDED], 2);
    assert_int_equal (stage_received (stage, 0, MSG_RUN) + stage_received (stage, 1, MSG_RUN), 0);
}

/* ---- effects that lead to steps, and how many at a time ---- */

/* A key that is none: the host is lost by what the effect of its key led to. */
TEST_ON (stage, an_effect_may_lead_to_further_facts)
{
    stage_start (stage);
    driver_worker_keyed (stage->driver, 0, TEXT_LIT ("this is no key"));
    driver_worker_keyed (stage->driver, 1, TEXT_LIT ("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"));
    stage_until (stage, FACT_HOST_LOST, 1);
    stage_settle (stage);
    assert_int_equal (stage->facts[FACT_HOST_KEYED], 2);
    assert_int_equal (stage_recorded (stage).of[FACT_HOST_LOST], 1);
    assert_false (stage->driver->releasing);
}

static void hold_many (struct driver *driver, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct held_effect *held = held_add (&driver->held, 0);
        held->kind = HELD_PUBLISH;
        held_copy_bytes (held, TEXT_LIT ("to nobody"));
    }
}

TEST_ON (stage, effects_take_no_more_than_their_share_of_a_pass)
{
    enum { MANY = 20000, A_PASS = 8192 };
    stage_start (stage);
    stage_settle (stage);
    struct driver *driver = stage->driver;
    hold_many (driver, MANY);
    assert_false (driver_is_out_of_budget (driver));
    driver_release_held (driver);
    assert_true (driver_is_out_of_budget (driver));
    assert_in_range (driver->held.n, MANY - A_PASS, MANY);
    uint32_t left = driver->held.n;
    driver_release_held (driver); /* in the same pass, for whatever came meanwhile */
    assert_int_equal (driver->held.n, left);
    driver->more = false;
    driver_end_loop_iteration (driver);
    assert_true (driver->more); /* the next one comes at once */
    driver_release_held (driver);
    assert_in_range (driver->held.n, left > A_PASS ? left - A_PASS : 0, left);
}

/* What a pass left needs no event to go on: nothing becomes durable, nobody says anything, and no time runs out. */
TEST_ON (stage, effects_that_were_left_go_on_by_themselves)
{
    enum { MANY = 20000, PASSES = 1000 };
    stage_start (stage);
    stage_settle (stage);
    hold_many (stage->driver, MANY);
    for (uint32_t i = 0; i < PASSES && stage->driver->held.n; i++) {
        driver_on_loop_iteration (stage->driver);
        assert_true (stage->driver->more || !stage->driver->held.n); /* the next one comes at once */
    }
    assert_int_equal (stage->driver->held.n, 0);
}
