/* retry_fixture.h - a coordinator's core with one slice-wide rung on four hosts, its durable facts, and deaths of it.
 * Include after cmocka.h. */
#ifndef SLICEUP_TESTS_UNIT_RETRY_FIXTURE_H
#define SLICEUP_TESTS_UNIT_RETRY_FIXTURE_H

#include "coordinator/core/state.h"
#include "coordinator/verdict/reduce.h"
#include "fact_copy.h"
#include "sample.h"
#include "test.h"

enum { HOSTS = 4, FACTS_MAX = 256, WAIT_MS = 3000 };

struct bench {
    struct arena arena;
    struct plan plan;
    struct coord *coord;
    struct outbox out;
    struct fact facts[FACTS_MAX]; /* durable ones, copied */
    uint32_t facts_n;
    uint32_t said[MSG_LEASE + 1]; /* by kind */
    bool launched[HOSTS];
    struct msg_run runs[HOSTS]; /* the last one said to each host */
    uint64_t now_ms, seq;
};

static inline void collect (struct bench *bench)
{
    for (uint32_t i = 0; i < bench->out.n; i++) {
        struct outbox_item *item = &bench->out.items[i];
        if (item->is_fact && !fact_is_soft (item->fact.kind))
            fact_copy (&bench->facts[bench->facts_n++], &item->fact, &bench->arena);
        if (!item->is_fact && item->effect.kind == FX_LAUNCH)
            bench->launched[item->effect.host] = true;
        if (item->is_fact || item->effect.kind != FX_SEND)
            continue;
        bench->said[item->effect.msg->kind]++;
        if (item->effect.msg->kind == MSG_RUN)
            record_copy (msg_record_of_kind (MSG_RUN), &bench->runs[item->effect.host], &item->effect.msg->of.run,
                         &bench->arena);
    }
    outbox_clear (&bench->out);
}

static inline void step (struct bench *bench, const struct core_input *in)
{
    coord_step (bench->coord, in, ++bench->now_ms, &bench->out);
    collect (bench);
}

static inline void tick_at (struct bench *bench, uint64_t now_ms)
{
    struct core_input in = { .kind = IN_TICK };
    bench->now_ms = now_ms - 1;
    step (bench, &in);
}

static inline void tell (struct bench *bench, uint32_t host, struct msg *msg)
{
    struct core_input in = { .kind = IN_MSG, .host = host, .msg = msg, .text = text_of ("sha") };
    msg->session = msg->kind == MSG_HELLO ? 0 : bench->coord->state->hosts.items[host].session;
    msg->seq = ++bench->seq;
    step (bench, &in);
}

static inline void join (struct bench *bench, uint32_t host)
{
    struct msg msg = { .kind = MSG_HELLO,
                       .of.hello = { .version = TEXT_LIT ("t"), .pid = 100 + host, .pid_start = 1 } };
    tell (bench, host, &msg);
}

static inline void all_join (struct bench *bench)
{
    for (uint32_t host = 0; host < HOSTS; host++)
        join (bench, host);
}

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
    bench->coord = coord_create ();
    outbox_init (&bench->out);
    coord_open (bench->coord, text_of ("00112233445566778899aabbccddeeff"), &bench->plan, &sample_deal_key,
                text_of ("t"), 1, bench->now_ms, &bench->out);
    collect (bench);
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

static inline void bench_close (struct bench *bench)
{
    coord_destroy (bench->coord);
    outbox_release (&bench->out);
    arena_release (&bench->arena);
}

static inline uint32_t count (const struct bench *bench, enum fact_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < bench->facts_n; i++)
        n += bench->facts[i].kind == kind;
    return n;
}

static inline const struct fact *last (const struct bench *bench, enum fact_kind kind)
{
    for (uint32_t i = bench->facts_n; i > 0; i--)
        if (bench->facts[i - 1].kind == kind)
            return &bench->facts[i - 1];
    return NULL;
}

/* As from a journal: what a fact points at is gone once it was applied. */
static inline void replay (struct bench *bench)
{
    for (uint32_t i = 0; i < bench->facts_n; i++) {
        struct arena arena = { 0 };
        struct fact fact;
        fact_copy (&fact, &bench->facts[i], &arena);
        coord_apply (bench->coord, &fact);
        arena_release (&arena);
    }
}

/* The coordinator dies with everything after the last fact of this kind; another one replays the rest, and hears nobody
 * yet. */
static inline void die_unheard (struct bench *bench, enum fact_kind kind)
{
    while (bench->facts_n > 0 && bench->facts[bench->facts_n - 1].kind != kind)
        bench->facts_n--;
    coord_destroy (bench->coord);
    bench->coord = coord_create ();
    replay (bench);
    memset (bench->said, 0, sizeof (bench->said));
    memset (bench->launched, 0, sizeof (bench->launched));
    coord_resume (bench->coord, &sample_deal_key, 2, 0, ++bench->now_ms, &bench->out);
    collect (bench);
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
    const struct fact_pass_began began = last (bench, FACT_PASS_BEGAN)->of.pass_began;
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
    const struct fact_pass_began *began = &last (bench, FACT_PASS_BEGAN)->of.pass_began;
    struct digest key = deal_pass_key (&sample_deal_key, &began->key);
    deal_secrets (&key, began->hosts.n, bench->plan.profile.devices_per_host, secrets);
}

/* With everything that is asked for as evidence. */
static inline void pass (struct bench *bench)
{
    struct arena arena = { 0 };
    uint64_t secrets[HOSTS] = { 0 };
    const struct fact_pass_began began = last (bench, FACT_PASS_BEGAN)->of.pass_began;
    bench_deal (bench, secrets);
    for (uint32_t i = 0; i < began.hosts.n; i++) {
        struct msg msg = { .kind = MSG_RESULT };
        sample_result (&bench->runs[began.hosts.items[i]], secrets, &msg.of.result, &arena);
        tell (bench, began.hosts.items[i], &msg);
    }
    arena_release (&arena);
}

#endif
