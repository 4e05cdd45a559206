/* alone: simulated */
/* A small share of tests/campaign/faults: what once broke a promise (kept_faults.txt), and some seeds. SLICEUP_FAULT_SEEDS: how many
 * (default 1000), from SLICEUP_FAULT_FIRST on. sim/fault_seeds has 20,000 others, without sanitizers. */
#include "sweep.h"
#include "test.h"

static uint64_t number_from (const char *name, uint64_t otherwise)
{
    const char *text = getenv (name);
    return text ? strtoull (text, NULL, 10) : otherwise;
}

static void holds (const char *line)
{
    struct scenario scenario = scenario_calm (1, 1);
    if (!scenario_read (&scenario, line, NULL))
        fail_msg ("cannot read: %s", line);
    if (!sweep_holds (&scenario, NULL))
        fail_msg ("it broke again; alone: tests/campaign/faults --replay '%s'", line);
}

/* Read whole and closed first: the processes in which they run would move the place in the file. */
TEST (what_once_broke_a_promise_keeps_it)
{
    FILE *kept = fopen (SLICEUP_SOURCE_DIR "/tests/sim/kept_faults.txt", "re");
    char *bytes = arena_alloc (&t->arena, 1 << 20), *rest = bytes, *line;
    uint32_t n = 0;
    assert_non_null (kept);
    assert_in_range (fread (bytes, 1, (1 << 20) - 1, kept), 1, (1 << 20) - 2);
    fclose (kept);
    while ((line = strsep (&rest, "\n")) != NULL) {
        if (line[0] == '\0' || line[0] == '#')
            continue;
        holds (line);
        n++;
    }
    print_message ("  %u kept\n", n);
    assert_true (n > 0);
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
                           .n = number_from ("SLICEUP_FAULT_SEEDS", 1000),
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
