/* alone: simulated */
/* The coordinator and N workers under fixed mixes of faults (tests/lib/fault.h), each with what has to come of it. SLICEUP_SIM_SEEDS:
 * how many seeds a case (default 300); a failing seed is run alone by SLICEUP_SIM_FIRST=<seed> SLICEUP_SIM_SEEDS=1. */
#include "test.h"
#include "world.h"

static uint64_t number_from (const char *name, uint64_t otherwise)
{
    const char *text = getenv (name);
    return text ? strtoull (text, NULL, 10) : otherwise;
}

/* For two and a half minutes. */
#define LOSS "loss all ms 0 150000 5 | "
#define NOISE LOSS "copies all ms 0 150000 5 | "

typedef void expectation (const struct scenario *, const struct world_report *);

static struct scenario scenario_of (const char *mix, uint64_t seed)
{
    static const uint32_t sizes[] = { 1, 2, 3, 5, 8 };
    struct rng rng = rng_seed (seed);
    struct scenario scenario = scenario_calm (seed, sizes[seed % 5]);
    if (!scenario_read (&scenario, mix, &rng))
        fail_msg ("cannot read: %s", mix);
    return scenario;
}

/* `share` percent of the seeds. */
static void every_seed (const char *mix, uint64_t share, expectation *expect)
{
    uint64_t first = number_from ("SLICEUP_SIM_FIRST", 1), n = number_from ("SLICEUP_SIM_SEEDS", 300) * share / 100;
    struct world_report report;
    uint64_t messages = 0, lost = 0, epochs = 0;
    for (uint64_t seed = first; seed < first + (n ? n : 1); seed++) {
        struct scenario scenario = scenario_of (mix, seed);
        world_run (&scenario, &report);
        expect (&scenario, &report);
        messages += report.messages;
        lost += report.lost;
        epochs += report.epochs;
    }
    print_message ("  %llu seeds: %llu messages, %llu lost, %llu coordinator lives\n", (unsigned long long) n,
                   (unsigned long long) messages, (unsigned long long) lost, (unsigned long long) epochs);
}

static void top_reached (const struct scenario *scenario, const struct world_report *report)
{
    if (report->outcome != OUTCOME_PASSED)
        fail_msg ("seed %llu, %u hosts: %s", (unsigned long long) scenario->seed, scenario->hosts, report->sentence);
    assert_int_equal (report->exit_status, 0);
}

TEST (a_calm_slice_reaches_the_top)
{
    every_seed ("delay=5 bound=300000", 50, top_reached);
}

TEST (loss_repeats_and_delay_change_nothing)
{
    every_seed ("delay=1500 bound=900000 | loss all ms 0 150000 15 | copies all ms 0 150000 10", 100, top_reached);
}

TEST (a_killed_coordinator_is_resumed_and_nothing_is_lost)
{
    every_seed ("delay=300 bound=900000 | " NOISE "4* crash c ms ?60000 ?10000", 100, top_reached);
}

TEST (long_programs_are_not_orphaned_while_the_coordinator_lives)
{
    every_seed ("delay=100 bound=9000000 | " LOSS "slow all any 0 100000", 10, top_reached);
}

static void ended_somehow (const struct scenario *scenario, const struct world_report *report)
{
    (void) scenario;
    assert_int_not_equal (report->outcome, OUTCOME_NONE);
    assert_true (report->sentence[0] != '\0');
}

TEST (programs_do_not_outlive_a_coordinator_that_is_away_for_long)
{
    every_seed ("delay=5 bound=9000000 | slow all any 0 100000 | crash c ms 20000 400000", 10, ended_somehow);
}

TEST (a_killed_worker_ends_the_climb_in_bounded_time)
{
    every_seed ("delay=300 bound=900000 writers=2 | " LOSS "crash c ms ?60000 ?10000 | crash h? ms ?30000", 100,
                ended_somehow);
}

static void one_failed (const struct scenario *scenario, const struct world_report *report)
{
    char culprit[32];
    snprintf (culprit, sizeof (culprit), "host%u failed", scenario->hosts - 1);
    if (report->outcome != OUTCOME_FAILED || strstr (report->sentence, culprit) == NULL)
        fail_msg ("seed %llu, %u hosts: %s", (unsigned long long) scenario->seed, scenario->hosts, report->sentence);
    assert_int_equal (report->exit_status, 1);
    assert_int_equal (report->retries, 0); /* it is of no class that passes by itself */
}

TEST (one_failing_host_is_the_cause_and_its_peers_are_not)
{
    every_seed ("delay=300 bound=900000 retries=2 | " LOSS "fall last rung 2", 60, one_failed);
}

static void stopped_at_gate (const struct scenario *scenario, const struct world_report *report)
{
    char culprit[32];
    snprintf (culprit, sizeof (culprit), "host%u failed", scenario->hosts - 1);
    if (report->outcome != OUTCOME_FAILED || strstr (report->sentence, culprit) == NULL ||
        report->tally.facts[FACT_PASS_STOPPED] == 0)
        fail_msg ("seed %llu, %u hosts: %s", (unsigned long long) scenario->seed, scenario->hosts, report->sentence);
}

