/* alone: simulated */
/* The coordinator and N workers under faults. SLICEUP_SIM_SEEDS: how many seeds a case (default 300); a failing seed
 * prints itself and is run alone by SLICEUP_SIM_FIRST=<seed> SLICEUP_SIM_SEEDS=1. */
#include "test.h"
#include "world.h"

static uint64_t number_from (const char *name, uint64_t otherwise)
{
    const char *text = getenv (name);
    return text ? strtoull (text, NULL, 10) : otherwise;
}

static void every_seed (struct world_options options, uint64_t share,
                        void (*expect) (const struct world_options *, const struct world_report *))
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

TEST (a_calm_slice_reaches_the_top)
{
    struct world_options options = { .delay_max_ms = 5, .bound_ms = 300000 };
    every_seed (options, 50, top_reached);
}

TEST (loss_repeats_and_delay_change_nothing)
{
    struct world_options options = {
        .loss_percent = 15, .repeat_percent = 10, .delay_max_ms = 1500, .bound_ms = 900000
    };
    every_seed (options, 100, top_reached);
}

TEST (a_killed_coordinator_is_resumed_and_nothing_is_lost)
{
    struct world_options options = {
        .loss_percent = 5, .repeat_percent = 5, .delay_max_ms = 300, .coordinator_kills = 4, .bound_ms = 900000
    };
    every_seed (options, 100, top_reached);
}

TEST (long_programs_are_not_orphaned_while_the_coordinator_lives)
{
    struct world_options options = { .loss_percent = 5, .delay_max_ms = 100, .slow = true, .bound_ms = 9000000 };
    every_seed (options, 10, top_reached);
}

static void ended_somehow (const struct world_options *options, const struct world_report *report)
{
    (void) options;
    assert_int_not_equal (report->outcome, OUTCOME_NONE);
    assert_true (report->sentence[0] != '\0');
}

TEST (a_killed_worker_ends_the_climb_in_bounded_time)
{
    struct world_options options = {
        .loss_percent = 5, .delay_max_ms = 300, .worker_kills = 1, .coordinator_kills = 1, .bound_ms = 900000
    };
    every_seed (options, 100, ended_somehow);
}

static void one_failed (const struct world_options *options, const struct world_report *report)
{
    char culprit[32];
    snprintf (culprit, sizeof (culprit), "host%u failed", options->hosts - 1);
    if (report->outcome != OUTCOME_FAILED || strstr (report->sentence, culprit) == NULL)
        fail_msg ("seed %llu, %u hosts: %s", (unsigned long long) options->seed, options->hosts, report->sentence);
    assert_int_equal (report->exit_status, 1);
    assert_int_equal (report->retries, 0); /* it is of no class that passes by itself */
}

TEST (one_failing_host_is_the_cause_and_its_peers_are_not)
{
    struct world_options options = {
        .loss_percent = 5, .delay_max_ms = 300, .fall = true, .retries = 2, .bound_ms = 900000
    };
    every_seed (options, 60, one_failed);
}

TEST (another_run_s_lease_is_waited_for_and_taken_over_in_time)
{
    struct world_options options = {
        .loss_percent = 5, .delay_max_ms = 300, .lease_owner = true, .coordinator_kills = 1, .bound_ms = 1200000
    };
    every_seed (options, 60, top_reached);
}

static void violated (const struct world_options *options, const struct world_report *report)
{
    if (report->outcome != OUTCOME_PASSED || report->exit_status != 4)
        fail_msg ("seed %llu, %u hosts: %u, %s", (unsigned long long) options->seed, options->hosts,
                  report->exit_status, report->sentence);
}

TEST (a_changed_generation_is_dropped_warmed_anew_and_ends_with_4)
{
    struct world_options options = {
        .loss_percent = 5, .delay_max_ms = 300, .tampered = true, .coordinator_kills = 1, .bound_ms = 900000
    };
    every_seed (options, 60, violated);
}

static void recovered (const struct world_options *options, const struct world_report *report)
{
    top_reached (options, report);
    if (report->retries == 0 || strstr (report->sentence, "passed after ") == NULL ||
        strstr (report->sentence, "(metadata on host") == NULL)
        fail_msg ("seed %llu: %u retries, %s", (unsigned long long) options->seed, report->retries, report->sentence);
}

