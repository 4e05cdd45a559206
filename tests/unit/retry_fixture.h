/* retry_fixture.h - a coordinator's core with one slice-wide rung on four hosts, its durable facts, and deaths of it.
 * Include after cmocka.h. */
#ifndef SLICEUP_TESTS_UNIT_RETRY_FIXTURE_H
#define SLICEUP_TESTS_UNIT_RETRY_FIXTURE_H

#include "coord_bench.h"
#include "coordinator/verdict/reduce.h"

enum { HOSTS = 4, WAIT_MS = 3000 };

/* A run of one slice-wide rung, that nobody has joined; `with` mends the plan. */
static inline void bench_open_alone (struct bench *bench, void (*with) (struct plan *plan))
{
    *bench = (struct bench){ .now_ms = 1000 };
    sample_plan (&bench->plan, HOSTS, &bench->arena);
    bench->plan.rungs.items += 2;
    bench->plan.rungs.n = 1;
    bench->plan.rungs.items[0].warm = WARM_NONE;
    bench->plan.limits.retries = 1;
    bench->plan.limits.retry_wait_ms = WAIT_MS;
    bench->plan.profile.splits = true;
    if (with)
        with (&bench->plan);
    bench_begin (bench);
}

/* The same, which has begun on all hosts. */
static inline void bench_open_with (struct bench *bench, void (*with) (struct plan *plan))
{
    bench_open_alone (bench, with);
    all_join (bench);
}

static inline void bench_open (struct bench *bench)
{
    bench_open_with (bench, NULL);
}

/* The coordinator dies with everything after the last fact of this kind; another one replays the rest, and hears nobody
 * yet. */
static inline void die_unheard (struct bench *bench, enum fact_kind kind)
{
    while (bench->facts_n > 0 && bench->facts[bench->facts_n - 1].kind != kind)
        bench->facts_n--;
    memset (bench->said, 0, sizeof (bench->said));
    bench->effects_n = 0;
    restart_at (bench, 0);
}

static inline void die_after (struct bench *bench, enum fact_kind kind)
{
    die_unheard (bench, kind);
    all_join (bench);
}

static inline void lose (struct bench *bench, uint32_t host)
{
    struct core_input in = { .kind = IN_WORKER_EXITED, .host = host, .text = TEXT_LIT ("killed") };
    step (bench, &in);
}

static inline void cancel (struct bench *bench)
{
    struct core_input in = { .kind = IN_CANCEL, .level = 1 };
    step (bench, &in);
}

static inline void end (struct bench *bench, uint32_t host, enum ending ending, uint32_t code, const char *tail)
{
    struct msg msg = { .kind = MSG_RESULT,
                       .of.result = {
                           .key = bench->runs[host].key, .ending = ending, .code = code, .tail = text_of (tail) } };
    tell (bench, host, &msg);
}

static inline void fall_for_a_while (struct bench *bench)
{
    end (bench, 0, ENDING_EXITED, 1, "metadata server: 503");
    for (uint32_t host = 1; host < HOSTS; host++)
        end (bench, host, ENDING_CANCELLED, 0, "");
}

/* Everybody that takes part in the running pass ends so. */
static inline void end_all (struct bench *bench, enum ending ending, uint32_t code, const char *tail)
{
    const struct fact_pass_began began = last_fact (bench, FACT_PASS_BEGAN)->of.pass_began;
    for (uint32_t i = 0; i < began.hosts.n; i++)
        end (bench, began.hosts.items[i], ending, code, tail);
}

static inline void hang (struct bench *bench)
{
    end_all (bench, ENDING_TIMEOUT, 0, "");
}

/* What the running pass dealt to its hosts. */
static inline void bench_deal (struct bench *bench, uint64_t secrets[])
{
    const struct fact_pass_began *began = &last_fact (bench, FACT_PASS_BEGAN)->of.pass_began;
    struct digest key = deal_pass_key (&sample_deal_key, &began->key);
    deal_secrets (&key, began->hosts.n, bench->plan.profile.devices_per_host, secrets);
}

/* With everything that is asked for as evidence. */
static inline void pass (struct bench *bench)
{
    struct arena arena = { 0 };
    uint64_t secrets[HOSTS] = { 0 };
    const struct fact_pass_began began = last_fact (bench, FACT_PASS_BEGAN)->of.pass_began;
    bench_deal (bench, secrets);
    for (uint32_t i = 0; i < began.hosts.n; i++) {
        struct msg msg = { .kind = MSG_RESULT };
        sample_result (&bench->runs[began.hosts.items[i]], secrets, &msg.of.result, &arena);
        tell (bench, began.hosts.items[i], &msg);
    }
    arena_release (&arena);
}

#endif
