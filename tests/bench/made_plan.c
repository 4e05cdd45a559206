#include "made_plan.h"

static void plan_hosts (struct plan *plan, uint32_t hosts, struct arena *arena)
{
    plan->hosts.items = arena_array (arena, hosts, sizeof (struct plan_host));
    plan->hosts.n = hosts;
    for (uint32_t i = 0; i < hosts; i++) {
        plan->hosts.items[i].name = text_format (arena, BENCH_HOST_FORMAT, i);
        plan->hosts.items[i].address = TEXT_LIT ("127.0.0.1");
    }
    plan->mesh.items = arena_array (arena, 1, sizeof (struct axis));
    plan->mesh.n = 1;
    plan->mesh.items[0] = (struct axis){ TEXT_LIT ("data"), hosts };
}

static void plan_rungs (struct plan *plan, uint32_t rungs, struct arena *arena)
{
    static struct text argv[] = { { "/opt/slice/bin/check-host", 25 },
                                  { "--quiet", 7 },
                                  { "--expect-devices=4", 18 },
                                  { "--within=/sys/class/accel,/sys/class/vfio", 41 } };
    plan->rungs.items = arena_array (arena, rungs, sizeof (struct rung));
    plan->rungs.n = rungs;
    for (uint32_t i = 0; i < rungs; i++) {
        struct rung *rung = &plan->rungs.items[i];
        *rung = (struct rung){ .id = text_format (arena, "no-op-%02u", i),
                               .kind = PROGRAM_COMMAND,
                               .scope = SCOPE_HOST,
                               .warm = WARM_NONE,
                               .timeout_ms = 60000 };
        rung->argv.items = argv;
        rung->argv.n = sizeof argv / sizeof argv[0];
    }
}

static void plan_profile (struct plan *plan)
{
    static struct var env[] = { { { "TPU_PREMAPPED_BUFFER_SIZE", 25 }, { "4294967296", 10 } },
                                { { "JAX_PLATFORMS", 13 }, { "tpu,cpu", 7 } } };
    plan->profile = (struct profile){
        .name = TEXT_LIT ("tpu-v6e"), .frontend = TEXT_LIT ("jax"), .backend = TEXT_LIT ("tpu"), .devices_per_host = 4
    };
    plan->profile.env.items = env;
    plan->profile.env.n = sizeof env / sizeof env[0];
}

void bench_make_plan (struct plan *plan, const struct bench_options *options, struct arena *arena)
{
    *plan = (struct plan){ .slice = TEXT_LIT ("bench"), .launcher = LAUNCHER_JOIN, .ladder = TEXT_LIT ("no-ops") };
    plan_hosts (plan, options->hosts, arena);
    plan_rungs (plan, options->rounds, arena);
    plan_profile (plan);
    plan->cache = (struct cache_plan){ .mode = CACHE_OFF };
    plan->limits = (struct limits){ .join_ms = 600000,
                                    .suspect_ms = 60000, /* a busy machine is none of the run's silences */
                                    .lost_ms = 600000,
                                    .orphan_ms = 120000,
                                    .exit_ms = 1800000,
                                    .cascade_ms = 5000,
                                    .stop_ms = 10000,
                                    .log_bytes = 1 << 20 };
    plan->home = text_of (options->home);
}

/* ---- a result ---- */

/* What a plain command leaves behind: about 600 bytes with its envelope. */
static const char result_tail[] = "loading the profile of this host: 4 devices, 2 processes, 1 link up\n"
                                  "device 0: 16106127360 bytes, temperature 41 C, no errors since boot\n"
                                  "device 1: 16106127360 bytes, temperature 43 C, no errors since boot\n"
                                  "device 2: 16106127360 bytes, temperature 40 C, no errors since boot\n";
static struct var result_facts[] = {
    { { "kernel", 6 }, { "6.1.0-28-cloud-amd64", 20 } },
    { { "machine", 7 }, { "ct6e-standard-4t", 16 } },
    { { "boot", 4 }, { "8f2f6c1e-1d6c-4a8e-b3a4-0c1d4f2e9a77", 36 } },
    { { "hugepages", 9 }, { "always", 6 } },
};
static struct named_number result_counters[] = {
    { { "compile_requests", 16 }, 3 },
    { { "cache_hits", 10 }, 3 },
    { { "executions", 10 }, 128 },
};
static struct value_check result_checks[] = {
    { { "sum", 3 }, 285.5, 285.5, 0.001 },
    { { "norm", 4 }, 16.89, 16.8900001, 0.001 },
};

struct result bench_result_of (const struct attempt_key *key)
{
    struct result result = { .key = *key,
                             .ending = ENDING_EXITED,
                             .done = true,
                             .spoke = true,
                             .duration_ms = 1234,
                             .phase = TEXT_LIT ("run"),
                             .tail = { result_tail, sizeof result_tail - 1 },
                             .output_bytes = sizeof result_tail,
                             .peak_bytes = 734003200 };
    result.facts.items = result_facts;
    result.facts.n = sizeof result_facts / sizeof result_facts[0];
    result.counters.items = result_counters;
    result.counters.n = sizeof result_counters / sizeof result_counters[0];
    result.checks.items = result_checks;
    result.checks.n = sizeof result_checks / sizeof result_checks[0];
    return result;
}
