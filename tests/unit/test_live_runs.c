/* links: cli */
#include "coordinator/cli/climb.h"

#include "common/io/clock.h"
#include "test.h"

static struct plan_host alike[3] = { { .name = TEXT_LIT ("h0"), .address = TEXT_LIT ("10.0.0.1") },
                                     { .name = TEXT_LIT ("h1"), .address = TEXT_LIT ("10.0.0.2") },
                                     { .name = TEXT_LIT ("h2"), .address = TEXT_LIT ("10.0.0.3") } };

static struct plan plan_of (enum launcher launcher, const char *slice, struct plan_host *hosts, uint32_t n)
{
    return (struct plan){ .slice = text_of (slice), .launcher = launcher, .hosts = { hosts, n } };
}

static void shares (const struct plan *plan, const struct plan *other, const char *wanted)
{
    struct arena arena = { 0 };
    struct text shared = live_runs_shared_hosts (plan, other, &arena);
    assert_text (shared, wanted);
    arena_release (&arena);
}

TEST (machines_are_shared_whatever_the_slice_is_called)
{
    struct plan a = plan_of (LAUNCHER_SSH, "a", alike, 2), b = plan_of (LAUNCHER_SSH, "b", alike + 1, 2);
    struct plan slurm = plan_of (LAUNCHER_SLURM, "s", alike, 3), apart = plan_of (LAUNCHER_SSH, "a", alike + 2, 1);
    shares (&a, &b, "h1");
    shares (&b, &a, "h1");
    shares (&slurm, &b, "h[1-2]");
    shares (&a, &apart, "");
}

TEST (hosts_of_local_slices_are_their_own)
{
    struct plan a = plan_of (LAUNCHER_LOCAL, "a", alike, 3), again = plan_of (LAUNCHER_LOCAL, "a", alike, 1);
    struct plan b = plan_of (LAUNCHER_LOCAL, "b", alike, 3), ssh = plan_of (LAUNCHER_SSH, "a", alike, 3);
    shares (&a, &again, "h0");
    shares (&a, &b, "");
    shares (&a, &ssh, "");
}

TEST (a_port_of_its_own_is_another_machine)
{
    struct plan_host ports[3] = { { .name = TEXT_LIT ("p0"), .ssh = { .address = TEXT_LIT ("10.0.0.1"), .port = 22 } },
                                  { .name = TEXT_LIT ("p1"), .ssh = { .address = TEXT_LIT ("10.0.0.1"), .port = 23 } },
                                  { .name = TEXT_LIT ("p2"),
                                    .ssh = { .address = TEXT_LIT ("10.0.0.2"), .port = 24 } } };
    struct plan a = plan_of (LAUNCHER_SSH, "a", alike, 3), b = plan_of (LAUNCHER_SSH, "b", ports, 3);
    shares (&b, &a, "p0");
}

TEST (a_resumed_run_lasts_since_it_was_begun)
{
    struct live_run run = { .board = board_create (BOARD_JUDGED_STATE) };
    struct plan plan = plan_of (LAUNCHER_LOCAL, "a", alike, 1);
    uint64_t now_ms = clock_wall_ms ();
    struct fact opened = { .kind = FACT_RUN_OPENED, .index = 1, .wall_ms = now_ms - 300000 };
    struct fact resumed = { .kind = FACT_EPOCH_BEGAN, .index = 2, .at_ms = 60000, .wall_ms = now_ms };
    struct buf out;
    opened.of.run_opened.plan = plan;
    resumed.of.epoch_began = (struct fact_epoch_began){ .epoch = 2, .away_ms = 240000 };
    board_apply (run.board, &opened);
    board_apply (run.board, &resumed);
    buf_init (&out, 1024);
    live_run_print (&run, &out);
    assert_has (&out, "of slice a, for 5 min");
    buf_release (&out);
    board_destroy (run.board);
}
