/* scene.c - bench_scene: what one scene of a long run costs.
 *
 *     bench_scene HOSTS RUNGS SCENES
 *
 * Prints one JSON object: ms of CPU for a scene (median and longest), and us for a fact. All rungs but the last have
 * passed, each with its phases and two gates; in the last some hosts failed, the others fell or wait. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/rng.h"
#include "coordinator/picture/scene.h"

enum { HOSTS_LEAST = 8, SCENES_MAX = 10000, WALL_MS = 1700000000 };

struct bench {
    struct feed *feed;
    struct arena arena;
    struct plan plan;
    struct rng rng;
    uint64_t index, at_ms, facts;
};

static double cpu_ms (void)
{
    struct timespec at;
    clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &at);
    return (double) at.tv_sec * 1e3 + (double) at.tv_nsec / 1e6;
}

static void apply (struct bench *bench, struct fact *fact)
{
    fact->index = fact_is_soft (fact->kind) ? 0 : ++bench->index;
    fact->at_ms = bench->at_ms;
    fact->wall_ms = WALL_MS + bench->at_ms;
    feed_apply (bench->feed, fact, fact->wall_ms, fact->wall_ms);
    bench->facts++;
}

static void make_plan (struct bench *bench, uint32_t hosts, uint32_t rungs)
{
    struct plan *plan = &bench->plan;
    static struct axis axes[] = { { TEXT_LIT ("data"), 0 }, { TEXT_LIT ("model"), 64 } };
    axes[0].size = hosts / 16;
    *plan = (struct plan){ .slice = TEXT_LIT ("bench"), .ladder = TEXT_LIT ("long"), .mesh = { axes, 2 } };
    plan->profile.devices_per_host = 4;
    plan->limits.join_ms = 60000;
    plan->hosts.items = arena_array (&bench->arena, hosts, sizeof (*plan->hosts.items));
    plan->rungs.items = arena_array (&bench->arena, rungs, sizeof (*plan->rungs.items));
    for (plan->hosts.n = 0; plan->hosts.n < hosts; plan->hosts.n++)
        plan->hosts.items[plan->hosts.n].name = text_format (&bench->arena, "v6e-%u", plan->hosts.n);
    for (plan->rungs.n = 0; plan->rungs.n < rungs; plan->rungs.n++)
        plan->rungs.items[plan->rungs.n] = (struct rung){ .id = text_format (&bench->arena, "rung%u", plan->rungs.n),
                                                          .scope = SCOPE_SLICE,
                                                          .timeout_ms = 600000 };
}

static struct attempt_key begin (struct bench *bench, uint32_t rung, enum pass pass)
{
    struct fact fact = { .kind = FACT_PASS_BEGAN };
    uint32_t *hosts = arena_array (&bench->arena, bench->plan.hosts.n, sizeof (*hosts));
    for (uint32_t i = 0; i < bench->plan.hosts.n; i++)
        hosts[i] = i;
    fact.of.pass_began.key = (struct attempt_key){ rung, pass, 1 };
    fact.of.pass_began.hosts.items = hosts;
    fact.of.pass_began.hosts.n = bench->plan.hosts.n;
    apply (bench, &fact);
    return fact.of.pass_began.key;
}

static void end (struct bench *bench, uint32_t host, const struct attempt_key *key, struct text line)
{
    static const char *const names[] = { "fetch", "start", "init", "gate:rendezvous", "compile", "gate:agree", "run" };
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED };
    struct result *result = &fact.of.attempt_ended.result;
    struct named_number phases[sizeof (names) / sizeof (names[0])];
    for (uint32_t i = 0; i < sizeof (names) / sizeof (names[0]); i++)
        phases[i] = (struct named_number){ text_of (names[i]), rng_below (&bench->rng, 5000) };
    fact.of.attempt_ended.host = host;
    *result = (struct result){ .key = *key, .ending = ENDING_EXITED, .code = line.len ? 1 : 0, .duration_ms = 20000 };
    result->phase = TEXT_LIT ("run");
    result->phases.items = phases;
    result->phases.n = sizeof (names) / sizeof (names[0]);
    result->shown.items = &line;
    result->shown.n = line.len ? 1 : 0;
    apply (bench, &fact);
}

static void passed (struct bench *bench, uint32_t rung, enum pass pass)
{
    struct attempt_key key = begin (bench, rung, pass);
    struct fact fact = { .kind = FACT_PASS_ENDED };
    for (uint32_t i = 0; i < bench->plan.hosts.n; i++, bench->at_ms++)
        end (bench, i, &key, (struct text){ 0 });
    fact.of.pass_ended = (struct fact_pass_ended){ .key = key, .outcome = OUTCOME_PASSED, .duration_ms = 20000 };
    apply (bench, &fact);
}

/* A pass that ended badly, and its retry, which runs. */
static void run_last (struct bench *bench, uint32_t rung)
{
    struct attempt_key key = begin (bench, rung, PASS_COLD);
    struct fact fact = { .kind = FACT_PASS_ENDED };
    uint32_t hosts = bench->plan.hosts.n;
    struct verdict *verdicts = arena_array (&bench->arena, hosts, sizeof (*verdicts));
    for (uint32_t i = 0; i < hosts; i++)
        verdicts[i] = (struct verdict){ .host = i,
                                        .outcome = i % 7 ? OUTCOME_CASCADE : OUTCOME_FAILED,
                                        .owner = i % 7 ? OWNER_PEER : OWNER_DEVICE,
                                        .cause = i % 7 ? TEXT_LIT ("a peer fell") : TEXT_LIT ("no chip") };
    for (uint32_t i = 0; i < hosts; i++)
        end (bench, i, &key, i % 7 ? TEXT_LIT ("") : TEXT_LIT ("RuntimeError: no chip"));
    fact.of.pass_ended = (struct fact_pass_ended){ .key = key, .outcome = OUTCOME_FAILED, .duration_ms = 20000 };
    fact.of.pass_ended.verdicts.items = verdicts;
    fact.of.pass_ended.verdicts.n = hosts;
    apply (bench, &fact);
    key = begin (bench, rung, PASS_RESTORED);
    for (uint32_t i = 0; i < hosts; i++) {
        static const char *const phases[] = { "fetch", "init", "compile" };
        struct fact beat = { .kind = FACT_HOST_REPORTED };
        struct holding held = { .key = key,
                                .state = i % 3 ? ATTEMPT_RUNNING : ATTEMPT_AT_GATE,
                                .phase = text_of (phases[i % 3]),
                                .phase_ms = i,
                                .gate = TEXT_LIT ("rendezvous") };
        beat.of.host_reported.host = i;
        beat.of.host_reported.holdings.items = &held;
        beat.of.host_reported.holdings.n = 1;
        if (i % 5 == 4)
            end (bench, i, &key, i % 10 == 9 ? TEXT_LIT ("ValueError: shape") : TEXT_LIT (""));
        else
            apply (bench, &beat);
    }
}