TEST (what_is_transient_is_run_again_and_told)
{
    struct world_options options = { .loss_percent = 5,
                                     .repeat_percent = 5,
                                     .delay_max_ms = 300,
                                     .retries = 2,
                                     .transients = 2,
                                     .coordinator_kills = 3,
                                     .kills_until_ms = 90000,
                                     .bound_ms = 900000 };
    every_seed (options, 60, recovered);
}

static void recovered_and_violated (const struct world_options *options, const struct world_report *report)
{
    violated (options, report);
    assert_true (report->retries > 0);
}

TEST (retries_and_violations_have_rules_of_their_own)
{
    struct world_options options = { .loss_percent = 5,
                                     .delay_max_ms = 300,
                                     .tampered = true,
                                     .retries = 1,
                                     .transients = 1,
                                     .coordinator_kills = 2,
                                     .kills_until_ms = 90000,
                                     .bound_ms = 900000 };
    every_seed (options, 60, recovered_and_violated);
}

TEST (a_retry_takes_its_turn_behind_another_run_s_lease)
{
    struct world_options options = { .loss_percent = 5,
                                     .delay_max_ms = 300,
                                     .lease_owner = true,
                                     .retries = 1,
                                     .transients = 1,
                                     .coordinator_kills = 2,
                                     .bound_ms = 1500000 };
    every_seed (options, 60, recovered);
}

static void exhausted (const struct world_options *options, const struct world_report *report)
{
    if (report->outcome != OUTCOME_FAILED || report->retries != 2 ||
        strstr (report->sentence, "after 2 retries (metadata on host") == NULL)
        fail_msg ("seed %llu: %u retries, %s", (unsigned long long) options->seed, report->retries, report->sentence);
    assert_int_equal (report->exit_status, 1);
    assert_int_equal (report->parts, 0);
}

TEST (a_budget_that_is_spent_ends_the_climb)
{
    struct world_options options = { .loss_percent = 5,
                                     .repeat_percent = 5,
                                     .delay_max_ms = 300,
                                     .retries = 2,
                                     .transients = 1000,
                                     .coordinator_kills = 3,
                                     .kills_until_ms = 30000,
                                     .bound_ms = 900000 };
    every_seed (options, 60, exhausted);
}

static void isolated (const struct world_options *options, const struct world_report *report)
{
    bool alone = options->hosts == 1; /* nothing hangs that has no company, or it fails by itself */
    if (alone ? report->parts != 0 : !report->suspects_named || report->outcome == OUTCOME_PASSED)
        fail_msg ("seed %llu, %u hosts: %u parts, %s", (unsigned long long) options->seed, options->hosts,
                  report->parts, report->sentence);
    if (!alone && !(report->culprits_suspected && report->suspects_n <= 2))
        fail_msg ("seed %llu, %u hosts: %u suspects after %u parts, %s", (unsigned long long) options->seed,
                  options->hosts, report->suspects_n, report->parts, report->sentence);
}

TEST (a_silent_host_or_pair_is_among_the_suspects)
{
    struct world_options options = { .delay_max_ms = 300, .silent = true, .bound_ms = 3000000 };
    every_seed (options, 60, isolated);
}

TEST (isolation_lives_through_the_deaths_of_coordinators)
{
    struct world_options options = { .loss_percent = 5,
                                     .repeat_percent = 5,
                                     .delay_max_ms = 300,
                                     .silent = true,
                                     .retries = 1,
                                     .transients = 1,
                                     .coordinator_kills = 5,
                                     .kills_until_ms = 400000,
                                     .bound_ms = 3000000 };
    every_seed (options, 60, isolated);
}

static void bounded (const struct world_options *options, const struct world_report *report)
{
    ended_somehow (options, report);
    assert_in_range (report->parts, 0, 10);
}

TEST (isolation_ends_when_a_worker_dies)
{
    struct world_options options = { .loss_percent = 5,
                                     .delay_max_ms = 300,
                                     .silent = true,
                                     .worker_kills = 2,
                                     .coordinator_kills = 2,
                                     .kills_until_ms = 300000,
                                     .bound_ms = 3000000 };
    every_seed (options, 60, bounded);
}

/* ---- a climb that goes on ---- */