/* Of two, nobody can say which one is right. */
TEST (a_host_that_differs_at_a_gate_or_passes_it_by_is_the_cause)
{
    every_seed ("hosts=3 delay=300 | " LOSS "2* crash c ms ?30000 ?5000 | differ last rung 2", 60, stopped_at_gate);
    every_seed ("hosts=5 delay=300 | " LOSS "2* crash c ms ?30000 ?5000 | skip last rung 2", 60, stopped_at_gate);
}

TEST (another_run_s_lease_is_waited_for_and_taken_over_in_time)
{
    every_seed ("delay=300 bound=1200000 | " LOSS "crash c ms ?60000 ?10000 | owner c any ?90000 ?40000", 60,
                top_reached);
}

static void violated (const struct scenario *scenario, const struct world_report *report)
{
    if (report->outcome != OUTCOME_PASSED || report->exit_status != 4)
        fail_msg ("seed %llu, %u hosts: %u, %s", (unsigned long long) scenario->seed, scenario->hosts,
                  report->exit_status, report->sentence);
}

TEST (a_changed_generation_is_dropped_warmed_anew_and_ends_with_4)
{
    every_seed ("delay=300 bound=900000 | " LOSS "crash c ms ?60000 ?10000 | tamper c ms 0", 60, violated);
}

static void recovered (const struct scenario *scenario, const struct world_report *report)
{
    top_reached (scenario, report);
    if (report->retries == 0 || strstr (report->sentence, "passed after ") == NULL ||
        strstr (report->sentence, "(metadata on host") == NULL)
        fail_msg ("seed %llu: %u retries, %s", (unsigned long long) scenario->seed, report->retries, report->sentence);
}

TEST (what_is_transient_is_run_again_and_told)
{
    every_seed ("delay=300 bound=900000 retries=2 | " NOISE "3* crash c ms ?90000 ?10000 | trip h? any 0 2", 60,
                recovered);
}

static void recovered_and_violated (const struct scenario *scenario, const struct world_report *report)
{
    violated (scenario, report);
    assert_true (report->retries > 0);
}

TEST (retries_and_violations_have_rules_of_their_own)
{
    every_seed ("delay=300 bound=900000 retries=1 | " LOSS
                "2* crash c ms ?90000 ?10000 | trip h? any 0 1 | tamper c ms 0",
                60, recovered_and_violated);
}

TEST (a_retry_takes_its_turn_behind_another_run_s_lease)
{
    every_seed ("delay=300 bound=1500000 retries=1 | " LOSS
                "2* crash c ms ?60000 ?10000 | trip h? any 0 1 | owner c any ?90000 ?40000",
                60, recovered);
}

static void exhausted (const struct scenario *scenario, const struct world_report *report)
{
    if (report->outcome != OUTCOME_FAILED || report->retries != 2 ||
        strstr (report->sentence, "after 2 retries (metadata on host") == NULL)
        fail_msg ("seed %llu: %u retries, %s", (unsigned long long) scenario->seed, report->retries, report->sentence);
    assert_int_equal (report->exit_status, 1);
    assert_int_equal (report->parts, 0);
}

TEST (a_budget_that_is_spent_ends_the_climb)
{
    every_seed ("delay=300 bound=900000 retries=2 | " NOISE "3* crash c ms ?30000 ?10000 | trip h? any 0 1000", 60,
                exhausted);
}

static void isolated (const struct scenario *scenario, const struct world_report *report)
{
    bool alone = scenario->hosts == 1; /* nothing hangs that has no company, or it fails by itself */
    if (alone ? report->parts != 0 : !report->suspects_named || report->outcome == OUTCOME_PASSED)
        fail_msg ("seed %llu, %u hosts: %u parts, %s", (unsigned long long) scenario->seed, scenario->hosts,
                  report->parts, report->sentence);
    if (!alone && !(report->culprits_suspected && report->suspects_n <= 2))
        fail_msg ("seed %llu, %u hosts: %u suspects after %u parts, %s", (unsigned long long) scenario->seed,
                  scenario->hosts, report->suspects_n, report->parts, report->sentence);
}

TEST (a_silent_host_or_pair_is_among_the_suspects)
{
    every_seed ("delay=300 bound=3000000 splits | stall h? rung 2 ?4 | 30% stall h? rung 2 ?4", 60, isolated);
}

TEST (isolation_lives_through_the_deaths_of_coordinators)
{
    every_seed ("delay=300 bound=3000000 retries=1 splits | " NOISE
                "5* crash c ms ?400000 ?10000 | trip h? any 0 1 | stall h? rung 2 ?4 | 30% stall h? rung 2 ?4",
                60, isolated);
}