static double fill (struct bench *bench)
{
    struct fact fact = { .kind = FACT_RUN_OPENED };
    double began_ms = cpu_ms ();
    fact.of.run_opened = (struct fact_run_opened){ .run = TEXT_LIT ("3fa9c1d2"), .plan = bench->plan };
    apply (bench, &fact);
    for (uint32_t i = 0; i < bench->plan.hosts.n; i++) {
        struct fact joined = { .kind = FACT_HOST_JOINED };
        joined.of.host_joined.host = i;
        apply (bench, &joined);
    }
    for (uint32_t i = 0; i + 1 < bench->plan.rungs.n; i++) {
        passed (bench, i, PASS_COLD);
        passed (bench, i, PASS_RESTORED);
    }
    run_last (bench, bench->plan.rungs.n - 1);
    return (cpu_ms () - began_ms) * 1e3 / (double) bench->facts;
}

static int shortest_first (const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void measure (const struct bench *bench, const char *name, const struct scene_query *query, uint32_t n)
{
    struct arena arena = { 0 };
    struct scene scene;
    double *each = mem_array (n, sizeof (*each));
    for (uint32_t i = 0; i < n; i++) {
        double began_ms = cpu_ms ();
        arena_reset (&arena);
        scene_make (bench->feed, query, WALL_MS + bench->at_ms + 1000, &arena, &scene);
        each[i] = cpu_ms () - began_ms;
    }
    qsort (each, n, sizeof (*each), shortest_first);
    printf (", \"%s\": {\"median_ms\": %.3f, \"longest_ms\": %.3f, \"tiles\": %u, \"groups\": %u, \"kib\": %zu}", name,
            each[n / 2], each[n - 1], scene.tiles_n, scene.groups_n, arena.used_bytes / 1024);
    mem_free (each);
    arena_release (&arena);
}

int main (int argc, char **argv)
{
    struct bench bench = { .feed = feed_create (BOARD_JUDGED_STATE), .rng = rng_seed (1) };
    uint32_t hosts = argc == 4 ? (uint32_t) atoi (argv[1]) : 0, rungs = argc == 4 ? (uint32_t) atoi (argv[2]) : 0,
             scenes = argc == 4 ? (uint32_t) atoi (argv[3]) : 0;
    if (hosts < HOSTS_LEAST || hosts > HOSTS_MAX || rungs < 1 || rungs > RUNGS_MAX || scenes < 1 ||
        scenes > SCENES_MAX) {
        fprintf (stderr, "usage: bench_scene HOSTS RUNGS SCENES\n");
        return 2;
    }
    make_plan (&bench, hosts, rungs);
    printf ("{\"hosts\": %u, \"rungs\": %u, \"us_a_fact\": %.2f", hosts, rungs, fill (&bench));
    struct scene_query query;
    scene_query_init (&query);
    measure (&bench, "by_rank", &query, scenes);
    query.opened = hosts - 1;
    query.order = SCENE_WORST_FIRST;
    query.text = TEXT_LIT ("COMPILE");
    query.hosts = TEXT_LIT ("@*!v6e-[3,17]");
    measure (&bench, "searched", &query, scenes);
    printf ("}\n");
    feed_destroy (bench.feed);
    arena_release (&bench.arena);
    return 0;
}