static void gone_on (const struct world_options *options, const struct world_report *report)
{
    uint32_t most = options->hosts > options->min_hosts ? options->hosts - options->min_hosts : 0;
    ended_somehow (options, report);
    if (options->hosts <= options->min_hosts || options->strangers == 0)
        return;
    bool enough = options->strangers <= most;
    if (enough ? report->exit_status != 1 || report->blocked == 0 : report->exit_status != 3)
        fail_msg ("seed %llu, %u hosts: %u left behind, %u blocked, exit %u: %s", (unsigned long long) options->seed,
                  options->hosts, report->left_behind, report->blocked, report->exit_status, report->sentence);
}

TEST (the_climb_goes_on_without_hosts_that_never_join)
{
    struct world_options options = { .loss_percent = 5,
                                     .repeat_percent = 5,
                                     .delay_max_ms = 300,
                                     .coordinator_kills = 3,
                                     .min_hosts = 2,
                                     .strangers = 1,
                                     .bound_ms = 900000 };
    every_seed (options, 60, gone_on);
}

static uint32_t left_behind, blocked;

static void counted (const struct world_options *options, const struct world_report *report)
{
    ended_somehow (options, report);
    left_behind += report->left_behind;
    blocked += report->blocked;
}

TEST (workers_that_die_are_left_behind)
{
    struct world_options options = { .loss_percent = 5,
                                     .delay_max_ms = 300,
                                     .worker_kills = 3,
                                     .coordinator_kills = 2,
                                     .min_hosts = 2,
                                     .retries = 1,
                                     .transients = 1,
                                     .kills_until_ms = 60000,
                                     .bound_ms = 900000 };
    every_seed (options, 100, counted);
    options.keep_going = true;
    every_seed (options, 100, counted);
    options.min_hosts = 0;
    every_seed (options, 100, counted);
    options.keep_going = false;
    options.fail_fast = true;
    every_seed (options, 60, counted);
    print_message ("  %u hosts were left behind, %u rungs blocked\n", left_behind, blocked);
    assert_true (left_behind > 0 && blocked > 0);
}

/* The host whose turn it is fails rung tiny; of the writer's failure nothing is left to restore. */
static void kept_going (const struct world_options *options, const struct world_report *report)
{
    bool alone = options->hosts == 1;
    if (report->exit_status != 1 || report->outcome != OUTCOME_FAILED || (!alone && report->blocked == 0))
        fail_msg ("seed %llu, %u hosts: %u left behind, %u blocked, exit %u: %s", (unsigned long long) options->seed,
                  options->hosts, report->left_behind, report->blocked, report->exit_status, report->sentence);
}

TEST (a_host_that_fails_is_left_behind)
{
    struct world_options options = { .loss_percent = 5,
                                     .repeat_percent = 5,
                                     .delay_max_ms = 300,
                                     .coordinator_kills = 4,
                                     .keep_going = true,
                                     .fall_alone = true,
                                     .bound_ms = 900000 };
    every_seed (options, 60, kept_going);
}

TEST (isolation_follows_a_climb_that_kept_going)
{
    struct world_options options = { .delay_max_ms = 300, .silent = true, .keep_going = true, .bound_ms = 3000000 };
    every_seed (options, 60, isolated);
}

static uint32_t put_backs, doubts, blamed;

/* Nothing is climbed again from a journal that workers know to be older: they are believed, or the one that alone knows
 * it is lost, and the climb ends without it. A verdict that follows from it is given. */
static void doubted (const struct world_options *options, const struct world_report *report)
{
    put_backs += report->put_back && report->knew_more;
    bool alone = strstr (report->sentence, "confirmed by no other host") != NULL;
    doubts += report->doubted;
    blamed += alone;
    if (report->put_back && report->knew_more && !report->doubted && report->started_again > 0)
        fail_msg ("seed %llu, %u hosts: %u programs were started from an older journal: %s",
                  (unsigned long long) options->seed, options->hosts, report->started_again, report->sentence);
    if (!report->doubted && !alone)
        top_reached (options, report);
}

TEST (an_older_copy_of_the_journal_is_not_climbed_from)
{
    struct world_options options = { .loss_percent = 10,
                                     .repeat_percent = 5,
                                     .delay_max_ms = 300,
                                     .coordinator_kills = 4,
                                     .put_back = true,
                                     .bound_ms = 900000 };
    put_backs = doubts = blamed = 0;
    every_seed (options, 100, doubted);
    print_message (
        "  %u older copies that a worker knew better, %u runs stopped for it, %u for one host that knew it alone\n",
        put_backs, doubts, blamed);
    assert_true (doubts > 0);
}
