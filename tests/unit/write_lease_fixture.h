/* write_lease_fixture.h - a coordinator's core with one rung that has a cache, three hosts, and what it said. Include
 * after cmocka.h. */
#ifndef SLICEUP_TESTS_UNIT_WRITE_LEASE_FIXTURE_H
#define SLICEUP_TESTS_UNIT_WRITE_LEASE_FIXTURE_H

#include "coord_bench.h"

enum { HOSTS = 3, TERM_MS = 15000, DELAY_MS = 15000, RETRY_WAIT_MS = 2000 };

enum { TINY = 1, ALL };

static struct climb_policy bench_climb; /* of those that are opened from now on */

/* One rung of the sample's; writers host0 and host1. */
static inline void bench_open_rung_term (struct bench *bench, enum cache_mode mode, uint32_t rung, uint64_t term_ms)
{
    *bench = (struct bench){ .now_ms = 1000 };
    sample_plan (&bench->plan, HOSTS, &bench->arena);
    bench->plan.cache.mode = mode;
    bench->plan.cache.writers.items = arena_array (&bench->arena, 2, sizeof (struct text));
    bench->plan.cache.writers.items[0] = TEXT_LIT ("host0");
    bench->plan.cache.writers.items[1] = TEXT_LIT ("host1");
    bench->plan.cache.writers.n = 2;
    bench->plan.limits.lost_ms = 600000; /* leases are about silence that is shorter than that */
    bench->plan.limits.suspect_ms = 300000;
    bench->plan.limits.lease_ms = term_ms;
    bench->plan.limits.retries = 1;
    bench->plan.limits.retry_wait_ms = RETRY_WAIT_MS;
    bench->plan.climb = bench_climb;
    bench->plan.rungs.items += rung;
    bench->plan.rungs.n = 1;
    bench_begin (bench);
    all_join (bench);
}

static inline void bench_open_rung (struct bench *bench, enum cache_mode mode, uint32_t rung)
{
    bench_open_rung_term (bench, mode, rung, TERM_MS);
}

static inline void bench_open (struct bench *bench, enum cache_mode mode)
{
    bench_open_rung (bench, mode, TINY);
}

static inline const struct effect *last_effect (const struct bench *bench, enum effect_kind kind)
{
    for (uint32_t i = bench->effects_n; i > 0; i--)
        if (bench->effects[i - 1].kind == kind)
            return &bench->effects[i - 1];
    return NULL;
}

static inline uint32_t count_effects (const struct bench *bench, enum effect_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < bench->effects_n; i++)
        n += bench->effects[i].kind == kind;
    return n;
}

static inline void found (struct bench *bench, const struct fact_generation *generation)
{
    struct core_input in = { .kind = IN_CACHE_FOUND, .generation = generation };
    step (bench, &in);
}

static inline void audited (struct bench *bench, const struct cache_root_finding *finding)
{
    struct core_input in = { .kind = IN_CACHE_AUDITED, .findings = finding, .findings_n = finding ? 1 : 0 };
    step (bench, &in);
}

static inline void token (struct bench *bench, uint64_t value)
{
    struct core_input in = { .kind = IN_TOKEN, .token = value };
    step (bench, &in);
}

/* To where host0 has the token 1 and was told to run. */
static inline void open_granted (struct bench *bench)
{
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, NULL);
    audited (bench, NULL);
    token (bench, 1);
    assert_true (bench->ordered[0]);
    assert_int_equal (bench->runs[0].cache.role, CACHE_ROLE_WRITER);
}

static inline void ask (struct bench *bench, uint32_t host, uint64_t lease_token, uint64_t number)
{
    struct holding held = { .key = bench->runs[host].key, .state = ATTEMPT_RUNNING };
    struct msg msg = { .kind = MSG_HEARTBEAT, .of.heartbeat = { .lease_token = lease_token, .lease_ask = number } };
    msg.of.heartbeat.holdings.items = &held;
    msg.of.heartbeat.holdings.n = 1;
    tell (bench, host, &msg);
}

static inline void end_run_of (struct bench *bench, uint32_t host, const struct finding *finding)
{
    struct arena arena = { 0 };
    uint64_t secrets[HOSTS] = { 0 };
    struct msg msg = { .kind = MSG_RESULT };
    sample_result (&bench->runs[host], secrets, &msg.of.result, &arena);
    if (finding) {
        msg.of.result.findings.items = (struct finding *) finding;
        msg.of.result.findings.n = 1;
    }
    tell (bench, host, &msg);
    arena_release (&arena);
}

static inline void end_all (struct bench *bench)
{
    for (uint32_t host = 0; host < HOSTS; host++)
        end_run_of (bench, host, NULL);
}

static inline void restart (struct bench *bench)
{
    restart_at (bench, 0);
    all_join (bench);
}

static const struct finding changed = { FINDING_CHANGED, 1, TEXT_LIT ("jit_tiny-cache"), TEXT_LIT ("other bytes") };

static inline void open_restored (struct bench *bench)
{
    open_granted (bench);
    ask (bench, 0, 1, 1);
    end_run_of (bench, 0, NULL);
    audited (bench, NULL);
    assert_int_equal (bench->runs[1].key.pass, PASS_RESTORED);
}

#endif
