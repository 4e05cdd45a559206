#include "sweep.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID_BYTES = 1 << 16, SECONDS_MAX = 120 };

/* ---- what a seed makes ---- */

static const char *const anything[] = {
    /* the network */
    "drop c send ?300",
    "drop h? send ?60",
    "drop h? send ?60",
    "repeat c send ?300 ?9000",
    "repeat h? send ?60 ?9000",
    "late c send ?300 ?12000",
    "late c send ?300 ?40000",
    "late h? send ?60 ?12000",
    "loss all ms ?40000 ?40000 ?30",
    "loss h? ms ?40000 ?40000 ?70",
    "copies all ms ?40000 ?60000 ?40",
    "delay all ms ?40000 ?30000 ?4000",
    "delay h? ms ?40000 ?30000 ?9000",
    "cut-in h? ms ?45000 ?50000",
    "cut-out h? ms ?45000 ?50000",
    "cut-in c ms ?45000 ?20000",
    "cut-out c ms ?45000 ?20000",
    /* processes, clocks, disks */
    "pause c ms ?45000 ?50000",
    "pause h? ms ?45000 ?60000 ?2",
    "jump h? ms ?45000 ?60000",
    "drift h? any 0 ?5 ?5",
    "crash c ms ?45000 ?6000 ?3",
    "crash c send ?300 ?6000 ?3",
    "crash c record ?70 ?6000 ?3",
    "crash c record ?30 ?6000 ?3",
    "crash c effect ?350 ?6000 ?3",
    "crash c ms ?45000 ?300000 ?3",
    "crash h? ms ?45000",
    "crash h? send ?60",
    "crash h? record ?6",
    "crash h? effect ?90",
    "fail c record ?70 ?6000 ?3",
    "full c ms ?45000 ?15000",
    "put-back c ms ?45000 ?1000",
    "off h? ms ?45000",
    "reborn h? ms ?45000 ?9000",
    "reborn h? send ?60 ?9000",
    "reborn h? record ?6 ?5000",
    "reboot h? ms ?45000 ?30000",
    "leave h? ms ?45000",
    "stranger h? any 0",
    /* what a process sent comes after its successor spoke */
    "slow last any 0 ?20000 | late last send ?80 9000 | reborn last send ?90 500",
    /* programs */
    "slow h? any 0 ?40000",
    "fall h? rung ?3 ?3",
    "trip h? rung ?3 ?3",
    "trip h? any 0 ?3",
    "stall h? rung ?3 ?4",
    "stall h? rung 2 ?4",
    "stuck h? rung ?3",
    "differ h? rung ?4 ?3",
    "skip h? rung ?4 ?3",
    "gates all rung ?4 ?10",
    "wrong h? rung ?4 ?6",
    "wrong h? rung ?4 ?6",
    "known-bad all rung ?4",
    /* a long program, and nobody whom it could tell */
    "slow h? any 0 ?80000 | crash c ms ?45000 ?400000 ?3",
    "reborn h? ms ?45000 ?3000 ?40",
    "finding h? rung ?4 ?9 ?2",
    "finding h? rung ?4 ?9",
    "elsewhere h? any 0",
    /* the catalogue and the user */
    "tamper c ms ?45000 ?6",
    "owner c any ?60000 ?60000",
    "taken c ms ?45000",
    "earlier c any 0 ?4 ?2",
    "mute c ms ?45000 ?90000 ?2",
    "mute c ms ?30000 ?900000",
    "cancel c ms ?45000 ?4",
    "look c ms ?45000 ?2",
    "too-large h? ms ?45000",
    "unstored h? ms ?45000",
    /* a host that lies */
    "lie-twice h? send ?40",
    "lie-attempt h? send ?40 ?3",
    "lie-epoch h? send ?60 ?3",
    "lie-session h? send ?60 ?3",
    "lie-holding h? send ?60 ?3",
    "lie-told h? any 0 ?90",
    "lie-seal h? any 0 0 ?2",
    "lie-lease h? send ?60",
};

static uint64_t pick (struct rng *rng, const uint64_t *from, uint64_t n)
{
    return from[rng_below (rng, n)];
}

