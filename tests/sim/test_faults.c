/* alone: simulated */
/* A small share of tests/campaign/faults: what once broke a promise (kept_faults.txt), and some seeds. SLICEUP_FAULT_SEEDS: how many
 * (default 300), from SLICEUP_FAULT_FIRST on. sim/fault_seeds has 20,000 others, without sanitizers. */
#include "sweep.h"
#include "test.h"

static uint64_t number_from (const char *name, uint64_t otherwise)
{
    const char *text = getenv (name);
    return text ? strtoull (text, NULL, 10) : otherwise;
}

static void holds (char *line)
{
    struct scenario scenario = scenario_calm (1, 1);
    if (!scenario_read (&scenario, line, NULL))
        fail_msg ("cannot read: %s", line);
    if (!sweep_holds (&scenario, NULL))
        fail_msg ("it broke again; alone: tests/campaign/faults --replay '%s'", line);
}

/* Read whole and closed first: the processes in which they run would move the place in the file. */
static uint32_t each_line (struct test *t, const char *path, void (*with) (char *line))
{
    FILE *file = fopen (path, "re");
    char *bytes = arena_alloc (&t->arena, 1 << 20), *rest = bytes, *line;
    uint32_t n = 0;
    assert_non_null (file);
    assert_in_range (fread (bytes, 1, (1 << 20) - 1, file), 1, (1 << 20) - 2);
    fclose (file);
    while ((line = strsep (&rest, "\n")) != NULL) {
        if (line[0] == '\0' || line[0] == '#')
            continue;
        with (line);
        n++;
    }
    return n;
}

TEST (what_once_broke_a_promise_keeps_it)
{
    uint32_t n = each_line (t, SLICEUP_SOURCE_DIR "/tests/sim/kept_faults.txt", holds);
    print_message ("  %u kept\n", n);
    assert_true (n > 0);
}

/* "LINE => OUTCOME STATUS WORDS" */
static void comes_to (char *line)
{
    char *expected = strstr (line, "=>"), outcome[16], status[8], found[8];
    int words = 0;
    if (!expected || sscanf (expected, "=> %15s %7s %n", outcome, status, &words) < 2)
        fail_msg ("nothing is expected of: %s", line);
    *expected = '\0';
    for (uint64_t seed = 1; seed <= number_from ("SLICEUP_BY_HAND_SEEDS", 2); seed++) {
        struct scenario scenario = scenario_calm (seed, 1);
        struct world_report report;
        if (!scenario_read (&scenario, line, NULL))
            fail_msg ("cannot read: %s", line);
        world_run (&scenario, &report);
        snprintf (found, sizeof found, "%u", report.exit_status);
        if ((strcmp (outcome, "-") != 0 && strcmp (outcome, enum_name_of (&outcome_names, report.outcome)) != 0) ||
            (strcmp (status, "-") != 0 && strcmp (status, found) != 0) ||
            (words && !strstr (report.sentence, expected + words)))
            fail_msg ("seed=%d %s: %s, %s: %s; expected%s", (int) seed, line,
                      enum_name_of (&outcome_names, report.outcome), found, report.sentence, expected + 2);
    }
}

TEST (what_operators_know_comes_to_what_they_expect)
{
    print_message ("  %u nights\n", each_line (t, SLICEUP_SOURCE_DIR "/tests/sim/by_hand.txt", comes_to));
}

TEST (a_scenario_is_read_as_it_is_printed)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct scenario drawn, read = scenario_calm (1, 1);
        LOCAL_BUF line = { .max = 1 << 16 }, again = { .max = 1 << 16 };
        sweep_draw (seed, &drawn);
        scenario_print (&drawn, &line);
        assert_true (scenario_read (&read, buf_c (&line), NULL));
        scenario_print (&read, &again);
        assert_text (&again, &line);
    }
}

static void tell_broken (void *owner, const struct scenario *scenario, const char *how)
{
    LOCAL_BUF line = { .max = 1 << 16 };
    (void) owner;
    scenario_print (scenario, &line);
    print_error ("broken promise %s: tests/campaign/faults --replay '%s'\n", how, buf_c (&line));
}

TEST (seeds_break_no_promise)
{
    struct sweep sweep = { .first = number_from ("SLICEUP_FAULT_FIRST", 1),
                           .n = number_from ("SLICEUP_FAULT_SEEDS", 300),
                           .again_every = 8,
                           .broken = tell_broken };
    struct swept swept;
    sweep_run (&sweep, &swept);
    print_message ("  %llu seeds, %llu twice: %llu messages, %llu lost, %llu facts, %llu coordinator lives\n",
                   (unsigned long long) swept.seeds, (unsigned long long) swept.again,
                   (unsigned long long) swept.messages, (unsigned long long) swept.lost,
                   (unsigned long long) swept.facts, (unsigned long long) swept.lives);
    assert_int_equal (swept.broken, 0);
    assert_true (swept.lost > 0 && swept.lives > swept.seeds);
}
