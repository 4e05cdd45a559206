#include "sample.h"

#include <stdio.h>

const struct digest sample_deal_key = { { 7 } };

static void sample_hosts (struct plan *plan, uint32_t hosts, struct arena *arena)
{
    plan->hosts.items = arena_array (arena, hosts, sizeof (struct plan_host));
    plan->hosts.n = hosts;
    for (uint32_t i = 0; i < hosts; i++) {
        plan->hosts.items[i].name = text_format (arena, "host%u", i);
        plan->hosts.items[i].address = TEXT_LIT ("127.0.0.1");
    }
    plan->mesh.items = arena_array (arena, 2, sizeof (struct axis));
    plan->mesh.n = 2;
    plan->mesh.items[0] = (struct axis){ TEXT_LIT ("data"), hosts };
    plan->mesh.items[1] = (struct axis){ TEXT_LIT ("model"), 2 };
}

static void sample_rungs (struct plan *plan, struct arena *arena)
{
    struct rung *rungs = arena_array (arena, 3, sizeof (*rungs));
    rungs[0] = (struct rung){ .id = TEXT_LIT ("facts"),
                              .kind = PROGRAM_BUILTIN,
                              .builtin = TEXT_LIT ("facts"),
                              .scope = SCOPE_HOST,
                              .timeout_ms = 30000 };
    rungs[1] = (struct rung){ .id = TEXT_LIT ("tiny"),
                              .kind = PROGRAM_CANARY,
                              .scope = SCOPE_HOST,
                              .warm = WARM_SOLO,
                              .timeout_ms = 60000,
                              .backend = TEXT_LIT ("cpu") };
    rungs[2] = (struct rung){ .id = TEXT_LIT ("all"),
                              .kind = PROGRAM_CANARY,
                              .scope = SCOPE_SLICE,
                              .warm = WARM_GANG,
                              .timeout_ms = 60000,
                              .backend = TEXT_LIT ("cpu") };
    rungs[2].metrics.items = arena_array (arena, 1, sizeof (struct text));
    rungs[2].metrics.items[0] = TEXT_LIT ("loss");
    rungs[2].metrics.n = 1;
    plan->rungs.items = rungs;
    plan->rungs.n = 3;
}

static void sample_signatures (struct plan *plan, struct arena *arena)
{
    struct signature *signatures = arena_array (arena, 3, sizeof (*signatures));
    signatures[0] = (struct signature){ .id = TEXT_LIT ("gloo-peer"),
                                        .text = TEXT_LIT ("Connection closed by peer"),
                                        .owner = OWNER_PEER,
                                        .peer = true,
                                        .next = TEXT_LIT ("look at the peer") };
    signatures[1] = (struct signature){ .id = TEXT_LIT ("disk-full"),
                                        .text = TEXT_LIT ("No space left on device"),
                                        .owner = OWNER_HOST,
                                        .next = TEXT_LIT ("free space") };
    signatures[2] = (struct signature){ .id = TEXT_LIT ("metadata"),
                                        .text = TEXT_LIT ("metadata server: 503"),
                                        .owner = OWNER_PLATFORM,
                                        .transient = true,
                                        .next = TEXT_LIT ("it passes by itself") };
    plan->signatures.items = signatures;
    plan->signatures.n = 3;
}

void sample_plan (struct plan *plan, uint32_t hosts, struct arena *arena)
{
    *plan = (struct plan){ .slice = TEXT_LIT ("sample"), .launcher = LAUNCHER_LOCAL, .ladder = TEXT_LIT ("sample") };
    sample_hosts (plan, hosts, arena);
    sample_rungs (plan, arena);
    sample_signatures (plan, arena);
    plan->profile = (struct profile){
        .name = TEXT_LIT ("cpu"), .frontend = TEXT_LIT ("jax"), .backend = TEXT_LIT ("cpu"), .devices_per_host = 2
    };
    plan->cache =
        (struct cache_plan){ .mode = CACHE_SINGLE_WRITER, .root = TEXT_LIT ("/cache"), .writer = TEXT_LIT ("host0") };
    plan->cache.least = ENFORCEMENT_LANDLOCK;
    plan->limits = (struct limits){ .join_ms = 30000,
                                    .suspect_ms = 5000,
                                    .lost_ms = 30000,
                                    .orphan_ms = 120000,
                                    .exit_ms = 1800000,
                                    .cascade_ms = 5000,
                                    .stop_ms = 10000,
                                    .log_bytes = 1 << 20,
                                    .lease_ms = 15000 };
    plan->home = TEXT_LIT ("/home");
}