static void draw_slice (struct rng *rng, struct scenario *scenario)
{
    static const uint64_t sizes[] = { 1, 2, 2, 3, 3, 3, 3, 5, 5, 8 }, large[] = { 12, 16, 32, 64 },
                          delays[] = { 5, 5, 300, 1500 };
    static const char *const ladders[] = { "fta", "fta", "fta", "ta", "fot", "fs", "fots", "a", "ftta", "fcta" };
    static const uint64_t caches[] = { CACHE_SINGLE_WRITER, CACHE_SINGLE_WRITER, CACHE_SINGLE_WRITER,
                                       CACHE_SINGLE_WRITER, CACHE_SINGLE_WRITER, CACHE_SINGLE_WRITER,
                                       CACHE_OFF,           CACHE_PER_HOST,      CACHE_READ_ONLY,
                                       CACHE_WARM_ONLY };
    scenario->hosts = (uint32_t) (rng_below (rng, 250) ? pick (rng, sizes, 10) : pick (rng, large, 4));
    scenario->delay_ms = pick (rng, delays, 4);
    scenario->cache = (enum cache_mode) pick (rng, caches, 10);
    snprintf (scenario->ladder, sizeof (scenario->ladder), "%s", ladders[rng_below (rng, 10)]);
    scenario->writers = 1 + (uint32_t) rng_below (rng, 2);
    scenario->retries = (uint32_t) rng_below (rng, 3);
    scenario->climb.min_hosts = rng_below (rng, 10) < 3 ? 1 + (uint32_t) rng_below (rng, 3) : 0;
    scenario->climb.keep_going = rng_below (rng, 4) == 0;
    scenario->climb.fail_fast = rng_below (rng, 5) == 0;
    scenario->splits = rng_below (rng, 3) == 0;
    scenario->farewell = true;
}

/* One host lies at most: two that agree are believed. */
static void one_liar (struct scenario *scenario)
{
    const struct fault *first = NULL;
    for (uint32_t i = 0; i < scenario->faults_n; i++) {
        struct fault *fault = &scenario->faults[i];
        if (fault->kind < FAULT_LIE_TWICE)
            continue;
        first = first ? first : fault;
        fault->who = first->who;
    }
}

void sweep_draw (uint64_t seed, struct scenario *scenario)
{
    struct rng rng = rng_seed (seed);
    *scenario = scenario_calm (seed, 1);
    draw_slice (&rng, scenario);
    uint64_t n = rng_below (&rng, 8);
    for (uint64_t i = 0; i < n; i++) {
        char line[128];
        snprintf (line, sizeof (line), "| %s", anything[rng_below (&rng, sizeof (anything) / sizeof (anything[0]))]);
        if (!scenario_read (scenario, line, &rng))
            abort ();
    }
    one_liar (scenario);
    scenario->bound_ms = 6000000 + scenario_faults_end_ms (scenario);
}

/* ---- one, in a process of its own ---- */

static void word_after (const char *said, const char *mark, const char *ends, char how[HOW_BYTES])
{
    const char *at = strstr (said, mark);
    if (at)
        snprintf (how, HOW_BYTES, "%.*s", (int) strcspn (at + strlen (mark), ends), at + strlen (mark));
}

/* Named by what broke, not by what it broke with. */
static void how_it_ended (const char *said, int status, char how[HOW_BYTES])
{
    snprintf (how, HOW_BYTES, WIFSIGNALED (status) ? "signal %d" : "status %d",
              WIFSIGNALED (status) ? WTERMSIG (status) : WEXITSTATUS (status));
    word_after (said, "SUMMARY: ", "\n", how);
    word_after (said, "runtime error: ", "\n", how);
    word_after (said, ": Assertion `", "'", how);
    word_after (said, "broken promise ", " ", how);
}

static void run_quietly (const struct scenario *scenario, int said)
{
    struct world_report report;
    dup2 (said, STDERR_FILENO);
    alarm (SECONDS_MAX);
    world_run (scenario, &report);
    exit (0);
}

