/* alone: simulated coordinator_run */
#include "test.h"
#include "tests/unit/driver_fixture.h"

/* ---- opening ---- */

TEST_ON (stage, a_new_run_is_recorded_and_can_be_reached)
{
    struct run_addresses at = { 0 };
    stage_start (stage);
    stage_settle (stage);
    assert_int_equal (stage->facts[FACT_RUN_OPENED], 1);
    assert_int_equal (stage->facts[FACT_EPOCH_BEGAN], 1);
    assert_int_equal (run_addresses_load (&stage->dir, &at, &t->err), 0);
    assert_int_equal (at.control_port, hub_port (stage->driver->hub, LINK_CONTROL));
    assert_int_equal (at.bulk_port, hub_port (stage->driver->hub, LINK_BULK));
    assert_int_equal (at.events_port, hub_events_port (stage->driver->hub));
    assert_true (stage_has_file (stage, "coordinator.key"));
    assert_true (stage_has_file (stage, "monitor.key"));
    assert_false (driver_has_ended (stage->driver, NULL, NULL));
    stage_stop (stage);
    assert_int_equal (stage_recorded (stage).of[FACT_RUN_OPENED], 1);
}

/* ---- resuming ---- */

TEST_ON (stage, a_resumed_run_is_the_one_of_before)
{
    struct run_addresses before = { 0 }, after = { 0 };
    stage_start (stage);
    stage_join (stage, 0);
    stage_receives (stage, 0, MSG_RUN);
    assert_int_equal (run_addresses_load (&stage->dir, &before, &t->err), 0);
    stage_stop (stage);
    stage->actors[0].received_n = 0;

    assert_int_equal (stage_resume (stage, &t->err), 0);
    assert_int_equal (stage->facts[FACT_RUN_OPENED], 1); /* what was before is told as well */
    assert_int_equal (stage->facts[FACT_HOST_JOINED], 2);
    stage_settle (stage);
    assert_int_equal (stage->facts[FACT_EPOCH_BEGAN], 2);
    assert_int_equal (coord_epoch (stage->driver->coord), 2);
    assert_int_equal (run_addresses_load (&stage->dir, &after, &t->err), 0);
    assert_int_equal (after.control_port, before.control_port);
    assert_int_equal (after.bulk_port, before.bulk_port);
    assert_int_equal (after.events_port, before.events_port);
    assert_string_equal (after.public_key, before.public_key);

    /* Nobody is keyed again: the same connection comes back by itself. */
    stage_says (stage, 0, (struct msg){ .kind = MSG_HEARTBEAT });
    stage_receives (stage, 0, MSG_REHELLO);
    stage_says (stage, 0, stage_hello (stage, 0));
    stage_receives (stage, 0, MSG_WELCOME);
    assert_int_equal (stage->actors[0].epoch, 2);
}

/* Its chain holds, and yet it is nothing that a coordinator wrote. */
TEST_ON (stage, a_fact_that_cannot_be_read_is_damage)
{
    char path[RUN_PATH_BYTES];
    stage_start (stage);
    stage_stop (stage);
    struct journal *journal = journal_open (run_dir_path (&stage->dir, "journal.db", path), &t->err);
    assert_non_null (journal);
    journal_append (journal, 3, FACT_HOST_LOST, 0, 0, TEXT_LIT ("no fact"));
    journal_close (journal);
    assert_int_equal (stage_resume (stage, &t->err), -1);
    assert_int_equal (t->err.code, ERR_DAMAGE);
    assert_has (t->err.text, "fact 3");
}

TEST_ON (stage, a_run_that_was_never_opened_is_damage)
{
    char path[RUN_PATH_BYTES];
    journal_close (journal_create (run_dir_path (&stage->dir, "journal.db", path), stage->dir.id, &t->err));
    assert_int_equal (stage_resume (stage, &t->err), -1);
    assert_int_equal (t->err.code, ERR_DAMAGE);
    assert_has (t->err.text, "never begun");
}

/* ---- leaving ---- */

/* Until it ended. False: it left at that. */
static bool cancel (struct stage *stage)
{
    bool stays = true;
    driver_cancel (stage->driver, 1);
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS; !driver_has_ended (stage->driver, NULL, NULL);) {
        stays = stage_run (stage, STAGE_STEP_MS);
        assert_true (clock_boot_ms () < end);
    }
    return stays;
}

