/* alone: simulated */
/* The lease under faults: tests/lib/lease_world.h. SLICEUP_LEASE_SEEDS: how many schedules (default 20000); a failing
 * seed prints itself and is run alone by SLICEUP_LEASE_FIRST=<seed> SLICEUP_LEASE_SEEDS=1. With two arguments, FIRST
 * and COUNT, only the rule itself is run, for tests/campaign/leases. */
#include "lease_world.h"
#include "test.h"

enum { SEEDS = 20000, WRONG_SEEDS = 3000 };

struct sum {
    uint64_t messages, grants, starts, seals, kills, restarts, pauses, overslept;
};

static uint64_t number_from (const char *name, uint64_t otherwise)
{
    const char *text = getenv (name);
    return text ? strtoull (text, NULL, 10) : otherwise;
}

static void add (struct sum *sum, const struct lease_report *report)
{
    sum->messages += report->messages;
    sum->grants += report->grants;
    sum->starts += report->starts;
    sum->seals += report->seals;
    sum->kills += report->kills;
    sum->restarts += report->restarts;
    sum->pauses += report->pauses;
    sum->overslept += report->overslept;
}

/* The first seed under which a promise is broken; 0: none. */
static uint64_t first_broken (enum lease_rule rule, uint64_t first, uint64_t n, struct lease_report *report,
                              struct sum *sum)
{
    for (uint64_t seed = first; seed < first + n; seed++) {
        lease_world_run (seed, rule, report);
        add (sum, report);
        if (report->broken)
            return seed;
    }
    return 0;
}

#define U(n) ((unsigned long long) (n))

static void tell (uint64_t n, const struct sum *sum)
{
    printf ("  %llu schedules: %llu grants, %llu starts, %llu seals, %llu kills, %llu messages, %llu pauses, "
            "%llu grantor lives lost, %llu times overslept\n",
            U (n), U (sum->grants), U (sum->starts), U (sum->seals), U (sum->kills), U (sum->messages), U (sum->pauses),
            U (sum->restarts), U (sum->overslept));
}

static void tell_broken (uint64_t seed, const struct lease_report *report)
{
    printf ("seed %llu: %s, at %llu ms of true time; again: SLICEUP_LEASE_FIRST=%llu SLICEUP_LEASE_SEEDS=1\n", U (seed),
            report->broken, U (report->broken_at_ms), U (seed));
}

TEST (no_two_hosts_hold_the_lease_whatever_happens)
{
    uint64_t first = number_from ("SLICEUP_LEASE_FIRST", 1), n = number_from ("SLICEUP_LEASE_SEEDS", SEEDS);
    struct lease_report report;
    struct sum sum = { 0 };
    uint64_t seed = first_broken (RULE_REAL, first, n, &report, &sum);
    if (seed) {
        tell_broken (seed, &report);
        fail ();
    }
    tell (n, &sum);
    /* It is no proof when nothing was at stake. */
    assert_true (sum.starts > n && sum.pauses > n);
    assert_true (n < 1000 || (sum.kills > n && sum.seals > n && sum.restarts > n && sum.overslept > 0));
}

/* The simulator can see: each rule that lacks one part of the real one fails in it. */
TEST (every_rule_that_lacks_a_part_is_caught)
{
    for (enum lease_rule rule = RULE_REAL + 1; rule < RULES; rule++) {
        struct lease_report report;
        struct sum sum = { 0 };
        uint64_t seed = first_broken (rule, 1, WRONG_SEEDS, &report, &sum);
        if (!seed)
            fail_msg ("%s was not caught in %d schedules", lease_rule_names[rule], WRONG_SEEDS);
        printf ("  %s: caught by seed %llu: %s\n", lease_rule_names[rule], U (seed), report.broken);
    }
}

TEST (a_seed_is_a_schedule)
{
    struct lease_report one, again;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        lease_world_run (seed, RULE_REAL, &one);
        lease_world_run (seed, RULE_REAL, &again);
        assert_memory_equal (&one, &again, sizeof one);
    }
}

static int campaign (const char *first_text, const char *count_text)
{
    uint64_t first = strtoull (first_text, NULL, 10), n = strtoull (count_text, NULL, 10);
    struct lease_report report;
    struct sum sum = { 0 };
    uint64_t seed = first_broken (RULE_REAL, first, n, &report, &sum);
    if (seed)
        tell_broken (seed, &report);
    else
        tell (n, &sum);
    return seed ? 1 : 0;
}

int main (int argc, char **argv)
{
    if (argc == 3)
        return campaign (argv[1], argv[2]);
    return test_run (argc, argv);
}