bool sweep_holds (const struct scenario *scenario, char how[HOW_BYTES])
{
    int said = memfd_create ("said", 0), status = 0;
    char text[SAID_BYTES];
    fflush (NULL);
    pid_t child = fork ();
    if (said < 0 || child < 0)
        abort ();
    if (child == 0)
        run_quietly (scenario, said);
    while (waitpid (child, &status, 0) < 0 && errno == EINTR) {
    }
    ssize_t got = pread (said, text, sizeof (text) - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    close (said);
    if (status && how)
        how_it_ended (text, status, how);
    else if (status)
        fprintf (stderr, "%s", text);
    return status == 0;
}

/* ---- made smaller ---- */

static bool breaks_alike (const struct scenario *scenario, const char *how, uint32_t *runs)
{
    char other[HOW_BYTES];
    ++*runs;
    return !sweep_holds (scenario, other) && strcmp (how, other) == 0;
}

static void without_fault (struct scenario *scenario, uint32_t at)
{
    memmove (&scenario->faults[at], &scenario->faults[at + 1],
             (scenario->faults_n - at - 1) * sizeof (scenario->faults[0]));
    scenario->faults_n--;
}

static void with_hosts (struct scenario *scenario, uint32_t hosts)
{
    scenario->hosts = hosts;
    for (uint32_t i = scenario->faults_n; i-- > 0;)
        if (scenario->faults[i].who >= hosts && scenario->faults[i].who < HOSTS_SIMULATED_MAX)
            without_fault (scenario, i);
}

/* What is set besides faults, one at a time, to what a calm run has. */
static bool calmer (struct scenario *scenario, uint32_t step)
{
    struct scenario before = *scenario, calm = scenario_calm (scenario->seed, scenario->hosts);
    switch (step) {
    case 0: scenario->retries = 0; break;
    case 1: scenario->climb.min_hosts = 0; break;
    case 2: scenario->climb.keep_going = false; break;
    case 3: scenario->climb.fail_fast = false; break;
    case 4: scenario->splits = false; break;
    case 5: scenario->delay_ms = calm.delay_ms; break;
    case 6: scenario->writers = 1; break;
    case 7: scenario->farewell = false; break;
    }
    return memcmp (&before, scenario, sizeof (before)) != 0;
}

uint32_t sweep_shrink (struct scenario *scenario, const char *how)
{
    uint32_t runs = 0;
    bool smaller = true;
    while (smaller) {
        struct scenario tried;
        smaller = false;
        for (uint32_t i = scenario->faults_n; i-- > 0;) {
            tried = *scenario;
            without_fault (&tried, i);
            if (breaks_alike (&tried, how, &runs)) {
                *scenario = tried;
                smaller = true;
            }
        }
        for (uint32_t hosts = scenario->hosts / 2; hosts > 0 && hosts < scenario->hosts; hosts++) {
            tried = *scenario;
            with_hosts (&tried, hosts);
            if (breaks_alike (&tried, how, &runs)) {
                *scenario = tried;
                smaller = true;
            }
        }
        for (uint32_t step = 0; step < 8; step++) {
            tried = *scenario;
            if (calmer (&tried, step) && breaks_alike (&tried, how, &runs)) {
                *scenario = tried;
                smaller = true;
            }
        }
    }
    return runs;
}

/* ---- many ---- */

static void add_tally (struct tally *to, const struct tally *from)
{
    uint32_t *sums = (uint32_t *) to;
    const uint32_t *more = (const uint32_t *) from;
    for (size_t i = 0; i < sizeof (*to) / sizeof (uint32_t); i++)
        sums[i] = sums[i] + more[i] < sums[i] ? UINT32_MAX : sums[i] + more[i];
}

static void add_report (struct swept *swept, const struct world_report *report)
{
    swept->seeds++;
    swept->messages += report->messages;
    swept->lost += report->lost;
    swept->facts += report->facts;
    swept->lives += report->epochs;
    swept->programs += report->programs_started;
    swept->passed += report->outcome == OUTCOME_PASSED;
    swept->doubted += report->doubted;
    add_tally (&swept->tally, &report->tally);
}

static void run_seed (const struct sweep *sweep, uint64_t seed, struct swept *swept)
{
    struct scenario scenario;
    struct world_report report, again;
    alarm (SECONDS_MAX);
    sweep_draw (seed, &scenario);
    world_run (&scenario, &report);
    add_report (swept, &report);
    if (!sweep->again_every || seed % sweep->again_every)
        return;
    world_run (&scenario, &again);
    swept->again++;
    if (!digest_equal (&report.journal, &again.journal)) {
        fprintf (stderr, "broken promise same-seed at %llu ms: two runs of one seed ended differently\n",
                 (unsigned long long) report.ended_ms);
        abort ();
    }
}

static void run_all (const struct sweep *sweep, struct swept *shared)
{
    if (!freopen ("/dev/null", "w", stderr))
        abort ();
    mallopt (M_MMAP_THRESHOLD, 1 << 26); /* what a world had is the next one's: nothing goes back to the kernel */
    mallopt (M_TRIM_THRESHOLD, 1 << 28);
    while (shared->seeds < sweep->n)
        run_seed (sweep, sweep->first + shared->seeds, shared);
    exit (0);
}

static void take_broken (const struct sweep *sweep, uint64_t seed)
{
    struct scenario scenario;
    char how[HOW_BYTES] = "same-seed";
    sweep_draw (seed, &scenario);
    if (!sweep_holds (&scenario, how) && !sweep->until_broken)
        sweep_shrink (&scenario, how);
    sweep->broken (sweep->owner, &scenario, how);
}

void sweep_run (const struct sweep *sweep, struct swept *swept)
{
    struct swept *shared = mmap (NULL, sizeof (*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        abort ();
    *shared = (struct swept){ 0 };
    while (shared->seeds < sweep->n) {
        int status = 0;
        fflush (NULL);
        pid_t child = fork ();
        if (child == 0)
            run_all (sweep, shared);
        while (waitpid (child, &status, 0) < 0 && errno == EINTR) {
        }
        if (status == 0)
            break;
        shared->broken++;
        take_broken (sweep, sweep->first + shared->seeds++);
        if (sweep->until_broken)
            break;
    }
    *swept = *shared;
    munmap (shared, sizeof (*shared));
}