TEST_ON (stage, it_leaves_when_its_workers_are_gone)
{
    struct err problem;
    uint32_t exit_status = 0;
    stage_start (stage);
    stage_join (stage, 1);
    assert_true (cancel (stage)); /* one is still there */
    assert_true (stage_run (stage, 200));
    assert_true (driver_has_ended (stage->driver, &exit_status, &problem));
    assert_int_equal (exit_status, 130);
    assert_int_equal (problem.code, ERR_NONE);
    stage_says (stage, 0, (struct msg){ .kind = MSG_HEARTBEAT });
    stage_receives (stage, 0, MSG_SHUTDOWN);
    struct msg bye = { .kind = MSG_BYE };
    assert_true (stage_offer (stage, 0, &bye));
    stage_leave (stage);
    assert_true (clock_boot_ms () < stage->driver->leave_by_ms);
    stage_stop (stage);
    assert_int_equal (stage_recorded (stage).of[FACT_RUN_ENDED], 1);
    assert_false (stage_has_file (stage, "coordinator.key"));
    assert_false (stage_has_file (stage, "monitor.key"));
    assert_false (stage_has_file (stage, "hub.json"));
}

/* Nobody says that a monitor left: it is looked for again as soon as no worker is waited for. */
TEST_ON (stage, a_monitor_that_left_does_not_hold_it_up)
{
    enum { SOON_MS = 2000 }; /* a fraction of what workers and monitors may take to go */
    struct text frame;
    stage_start (stage);
    stage_join (stage, 1);
    struct events_client *listener = stage_listen (stage);
    stage_ask (stage, listener);
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS; !events_client_receive (listener, &frame);)
        assert_true (stage_run (stage, STAGE_STEP_MS) && clock_boot_ms () < end);
    assert_true (cancel (stage));
    assert_true (stage_run (stage, 200)); /* its worker and its monitor are still there */
    struct msg bye = { .kind = MSG_BYE };
    stage_says (stage, 0, bye);
    assert_true (stage_run (stage, 200));
    events_client_close (listener);
    uint64_t left_ms = clock_boot_ms ();
    stage_leave (stage);
    assert_true (clock_boot_ms () - left_ms < SOON_MS);
}

TEST_ON (stage, it_waits_for_nobody_without_end)
{
    enum { LEAVE_MS = 10000, SOONER_MS = 300 };
    stage_start (stage);
    stage_join (stage, 1);
    uint64_t began_ms = clock_boot_ms ();
    assert_true (cancel (stage));
    assert_in_range (stage->driver->leave_by_ms, began_ms + LEAVE_MS, clock_boot_ms () + LEAVE_MS);
    uint64_t by_ms = stage->driver->leave_by_ms = clock_boot_ms () + SOONER_MS;
    stage_leave (stage);
    assert_true (clock_boot_ms () >= by_ms);
}

/* Its end is recorded; whoever resumes it is told how it ended, and no port is bound for that. */
TEST_ON (stage, a_run_that_is_over_is_over_at_once)
{
    uint32_t exit_status = 0;
    stage_start (stage);
    (void) cancel (stage);
    stage_leave (stage); /* nobody ever came */
    assert_true (clock_boot_ms () < stage->driver->leave_by_ms);
    stage_stop (stage);
    assert_int_equal (stage_resume (stage, &t->err), 0);
    assert_true (driver_has_ended (stage->driver, &exit_status, NULL));
    assert_int_equal (exit_status, 130);
    assert_null (stage->driver->hub);
    stage_stop (stage);
    assert_int_equal (stage_recorded (stage).of[FACT_EPOCH_BEGAN], 1);
}

/* The third level: it goes, whoever is there and whatever was not said. The run can be taken up again. */
TEST_ON (stage, it_can_be_made_to_leave_at_once)
{
    uint32_t exit_status = 0;
    stage_start (stage);
    stage_join (stage, 0);
    stage_receives (stage, 0, MSG_RUN);
    uint32_t received = stage->actors[0].received_n;
    driver_cancel (stage->driver, 3);
    assert_true (driver_has_ended (stage->driver, &exit_status, NULL));
    assert_int_equal (exit_status, 130);
    stage_leave (stage);
    stage_says (stage, 0, (struct msg){ .kind = MSG_HEARTBEAT });
    stage_linger (stage, 200);
    stage_received (stage, 0, MSG_CANCEL);
    assert_true (stage->actors[0].received_n <= received + 1); /* at most the word that it is to stop */
    stage_stop (stage);
    assert_true (stage_has_file (stage, "coordinator.key"));
    assert_true (stage_has_file (stage, "hub.json"));
    assert_int_equal (stage_resume (stage, &t->err), 0);
    assert_false (driver_has_ended (stage->driver, NULL, NULL));
}
