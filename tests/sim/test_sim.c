/* links: simulated */
/* The coordinator and N workers under faults. SLICEUP_SIM_SEEDS: how many seeds a case (default 300); a failing seed prints
 * itself and is run alone by SLICEUP_SIM_FIRST=<seed> SLICEUP_SIM_SEEDS=1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

static uint64_t number_from (const char *name, uint64_t otherwise)
{
    const char *text = getenv (name);
    return text ? strtoull (text, NULL, 10) : otherwise;
}

static void every_seed (struct world_options options, uint64_t share, void (*expect) (const struct world_options *, const struct world_report *))
{
    uint64_t first = number_from ("SLICEUP_SIM_FIRST", 1), n = number_from ("SLICEUP_SIM_SEEDS", 300) * share / 100;
    static const uint32_t sizes[] = { 1, 2, 3, 5, 8 };
    struct world_report report;
    uint64_t messages = 0, lost = 0, epochs = 0;
    for (uint64_t seed = first; seed < first + (n ? n : 1); seed++) {
        options.seed = seed;
        options.hosts = sizes[seed % 5];
        world_run (&options, &report);
        expect (&options, &report);
        messages += report.messages;
        lost += report.lost;
        epochs += report.epochs;
    }
    print_message ("  %llu seeds: %llu messages, %llu lost, %llu coordinator lives\n", (unsigned long long) n,
                   (unsigned long long) messages, (unsigned long long) lost, (unsigned long long) epochs);
}

static void top_reached (const struct world_options *options, const struct world_report *report)
{
    if (report->outcome != OUTCOME_PASSED)
        fail_msg ("seed %llu, %u hosts: %s", (unsigned long long) options->seed, options->hosts, report->sentence);
    assert_int_equal (report->exit_status, 0);
}

static void a_calm_slice_reaches_the_top (void **state)
{
    (void) state;
    struct world_options options = { .delay_max_ms = 5, .bound_ms = 300000 };
    every_seed (options, 50, top_reached);
}

static void loss_repeats_and_delay_change_nothing (void **state)
{
    (void) state;
    struct world_options options = { .loss_percent = 15, .repeat_percent = 10, .delay_max_ms = 1500, .bound_ms = 900000 };
    every_seed (options, 100, top_reached);
}

static void a_killed_coordinator_is_resumed_and_nothing_is_lost (void **state)
{
    (void) state;
    struct world_options options = { .loss_percent = 5, .repeat_percent = 5, .delay_max_ms = 300, .coordinator_kills = 4, .bound_ms = 900000 };
    every_seed (options, 100, top_reached);
}

static void long_programs_are_not_orphaned_while_the_coordinator_lives (void **state)
{
    (void) state;
    struct world_options options = { .loss_percent = 5, .delay_max_ms = 100, .slow = true, .bound_ms = 9000000 };
    every_seed (options, 10, top_reached);
}

static void ended_somehow (const struct world_options *options, const struct world_report *report)
{
    (void) options;
    assert_int_not_equal (report->outcome, OUTCOME_NONE);
    assert_true (report->sentence[0] != '\0');
}

static void a_killed_worker_ends_the_climb_in_bounded_time (void **state)
{
    (void) state;
    struct world_options options = { .loss_percent = 5, .delay_max_ms = 300, .worker_kills = 1, .coordinator_kills = 1, .bound_ms = 900000 };
    every_seed (options, 100, ended_somehow);
}

static void one_fell (const struct world_options *options, const struct world_report *report)
{
    char culprit[32];
    snprintf (culprit, sizeof (culprit), "host%u failed", options->hosts - 1);
    if (report->outcome != OUTCOME_FAILED || strstr (report->sentence, culprit) == NULL)
        fail_msg ("seed %llu, %u hosts: %s", (unsigned long long) options->seed, options->hosts, report->sentence);
    assert_int_equal (report->exit_status, 1);
}

static void one_failing_host_is_the_cause_and_its_peers_are_not (void **state)
{
    (void) state;
    struct world_options options = { .loss_percent = 5, .delay_max_ms = 300, .fall = true, .bound_ms = 900000 };
    every_seed (options, 60, one_fell);
}

static void another_run_s_lease_is_waited_for_and_taken_over_in_time (void **state)
{
    (void) state;
    struct world_options options = { .loss_percent = 5, .delay_max_ms = 300, .rival = true, .coordinator_kills = 1, .bound_ms = 1200000 };
    every_seed (options, 60, top_reached);
}

static void violated (const struct world_options *options, const struct world_report *report)
{
    if (report->outcome != OUTCOME_PASSED || report->exit_status != 4)
        fail_msg ("seed %llu, %u hosts: %u, %s", (unsigned long long) options->seed, options->hosts, report->exit_status, report->sentence);
}

static void a_changed_generation_is_dropped_warmed_anew_and_ends_with_4 (void **state)
{
    (void) state;
    struct world_options options = { .loss_percent = 5, .delay_max_ms = 300, .tampered = true, .coordinator_kills = 1, .bound_ms = 900000 };
    every_seed (options, 60, violated);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_calm_slice_reaches_the_top),
        cmocka_unit_test (loss_repeats_and_delay_change_nothing),
        cmocka_unit_test (a_killed_coordinator_is_resumed_and_nothing_is_lost),
        cmocka_unit_test (long_programs_are_not_orphaned_while_the_coordinator_lives),
        cmocka_unit_test (a_killed_worker_ends_the_climb_in_bounded_time),
        cmocka_unit_test (one_failing_host_is_the_cause_and_its_peers_are_not),
        cmocka_unit_test (another_run_s_lease_is_waited_for_and_taken_over_in_time),
        cmocka_unit_test (a_changed_generation_is_dropped_warmed_anew_and_ends_with_4),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
