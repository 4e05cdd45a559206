/* links: cli */
#include "coordinator/cli/live_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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
    assert_true (text_is (shared, wanted));
    arena_release (&arena);
}

static void machines_are_shared_whatever_the_slice_is_called (void **state)
{
    (void) state;
    struct plan a = plan_of (LAUNCHER_SSH, "a", alike, 2), b = plan_of (LAUNCHER_SSH, "b", alike + 1, 2);
    struct plan slurm = plan_of (LAUNCHER_SLURM, "s", alike, 3), apart = plan_of (LAUNCHER_SSH, "a", alike + 2, 1);
    shares (&a, &b, "h1");
    shares (&b, &a, "h1");
    shares (&slurm, &b, "h[1-2]");
    shares (&a, &apart, "");
}

static void hosts_of_local_slices_are_their_own (void **state)
{
    (void) state;
    struct plan a = plan_of (LAUNCHER_LOCAL, "a", alike, 3), again = plan_of (LAUNCHER_LOCAL, "a", alike, 1);
    struct plan b = plan_of (LAUNCHER_LOCAL, "b", alike, 3), ssh = plan_of (LAUNCHER_SSH, "a", alike, 3);
    shares (&a, &again, "h0");
    shares (&a, &b, "");
    shares (&a, &ssh, "");
}

static void a_port_of_its_own_is_another_machine (void **state)
{
    (void) state;
    struct plan_host ports[3] = { { .name = TEXT_LIT ("p0"), .ssh = { .address = TEXT_LIT ("10.0.0.1"), .port = 22 } },
                                  { .name = TEXT_LIT ("p1"), .ssh = { .address = TEXT_LIT ("10.0.0.1"), .port = 23 } },
                                  { .name = TEXT_LIT ("p2"),
                                    .ssh = { .address = TEXT_LIT ("10.0.0.2"), .port = 24 } } };
    struct plan a = plan_of (LAUNCHER_SSH, "a", alike, 3), b = plan_of (LAUNCHER_SSH, "b", ports, 3);
    shares (&b, &a, "p0");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (machines_are_shared_whatever_the_slice_is_called),
        cmocka_unit_test (hosts_of_local_slices_are_their_own),
        cmocka_unit_test (a_port_of_its_own_is_another_machine),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
