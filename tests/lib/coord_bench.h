/* coord_bench.h - a coordinator's core alone: what it is told, the durable facts it made, what it said and asked for, and
 * deaths of it. Who opens it chooses its plan. */
#ifndef SLICEUP_TESTS_LIB_COORD_BENCH_H
#define SLICEUP_TESTS_LIB_COORD_BENCH_H

#include "coordinator/core/state.h"
#include "fact_copy.h"
#include "sample.h"
#include "test.h"

enum { BENCH_HOSTS_MAX = 4, FACTS_MAX = 512, EFFECTS_MAX = 512 };

struct bench {
    struct arena arena;
    struct plan plan;
    struct coord *coord;
    struct outbox out;
    struct fact facts[FACTS_MAX]; /* durable ones, copied */
    uint32_t facts_n;
    struct effect effects[EFFECTS_MAX]; /* but SEND; texts are copied */
    uint32_t effects_n;
    uint32_t said[MSG_LOOK + 1], said_n;  /* messages by kind; said_n: of the last step */
    struct msg_run runs[BENCH_HOSTS_MAX]; /* the last RUN of each host */
    bool ordered[BENCH_HOSTS_MAX];        /* it had one */
    struct msg_lease leased;              /* the last LEASE, and to whom */
    uint32_t leased_host;
    uint64_t heartbeat_ms, answered_ms; /* of the last WELCOME */
    char awaited[256], lost_facts[256]; /* the last CACHE_AWAITED and FX_FACTS_LOST; empty: none yet */
    uint64_t now_ms, seq;
};

static inline void bench_note_said (struct bench *bench, uint32_t host, const struct msg *msg)
{
    bench->said[msg->kind]++;
    bench->said_n++;
    if (msg->kind == MSG_WELCOME) {
        bench->heartbeat_ms = msg->of.welcome.heartbeat_ms;
        bench->answered_ms = msg->of.welcome.asked_ms;
    }
    if (msg->kind == MSG_LEASE) {
        bench->leased = msg->of.lease;
        bench->leased_host = host;
    }
    if (msg->kind == MSG_RUN) {
        record_copy (msg_record_of_kind (MSG_RUN), &bench->runs[host], &msg->of.run, &bench->arena);
        bench->ordered[host] = true;
    }
}

static inline void bench_note_effect (struct bench *bench, const struct effect *effect)
{
    if (effect->kind == FX_SEND) {
        bench_note_said (bench, effect->host, effect->msg);
        return;
    }
    if (effect->kind == FX_FACTS_LOST)
        assert_true (text_to_c (effect->text, bench->lost_facts, sizeof bench->lost_facts));
    assert_true (bench->effects_n < EFFECTS_MAX);
    struct effect *kept = &bench->effects[bench->effects_n++];
    *kept = *effect;
    kept->text = text_copy (&bench->arena, effect->text);
    kept->covers = text_list_copy (&effect->covers, &bench->arena);
}

static inline void collect (struct bench *bench)
{
    bench->said_n = 0;
    for (uint32_t i = 0; i < bench->out.n; i++) {
        struct outbox_item *item = &bench->out.items[i];
        if (item->is_fact && item->fact.kind == FACT_CACHE_AWAITED)
            text_to_c (item->fact.of.cache_awaited.what, bench->awaited, sizeof (bench->awaited));
        if (item->is_fact && !fact_is_soft (item->fact.kind))
            fact_copy (&bench->facts[bench->facts_n++], &item->fact, &bench->arena);
        else if (!item->is_fact)
            bench_note_effect (bench, &item->effect);
    }
    outbox_clear (&bench->out);
}

/* A run of the plan, which nobody has joined. */
static inline void bench_begin (struct bench *bench)
{
    bench->coord = coord_create ();
    outbox_init (&bench->out);
    coord_open (bench->coord, text_of ("00112233445566778899aabbccddeeff"), &bench->plan, &sample_deal_key,
                text_of ("t"), 1, bench->now_ms, &bench->out);
    collect (bench);
}

static inline void bench_close (struct bench *bench)
{
    coord_destroy (bench->coord);
    outbox_release (&bench->out);
    arena_release (&bench->arena);
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
    for (uint32_t host = 0; host < bench->plan.hosts.n; host++)
        join (bench, host);
}

static inline uint32_t count (const struct bench *bench, enum fact_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < bench->facts_n; i++)
        n += bench->facts[i].kind == kind;
    return n;
}

static inline const struct fact *last_fact (const struct bench *bench, enum fact_kind kind)
{
    for (uint32_t i = bench->facts_n; i > 0; i--)
        if (bench->facts[i - 1].kind == kind)
            return &bench->facts[i - 1];
    return NULL;
}

/* The coordinator dies, and another one replays what was durable and hears nobody yet. As from a journal: what a fact
 * points at is gone once it was applied. */
static inline void restart_at (struct bench *bench, uint64_t wall_ms)
{
    coord_destroy (bench->coord);
    bench->coord = coord_create ();
    for (uint32_t i = 0; i < bench->facts_n; i++) {
        struct arena arena = { 0 };
        struct fact fact;
        fact_copy (&fact, &bench->facts[i], &arena);
        coord_apply (bench->coord, &fact);
        arena_release (&arena);
    }
    coord_resume (bench->coord, &sample_deal_key, 2, wall_ms, ++bench->now_ms, &bench->out);
    collect (bench);
}

#endif