static void add_counter (struct result *result, const char *name, uint64_t value)
{
    result->counters.items[result->counters.n++] = (struct named_number){ text_of (name), value };
}

/* loss: every device contributes its global index as value, weight 1; summed over both axes. */
static void add_metric (const struct msg_run *run, const uint64_t *secrets, struct result *result, struct arena *arena)
{
    uint32_t per_host = run->profile.devices_per_host;
    struct metric *metric = arena_alloc (arena, sizeof (*metric));
    struct text *axes = arena_array (arena, 2, sizeof (*axes));
    axes[0] = TEXT_LIT ("data");
    axes[1] = TEXT_LIT ("model");
    double sum = 0, proof = 0;
    for (uint32_t device = 0; device < run->world * per_host; device++) {
        sum += device;
        proof += (double) (secrets[device / per_host] + device % per_host);
    }
    *metric = (struct metric){ .name = TEXT_LIT ("loss"), .reduction = REDUCTION_SUM, .global = true, .value = sum };
    metric->axes.items = axes;
    metric->axes.n = 2;
    metric->shards.items = arena_array (arena, per_host, sizeof (struct shard));
    metric->shards.n = per_host;
    for (uint32_t i = 0; i < per_host; i++)
        metric->shards.items[i] = (struct shard){ sum, proof, run->rank * per_host + i, 1 };
    result->metrics.items = metric;
    result->metrics.n = 1;
}

static void add_evidence (const struct msg_run *run, struct result *result, struct arena *arena)
{
    uint32_t per_host = run->profile.devices_per_host;
    bool slice = run->rung.scope == SCOPE_SLICE;
    result->backend = (struct observed_backend){ .platform = TEXT_LIT ("cpu"),
                                                 .device_kind = TEXT_LIT ("cpu"),
                                                 .local_devices = per_host,
                                                 .devices = (slice ? run->world : 1) * per_host,
                                                 .process_count = slice ? run->world : 1,
                                                 .process_index = run->rank };
    result->counters.items = arena_array (arena, 8, sizeof (struct named_number));
    add_counter (result, "compile_requests", 3);
    add_counter (result, "cache_hits", run->key.pass == PASS_RESTORED ? 3 : 0);
    add_counter (result, "executions", 1);
    result->checks.items = arena_alloc (arena, sizeof (struct value_check));
    result->checks.items[0] = (struct value_check){ TEXT_LIT ("sum"), 285, 285, 0.001 };
    result->checks.n = 1;
}

void sample_result (const struct msg_run *run, const uint64_t *secrets, struct result *result, struct arena *arena)
{
    *result = (struct result){ .key = run->key,
                               .ending = ENDING_EXITED,
                               .done = true,
                               .spoke = true,
                               .duration_ms = 1000,
                               .phase = TEXT_LIT ("run") };
    if (run->rung.kind != PROGRAM_CANARY)
        return;
    add_evidence (run, result, arena);
    if (run->cache.role != CACHE_ROLE_NONE)
        result->cache.level = ENFORCEMENT_NAMESPACE_LANDLOCK;
    if (run->rung.metrics.n)
        add_metric (run, secrets, result, arena);
    if (run->cache.role == CACHE_ROLE_WRITER)
        result->seal = (struct seal){ .token = run->cache.token,
                                      .entries = 3,
                                      .bytes = 300,
                                      .sha256 = text_format (arena, "%064llu", (unsigned long long) run->cache.token) };
    if (run->cache.role == CACHE_ROLE_READER)
        result->cache_state = TEXT_LIT ("verified");
}