static void bounded (const struct scenario *scenario, const struct world_report *report)
{
    ended_somehow (scenario, report);
    assert_in_range (report->parts, 0, 10);
}

TEST (isolation_ends_when_a_worker_dies)
{
    every_seed ("delay=300 bound=3000000 writers=2 splits | " LOSS
                "2* crash c ms ?300000 ?10000 | 2* crash h? ms ?300000 | stall h? rung 2 ?4 | 30% stall h? rung 2 ?4",
                60, bounded);
}

/* ---- a climb that goes on ---- */

static void gone_on (const struct scenario *scenario, const struct world_report *report)
{
    uint32_t most = scenario->hosts > scenario->climb.min_hosts ? scenario->hosts - scenario->climb.min_hosts : 0;
    ended_somehow (scenario, report);
    if (scenario->hosts <= scenario->climb.min_hosts)
        return;
    bool enough = most > 0; /* one never joins */
    if (enough ? report->exit_status != 1 || report->blocked == 0 : report->exit_status != 3)
        fail_msg ("seed %llu, %u hosts: %u left behind, %u blocked, exit %u: %s", (unsigned long long) scenario->seed,
                  scenario->hosts, report->left_behind, report->blocked, report->exit_status, report->sentence);
}

TEST (the_climb_goes_on_without_hosts_that_never_join)
{
    every_seed ("delay=300 bound=900000 min-hosts=2 | " NOISE "3* crash c ms ?60000 ?10000 | stranger last any 0", 60,
                gone_on);
}

static uint32_t left_behind, blocked;

static void counted (const struct scenario *scenario, const struct world_report *report)
{
    ended_somehow (scenario, report);
    left_behind += report->left_behind;
    blocked += report->blocked;
}

TEST (workers_that_die_are_left_behind)
{
    const char *mix = "delay=300 bound=900000 retries=1 writers=2 %s | " LOSS
                      "2* crash c ms ?60000 ?10000 | 3* crash h? ms ?60000 | trip h? any 0 1";
    static const char *const policies[] = { "min-hosts=2", "min-hosts=2 keep-going", "keep-going", "fail-fast" };
    for (int i = 0; i < 4; i++) {
        char line[512];
        snprintf (line, sizeof (line), mix, policies[i]);
        every_seed (line, i < 3 ? 100 : 60, counted);
    }
    print_message ("  %u hosts were left behind, %u rungs blocked\n", left_behind, blocked);
    assert_true (left_behind > 0 && blocked > 0);
}

/* The host whose turn it is fails rung tiny; of the writer's failure nothing is left to restore. */
static void kept_going (const struct scenario *scenario, const struct world_report *report)
{
    bool alone = scenario->hosts == 1;
    if (report->exit_status != 1 || report->outcome != OUTCOME_FAILED || (!alone && report->blocked == 0))
        fail_msg ("seed %llu, %u hosts: %u left behind, %u blocked, exit %u: %s", (unsigned long long) scenario->seed,
                  scenario->hosts, report->left_behind, report->blocked, report->exit_status, report->sentence);
}

TEST (a_host_that_fails_is_left_behind)
{
    every_seed ("delay=300 bound=900000 keep-going | " NOISE "4* crash c ms ?60000 ?10000 | fall h? rung 1", 60,
                kept_going);
}

TEST (isolation_follows_a_climb_that_kept_going)
{
    every_seed ("delay=300 bound=3000000 keep-going splits | stall h? rung 2 ?4 | 30% stall h? rung 2 ?4", 60,
                isolated);
}

static uint32_t put_backs, doubts, blamed;

/* Nothing is climbed again from a journal that workers know to be older: they are believed, or the one that alone knows
 * it is lost, and the climb ends without it. A verdict that follows from it is given. */
static void doubted (const struct scenario *scenario, const struct world_report *report)
{
    put_backs += report->put_back && report->knew_more;
    bool alone = strstr (report->sentence, "confirmed by no other host") != NULL;
    doubts += report->doubted;
    blamed += alone;
    if (report->put_back && report->knew_more && !report->doubted && report->started_again > 0)
        fail_msg ("seed %llu, %u hosts: %u programs were started from an older journal: %s",
                  (unsigned long long) scenario->seed, scenario->hosts, report->started_again, report->sentence);
    if (!report->doubted && !alone)
        top_reached (scenario, report);
}

TEST (an_older_copy_of_the_journal_is_not_climbed_from)
{
    put_backs = doubts = blamed = 0;
    every_seed ("delay=300 bound=900000 | loss all ms 0 150000 10 | copies all ms 0 150000 5 | 4* crash c ms ?60000 "
                "?10000 | put-back c ms ?60000 ?1000",
                100, doubted);
    print_message (
        "  %u older copies that a worker knew better, %u runs stopped for it, %u for one host that knew it alone\n",
        put_backs, doubts, blamed);
    assert_true (doubts > 0);
}
