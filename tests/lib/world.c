#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/digest.h"
#include "common/base/rng.h"
#include "common/wire/wire.h"
#include "coordinator/core/coord.h"
#include "coordinator/verdict/reduce.h"
#include "sample.h"
#include "state_record.h"
#include "worker/core/member.h"
#include "world_record.h"

enum { FACTS_MAX = 20000, HOSTS_SIMULATED_MAX = 64, EVENTS_MAX = 1 << 16, HELD_MAX = 8192, FRAME_MAX = 1 << 20 };

enum event_kind {
    EV_TO_COORD,
    EV_TO_HOST,
    EV_FLUSH,
    EV_PROGRAM,
    EV_KILL_COORD,
    EV_RESUME,
    EV_KILL_WORKER,
    EV_RELAUNCH,
    EV_KEYED,
    EV_ASKED
};
struct event {
    uint64_t at_ms, order;
    enum event_kind kind;
    uint32_t host, life;    /* life: of the process it was meant for */
    struct text frame;      /* owned */
    uint64_t number, token; /* FLUSH: durable index; PROGRAM: step; ASKED: question, and whom it takes over from */
};

struct sim_host {
    struct member *member; /* NULL: dead */
    uint32_t life;
    uint64_t own_seq;
    /* what it runs */
    bool running;
    struct arena run_arena;
    struct msg_run run;
    uint32_t step;
    bool waiting_gate, passed_gate;
    enum ending stopping;
    bool hung;
};

struct started {
    uint32_t host;
    struct attempt_key key;
    uint32_t life;
};

struct world {
    struct world_options options;
    struct world_report *report;
    struct rng rng;
    uint64_t now_ms, order, next_token;
    struct event *events; /* a heap by (at_ms, order) */
    uint32_t events_n, events_capacity;
    struct plan plan;
    struct arena arena;
    struct coord *coord; /* NULL: dead */
    uint32_t coord_life;
    struct outbox outbox;
    uint64_t own_seq[HOSTS_SIMULATED_MAX];
    struct sim_fact facts[FACTS_MAX]; /* index - 1 */
    uint64_t recorded, durable;
    struct coord *shadow; /* what a replay of the first `shadowed` facts gives */
    uint64_t shadowed;
    struct {
        uint64_t after;
        struct effect effect;
        struct text frame;
        uint32_t life;
    } * held;
    uint32_t held_n, held_capacity;
    struct sim_host hosts[HOSTS_SIMULATED_MAX];
    struct started *started;
    uint32_t started_n;
    struct fact_generation published; /* the catalogue */
    struct fact_pass_began pass;      /* the last one recorded; its hosts in pass_hosts */
    uint32_t pass_hosts[HOSTS_SIMULATED_MAX];
    uint32_t culprits[2], culprits_n; /* silent: when all of them are in one group, it hangs */
    bool shy, noticed;                /* not when alone; the others end by themselves with words that nobody knows */
    uint64_t lease_owner_until_ms, lease_owner_beats_until_ms; /* another run has the lease, and shows that it lives */
    bool tampered;
    bool put_back;                      /* the journal is an older copy now */
    uint64_t told[HOSTS_SIMULATED_MAX]; /* the newest fact that each living worker was told of */
    bool ended;
};

/* ---- events ---- */

static bool sooner (const struct event *a, const struct event *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static struct event *event_add (struct world *world, uint64_t after_ms, enum event_kind kind)
{
    PROMISE (world, world->events_n < EVENTS_MAX, "too many events are pending");
    world->events = mem_room (world->events, world->events_n, &world->events_capacity, 64, sizeof (*world->events));
    uint32_t at = world->events_n++;
    struct event fresh = { .at_ms = world->now_ms + after_ms, .order = world->order++, .kind = kind };
    while (at > 0 && sooner (&fresh, &world->events[(at - 1) / 2])) {
        world->events[at] = world->events[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    world->events[at] = fresh;
    return &world->events[at];
}

static struct event event_take (struct world *world)
{
    struct event first = world->events[0], last = world->events[--world->events_n];
    uint32_t at = 0, child;
    while ((child = 2 * at + 1) < world->events_n) {
        if (child + 1 < world->events_n && sooner (&world->events[child + 1], &world->events[child]))
            child++;
        if (!sooner (&world->events[child], &last))
            break;
        world->events[at] = world->events[child];
        at = child;
    }
    world->events[at] = last;
    return first;
}

static struct text own (struct text from)
{
    char *copy = mem_alloc (from.len + 1);
    memcpy (copy, from.ptr, from.len);
    return (struct text){ copy, from.len };
}

static bool chance (struct world *world, uint32_t percent)
{
    return rng_below (&world->rng, 100) < percent;
}

static bool faults_over (const struct world *world)
{
    return world->now_ms > 150000;
}

static void post (struct world *world, enum event_kind kind, uint32_t host, uint32_t life, struct text frame)
{
    world->report->messages++;
    bool calm = faults_over (world);
    if (!calm && chance (world, world->options.loss_percent)) {
        world->report->lost++;
        return;
    }
    uint32_t copies = !calm && chance (world, world->options.repeat_percent) ? 2 : 1;
    for (uint32_t i = 0; i < copies; i++) {
        struct event *event = event_add (world, 1 + rng_below (&world->rng, world->options.delay_max_ms + 1), kind);
        event->host = host;
        event->life = life;
        event->frame = own (frame);
    }
}

static struct text encode (const struct msg *msg, struct buf *buf)
{
    buf_init (buf, FRAME_MAX);
    wire_put_msg (buf, msg);
    return buf_as_text (buf);
}

/* ---- the coordinator's side ---- */

static const char run_id[RUN_ID_BYTES + 1] = "0123456789abcdef";

static void note_pass (struct world *world, const struct fact_pass_began *began)
{
    world->pass = *began;
    memcpy (world->pass_hosts, began->hosts.items, began->hosts.n * sizeof (world->pass_hosts[0]));
}

static void record_fact (struct world *world, const struct fact *fact)
{
    if (world->options.hear)
        world->options.hear (world->options.owner, fact);
    if (fact_is_soft (fact->kind))
        return;
    struct buf buf;
    buf_init (&buf, FRAME_MAX);
    wire_put_fact (&buf, fact);
    PROMISE (world, fact->index == world->recorded + 1, "fact %" PRIu64 " follows %" PRIu64, fact->index,
             world->recorded);
    PROMISE (world, world->recorded < FACTS_MAX, "too many facts");
    world->facts[world->recorded].bytes = own (buf_as_text (&buf));
    world->recorded = fact->index;
    buf_release (&buf);
    if (fact->kind == FACT_PASS_BEGAN)
        note_pass (world, &fact->of.pass_began);
    PROMISE (world, fact->kind != FACT_LOSS_TOLD || world->put_back, "a whole journal is doubted: %.*s",
             TEXT_ARG (fact->of.loss_told.why));
    event_add (world, rng_below (&world->rng, 20), EV_FLUSH)->number = fact->index;
}

static void send_frame (struct world *world, const struct effect *effect, struct text *frame)
{
    struct msg msg = *effect->msg;
    msg.major = PROTOCOL_MAJOR;
    msg.run_id = (struct text){ run_id, RUN_ID_BYTES };
    msg.epoch = coord_epoch (world->coord);
    msg.session = effect->session;
    msg.seq = ++world->own_seq[effect->host];
    msg.ack = coord_seen_seq (world->coord, effect->host);
    msg_set_recorded_index (&msg, world->recorded);
    struct buf buf;
    *frame = own (encode (&msg, &buf));
    buf_release (&buf);
}

static void take_outbox (struct world *world)
{
    for (uint32_t i = 0; i < world->outbox.n; i++) {
        struct outbox_item *item = &world->outbox.items[i];
        if (item->is_fact) {
            record_fact (world, &item->fact);
            continue;
        }
        PROMISE (world, world->held_n < HELD_MAX, "too many effects are held");
        world->held = mem_room (world->held, world->held_n, &world->held_capacity, 64, sizeof (*world->held));
        world->held[world->held_n].after = world->recorded;
        world->held[world->held_n].effect = item->effect;
        world->held[world->held_n].life = world->coord_life;
        world->held[world->held_n].frame = (struct text){ 0 };
        if (item->effect.kind == FX_SEND)
            send_frame (world, &item->effect, &world->held[world->held_n].frame);
        if (item->effect.kind ==
            FX_CACHE_PUBLISH) /* the catalogue keeps the newest; its texts live with the coordinator */
            record_copy (fact_record_of_kind (FACT_GENERATION_PUBLISHED), &world->published, item->effect.generation,
                         &world->arena);
        world->held_n++;
    }
    outbox_clear (&world->outbox);
}

static void launch (struct world *world, uint32_t host);

static void perform (struct world *world, const struct effect *effect, struct text frame)
{
    switch (effect->kind) {
    case FX_LAUNCH: launch (world, effect->host); break;
    case FX_SEND: post (world, EV_TO_HOST, effect->host, 0, frame); break;
    case FX_ADMIT:
    case FX_LEASE_BEAT:
    case FX_LEASE_END:
    case FX_CACHE_PUBLISH: break;
    case FX_CACHE_DROP:
        if (world->published.token == effect->token)
            world->published = (struct fact_generation){ 0 };
        break;
    case FX_ASK_HOST:
    case FX_CACHE_AUDIT:
    case FX_CACHE_FIND:
    case FX_TOKEN: {
        struct event *event = event_add (world, effect->kind == FX_ASK_HOST ? 3000 : 5, EV_ASKED);
        event->host = effect->host;
        event->number = effect->kind;
        event->token = effect->lease_owner.token;
        event->life = world->coord_life;
        break;
    }
    case FX_END: world->ended = true; break;
    case FX_FACTS_LOST:
        world->report->doubted = true;
        world->ended = true;
        break;
    }
}

static void release (struct world *world)
{
    uint32_t done = 0;
    while (done < world->held_n && world->held[done].after <= world->durable) {
        perform (world, &world->held[done].effect, world->held[done].frame);
        mem_free ((void *) world->held[done].frame.ptr);
        done++;
    }
    if (done == 0)
        return;
    memmove (world->held, world->held + done, (world->held_n - done) * sizeof (world->held[0]));
    world->held_n -= done;
}

static void replay (struct world *world, struct coord *coord, uint64_t from, uint64_t up_to)
{
    struct arena arena = { 0 };
    for (uint64_t i = from; i < up_to; i++) {
        struct fact fact;
        struct err err = { 0 };
        int rc = wire_get_fact (world->facts[i].bytes, &fact, &arena, &err);
        PROMISE (world, rc == 0, "fact %" PRIu64 " does not decode: %s", i + 1, err.text);
        coord_apply (coord, &fact);
        arena_release (&arena); /* as if read from a disk: what it points at is gone */
    }
}

/* Every prefix that ends with a step, of every journal: replay gives what is alive. */
static void follow_as_replay (struct world *world)
{
    if (!world->shadow) {
        world->shadow = coord_create ();
        world->shadowed = 0;
    }
    replay (world, world->shadow, world->shadowed, world->recorded);
    world->shadowed = world->recorded;
    PROMISE (world, record_equal (&state_record, world->coord->state, world->shadow->state),
             "the first %" PRIu64 " facts do not give the live state", world->recorded);
}

static void coord_input (struct world *world, const struct core_input *in)
{
    if (world->coord == NULL)
        return;
    coord_step (world->coord, in, world->now_ms, &world->outbox);
    take_outbox (world);
    release (world);
    follow_as_replay (world);
}

/* What the copy knows of the pass that runs; its results are made from that. */
static void note_last_pass (struct world *world)
{
    struct arena arena = { 0 };
    for (uint64_t i = 0; i < world->recorded; i++) {
        struct fact fact;
        struct err err = { 0 };
        PROMISE (world, wire_get_fact (world->facts[i].bytes, &fact, &arena, &err) == 0, "fact does not decode: %s",
                 err.text);
        if (fact.kind == FACT_PASS_BEGAN)
            note_pass (world, &fact.of.pass_began);
        arena_reset (&arena);
    }
    arena_release (&arena);
}

/* Somebody puts an older copy of the journal back, mark and all: it agrees with itself. */
static void put_back (struct world *world)
{
    uint64_t older = 1 + rng_below (&world->rng, world->durable);
    for (uint32_t i = 0; i < world->options.hosts; i++)
        world->report->knew_more |= world->hosts[i].member && world->told[i] > older;
    for (uint64_t i = older; i < world->recorded; i++)
        mem_free ((void *) world->facts[i].bytes.ptr);
    world->recorded = world->durable = older;
    world->put_back = world->report->put_back = true;
    note_last_pass (world);
}

static void kill_coord (struct world *world)
{
    if (world->coord == NULL || world->ended)
        return;
    coord_destroy (world->coord);
    coord_destroy (world->shadow); /* its last facts die with the coordinator */
    world->coord = world->shadow = NULL;
    world->coord_life++;
    for (uint32_t i = 0; i < world->held_n; i++)
        mem_free ((void *) world->held[i].frame.ptr);
    world->held_n = 0;
    for (uint64_t i = world->durable; i < world->recorded; i++) /* what was not durable never happened */
        mem_free ((void *) world->facts[i].bytes.ptr);
    world->recorded = world->durable;
    if (world->options.put_back && !world->put_back && world->durable > 0 && chance (world, 50))
        put_back (world);
    event_add (world, 200 + rng_below (&world->rng, 10000), EV_RESUME);
}

static void resume_coord (struct world *world)
{
    world->coord = coord_create ();
    memset (world->own_seq, 0, sizeof (world->own_seq));
    if (world->recorded == 0)
        coord_open (world->coord, text_of ("30313233343536373839616263646566"), &world->plan, &sample_deal_key,
                    text_of ("sim"), 1, world->now_ms, &world->outbox);
    else {
        replay (world, world->coord, 0, world->recorded);
        coord_resume (world->coord, &sample_deal_key, 1, 0, world->now_ms, &world->outbox);
    }
    world->report->epochs++;
    take_outbox (world);
    release (world);
}

/* ---- the hosts' side ---- */

static void host_step (struct world *world, uint32_t at, const struct member_input *in);

static void launch (struct world *world, uint32_t at)
{
    struct sim_host *host = &world->hosts[at];
    if (host->member || at >= world->options.hosts - world->options.strangers)
        return; /* the old process still waits: its key is bound already */
    struct event *event = event_add (world, 10 + rng_below (&world->rng, 50), EV_KEYED);
    event->host = at;
    event->life = ++host->life;
    char name[16];
    snprintf (name, sizeof (name), "host%u", at);
    host->member = member_create (text_of (name), (struct text){ run_id, RUN_ID_BYTES }, text_of ("sim"), 1000 + at,
                                  host->life, text_of ("boot"));
    host->own_seq = 0;
    world->told[at] = 0;
}

static void stop_program (struct sim_host *host)
{
    host->running = false;
    arena_reset (&host->run_arena);
}

static void start_program (struct world *world, uint32_t at, const struct msg_run *run)
{
    struct sim_host *host = &world->hosts[at];
    for (uint32_t i = 0; i < world->started_n; i++) {
        struct started *before = &world->started[i];
        PROMISE (world,
                 !(before->host == at && before->life == host->life && attempt_key_equal (&before->key, &run->key)),
                 "host%u started attempt %u of rung %u twice in one life", at, run->key.attempt, run->key.rung);
        PROMISE (world,
                 world->put_back || run->cache.role != CACHE_ROLE_WRITER || before->host == at ||
                     run->key.pass != PASS_COLD || before->key.pass != PASS_COLD ||
                     !attempt_key_equal (&before->key, &run->key) ||
                     world->plan.rungs.items[run->key.rung].warm == WARM_GANG,
                 "a second host was given the write token of rung %u", run->key.rung);
    }
    if (attempt_key_equal (&run->key, &world->pass.key) && world->pass.purpose == PURPOSE_ISOLATION) {
        PROMISE (world, run->cache.role == CACHE_ROLE_NONE, "a part of the slice was given the cache");
        PROMISE (world,
                 run->world == world->pass.hosts.n && world->pass_hosts[run->rank] == at &&
                     mesh_devices (&run->mesh) == 2 * run->world,
                 "host%u has rank %u of %u and a mesh of %u devices", at, run->rank, run->world,
                 mesh_devices (&run->mesh));
    }
    for (uint32_t i = 0; i < world->options.hosts && run->cache.role == CACHE_ROLE_WRITER; i++)
        PROMISE (world, i == at || !world->hosts[i].running || world->hosts[i].run.cache.role != CACHE_ROLE_WRITER,
                 "host%u began to write the cache while host%u did", at, i);
    world->started = mem_grow (world->started, world->started_n + 1, sizeof (*world->started));
    world->started[world->started_n++] = (struct started){ at, run->key, host->life };
    world->report->programs_started++;
    world->report->started_again += world->put_back;
    stop_program (host);
    record_copy (msg_record_of_kind (MSG_RUN), &host->run, run, &host->run_arena);
    host->running = true;
    host->step = 0;
    host->waiting_gate = host->passed_gate = host->hung = false;
    host->stopping = ENDING_NONE;
    struct event *event = event_add (world, 50, EV_PROGRAM);
    event->host = at;
    event->life = host->life;
}

static void end_program (struct world *world, uint32_t at, enum ending ending, uint32_t code, const char *tail)
{
    struct sim_host *host = &world->hosts[at];
    struct arena arena = { 0 };
    uint64_t secrets[HOSTS_SIMULATED_MAX] = { 0 };
    struct result result;
    struct digest pass_key = deal_pass_key (&sample_deal_key, &host->run.key);
    deal_secrets (&pass_key, host->run.world, 2, secrets);
    sample_result (&host->run, secrets, &result, &arena);
    result.tail = text_of (tail);
    result.ending = ending;
    result.code = code;
    result.done = ending == ENDING_EXITED && code == 0;
    if (!result.done) /* it did not come to its end */
        result.checks.n = result.metrics.n = result.counters.n = 0;
    stop_program (host);
    struct member_input in = { .kind = MEMBER_ENDED, .result = &result };
    host_step (world, at, &in);
    arena_release (&arena);
}

/* An attempt at a pass falls as long as there are so few of it. */
static bool falls_this_once (const struct world *world, const struct msg_run *run)
{
    bool climbs = run->key.pass != PASS_ONCE || world->plan.rungs.items[run->key.rung].warm == WARM_NONE;
    return climbs && run->key.attempt <= world->options.transients && run->rank == world->options.seed % run->world;
}

static bool hangs (const struct world *world, const struct msg_run *run)
{
    bool now = world->options.silent && run->rung.scope == SCOPE_SLICE &&
               attempt_key_equal (&run->key, &world->pass.key);
    if (!now || (world->shy && run->world == 1))
        return false;
    return world_culprits_in (world->culprits, world->culprits_n, world->pass_hosts, world->pass.hosts.n) ==
           world->culprits_n;
}

/* In a collective that never ends: until its time is over, or until it notices that. */
static void hang (struct world *world, uint32_t at)
{
    struct sim_host *host = &world->hosts[at];
    bool notices = world->noticed && world_culprits_in (world->culprits, world->culprits_n, &at, 1) == 0;
    struct event *event = event_add (world, notices ? 4000 + rng_below (&world->rng, 3000) : host->run.rung.timeout_ms,
                                     EV_PROGRAM);
    event->host = at;
    event->life = host->life;
    host->hung = true;
}

static void end_hung (struct world *world, uint32_t at)
{
    if (world->noticed && world_culprits_in (world->culprits, world->culprits_n, &at, 1) == 0)
        end_program (world, at, ENDING_EXITED, 1, "the reduction gave no answer");
    else
        end_program (world, at, ENDING_TIMEOUT, 0, "");
}

/* A program: phase, gate when it is slice-wide, some work, the end. */
static void program_step (struct world *world, uint32_t at)
{
    struct sim_host *host = &world->hosts[at];
    if (!host->running)
        return;
    bool slice = host->run.rung.scope == SCOPE_SLICE;
    if (host->stopping) {
        end_program (world, at, host->stopping, 0, "");
        return;
    }
    if (host->hung) {
        end_hung (world, at);
        return;
    }
    if (host->step == 0) {
        host->step = 1;
        struct member_input in = { .kind = MEMBER_PHASE, .text = TEXT_LIT ("import") };
        host_step (world, at, &in);
    }
    if (slice && !host->passed_gate) {
        if (!host->waiting_gate) {
            host->waiting_gate = true;
            struct member_input in = { .kind = MEMBER_GATE,
                                       .text = TEXT_LIT ("rendezvous"),
                                       .gate_mode = GATE_SHARE,
                                       .gate_value = host->run.rank == 0 ? TEXT_LIT ("127.0.0.1:1") : TEXT_LIT ("") };
            host_step (world, at, &in);
        }
        return;
    }
    if (host->step++ < 3) {
        uint64_t work_ms = world->options.slow ? 100000 : 100;
        struct event *event = event_add (world, work_ms + rng_below (&world->rng, 3000), EV_PROGRAM);
        event->host = at;
        event->life = host->life;
        return;
    }
    if (hangs (world, &host->run)) {
        hang (world, at);
        return;
    }
    bool falls = world->options.fall && slice && at == world->options.hosts - 1;
    falls = falls ||
            (world->options.fall_alone && at == world->options.seed % world->options.hosts && host->run.key.rung == 1);
    if (falls_this_once (world, &host->run))
        end_program (world, at, ENDING_EXITED, 1, "metadata server: 503, try again");
    else
        end_program (world, at, ENDING_EXITED, falls ? 3 : 0, "");
}

static void member_effect (struct world *world, uint32_t at, const struct member_effect *effect)
{
    struct sim_host *host = &world->hosts[at];
    switch (effect->kind) {
    case MEMBER_SEND: {
        struct msg msg = *effect->msg;
        msg.major = PROTOCOL_MAJOR;
        msg.run_id = (struct text){ run_id, RUN_ID_BYTES };
        msg.epoch = member_epoch (host->member);
        msg.session = member_session (host->member);
        msg.seq = ++host->own_seq;
        struct buf buf;
        post (world, EV_TO_COORD, at, 0, encode (&msg, &buf));
        buf_release (&buf);
        break;
    }
    case MEMBER_START: start_program (world, at, &effect->msg->of.run); break;
    case MEMBER_LOOK: break; /* where it stands decides nothing while it runs */
    case MEMBER_GO: {
        host->passed_gate = true;
        struct event *event = event_add (world, 1, EV_PROGRAM);
        event->host = at;
        event->life = host->life;
        break;
    }
    case MEMBER_STOP: {
        host->stopping = effect->ending ? effect->ending : ENDING_CANCELLED;
        struct event *event = event_add (world, effect->hard ? 10 : 10 + rng_below (&world->rng, 2000), EV_PROGRAM);
        event->host = at;
        event->life = host->life;
        break;
    }
    case MEMBER_KEEP:
    case MEMBER_FORGET: break;
    case MEMBER_EXIT: {
        struct member *gone = host->member;
        host->member = NULL;
        host->life++;
        stop_program (host);
        member_destroy (gone);
        break;
    }
    }
}

static void host_step (struct world *world, uint32_t at, const struct member_input *in)
{
    struct sim_host *host = &world->hosts[at];
    if (host->member == NULL)
        return;
    struct member_outbox out;
    member_outbox_init (&out);
    member_step (host->member, in, world->now_ms, &out);
    uint32_t life = host->life;
    for (uint32_t i = 0; i < out.n && host->member && host->life == life; i++)
        member_effect (world, at, &out.items[i]);
    member_outbox_release (&out);
}

static void kill_worker (struct world *world, uint32_t at)
{
    struct sim_host *host = &world->hosts[at];
    if (host->member == NULL || world->ended)
        return;
    member_destroy (host->member);
    host->member = NULL;
    host->life++;
    stop_program (host);
    struct core_input in = { .kind = IN_WORKER_EXITED, .host = at, .text = TEXT_LIT ("killed by signal 9") };
    coord_input (world, &in);
}

/* ---- the clock ---- */

static void deliver_to_coord (struct world *world, const struct event *event)
{
    struct arena arena = { 0 };
    struct msg msg;
    struct err err = { 0 };
    int rc = wire_get_msg (event->frame, &msg, &arena, &err);
    PROMISE (world, rc == 0, "a worker's frame does not decode: %s", err.text);
    char hex[DIGEST_HEX_BYTES] = "";
    struct core_input in = { .kind = IN_MSG, .host = event->host, .msg = &msg };
    if (msg.kind == MSG_RESULT) {
        struct digest digest = digest_of (msg.body.ptr, msg.body.len);
        in.text = text_of (digest_hex (&digest, hex));
    }
    coord_input (world, &in);
    arena_release (&arena);
}

/* Of what it surely takes: in its session, and new. */
static void note_told (struct world *world, uint32_t at, const struct msg *msg)
{
    const struct member *member = world->hosts[at].member;
    if (!member || msg->kind == MSG_WELCOME || msg->session != member_session (member) ||
        msg->epoch != member_epoch (member) || msg->seq <= member_seen_seq (member))
        return;
    if (msg_recorded_index (msg) > world->told[at])
        world->told[at] = msg_recorded_index (msg);
}

static void deliver_to_host (struct world *world, const struct event *event)
{
    struct arena arena = { 0 };
    struct msg msg;
    struct err err = { 0 };
    int rc = wire_get_msg (event->frame, &msg, &arena, &err);
    PROMISE (world, rc == 0, "the coordinator's frame does not decode: %s", err.text);
    struct member_input in = { .kind = MEMBER_MSG, .msg = &msg };
    note_told (world, event->host, &msg);
    host_step (world, event->host, &in);
    arena_release (&arena);
}

/* The catalogue: one run at a time, and who takes over says from whom. */
static void answer_token (struct world *world, uint64_t over)
{
    struct core_input in = { .kind = IN_TOKEN };
    if (world->now_ms < world->lease_owner_until_ms && !over) {
        uint64_t beats_ms = world->now_ms < world->lease_owner_beats_until_ms ? world->now_ms
                                                                              : world->lease_owner_beats_until_ms;
        in.lease_owner = (struct lease_owner){ TEXT_LIT ("00ff00ff00ff00ff00ff00ff00ff00ff"), 1, 1 + beats_ms / 5000 };
    } else {
        PROMISE (world,
                 !over || world->now_ms >= world->lease_owner_beats_until_ms + 30000 ||
                     world->now_ms >= world->lease_owner_until_ms,
                 "the lease of a run was taken over %" PRIu64 " ms after its last beat",
                 world->now_ms - world->lease_owner_beats_until_ms);
        world->lease_owner_until_ms = 0;
        in.token = ++world->next_token;
    }
    coord_input (world, &in);
}

static void answer_audit (struct world *world)
{
    struct cache_root_finding found = { .finding = { .kind = FINDING_CHANGED,
                                                     .token = world->published.token,
                                                     .path = TEXT_LIT ("jit_tiny-cache"),
                                                     .detail = TEXT_LIT ("other bytes") } };
    struct core_input in = { .kind = IN_CACHE_AUDITED, .findings = &found };
    if (world->options.tampered && !world->tampered && world->published.token) {
        world->tampered = true;
        in.findings_n = 1;
    }
    coord_input (world, &in);
}

static void answer_host (struct world *world, uint32_t host)
{
    struct fact_host_asked asked = { .host = host, .address = TEXT_LIT ("10.0.0.1"), .port = 22 };
    asked.ssh = world->hosts[host].member ? REACH_ANSWERS : REACH_SILENT;
    coord_input (world, &(struct core_input){ .kind = IN_HOST_ASKED, .host = host, .asked = &asked });
}

static void answer (struct world *world, const struct event *event)
{
    if (event->life != world->coord_life)
        return;
    if (event->number == FX_TOKEN)
        answer_token (world, event->token);
    else if (event->number == FX_CACHE_AUDIT)
        answer_audit (world);
    else if (event->number == FX_ASK_HOST)
        answer_host (world, event->host);
    else
        coord_input (world, &(struct core_input){ .kind = IN_CACHE_FOUND });
}

static void happen (struct world *world, const struct event *event)
{
    struct sim_host *host = &world->hosts[event->host];
    switch (event->kind) {
    case EV_TO_COORD: deliver_to_coord (world, event); break;
    case EV_TO_HOST: deliver_to_host (world, event); break;
    case EV_FLUSH:
        if (event->number > world->durable && event->number <= world->recorded)
            world->durable = event->number;
        if (world->coord)
            release (world);
        break;
    case EV_PROGRAM:
        if (event->life == host->life)
            program_step (world, event->host);
        break;
    case EV_KILL_COORD: kill_coord (world); break;
    case EV_RESUME: resume_coord (world); break;
    case EV_KILL_WORKER: kill_worker (world, event->host); break;
    case EV_RELAUNCH: break;
    case EV_KEYED: {
        struct core_input in = { .kind = IN_WORKER_KEYED,
                                 .host = event->host,
                                 .text = TEXT_LIT ("0123456789012345678901234567890123456789") };
        coord_input (world, &in);
        break;
    }
    case EV_ASKED: answer (world, event); break;
    }
    mem_free ((void *) event->frame.ptr);
}

/* Deadlines that fell due by `until`; a core whose deadline does not move on when it is served would spin here. */
static bool serve_deadlines (struct world *world, uint64_t until)
{
    uint64_t next = until;
    int who = -1;
    if (world->coord && !world->ended && coord_deadline_ms (world->coord) < next) {
        next = coord_deadline_ms (world->coord);
        who = (int) world->options.hosts;
    }
    for (uint32_t i = 0; i < world->options.hosts; i++)
        if (world->hosts[i].member && member_deadline_ms (world->hosts[i].member) < next) {
            next = member_deadline_ms (world->hosts[i].member);
            who = (int) i;
        }
    if (who < 0)
        return false;
    if (next > world->now_ms)
        world->now_ms = next;
    else
        world->now_ms++; /* time moves while a core works */
    struct core_input tick = { .kind = IN_TICK };
    struct member_input member_tick = { .kind = MEMBER_TICK };
    if (who == (int) world->options.hosts)
        coord_input (world, &tick);
    else
        host_step (world, (uint32_t) who, &member_tick);
    return true;
}

static void plan_faults (struct world *world)
{
    for (uint32_t i = 0; i < world->options.coordinator_kills; i++)
        event_add (world,
                   rng_below (&world->rng, world->options.kills_until_ms ? world->options.kills_until_ms : 60000),
                   EV_KILL_COORD);
    for (uint32_t i = 0; i < world->options.worker_kills; i++) {
        uint64_t after_ms = 500 + rng_below (&world->rng,
                                             world->options.kills_until_ms ? world->options.kills_until_ms : 30000);
        event_add (world, after_ms, EV_KILL_WORKER)->host = (uint32_t) rng_below (&world->rng, world->options.hosts);
    }
}

static void plant (struct world *world)
{
    uint32_t hosts = world->options.hosts, first = (uint32_t) rng_below (&world->rng, hosts);
    if (!world->options.silent)
        return;
    world->culprits[world->culprits_n++] = first;
    if (hosts > 2 && chance (world, 30))
        world->culprits[world->culprits_n++] = (first + 1 + (uint32_t) rng_below (&world->rng, hosts - 1)) % hosts;
    world->shy = chance (world, 50);
    world->noticed = chance (world, 50);
}

static void world_release (struct world *world)
{
    for (uint32_t i = 0; i < world->options.hosts; i++) {
        member_destroy (world->hosts[i].member);
        arena_release (&world->hosts[i].run_arena);
    }
    for (uint32_t i = 0; i < world->events_n; i++)
        mem_free ((void *) world->events[i].frame.ptr);
    for (uint32_t i = 0; i < world->held_n; i++)
        mem_free ((void *) world->held[i].frame.ptr);
    for (uint64_t i = 0; i < world->recorded; i++)
        mem_free ((void *) world->facts[i].bytes.ptr);
    coord_destroy (world->coord);
    coord_destroy (world->shadow);
    outbox_release (&world->outbox);
    arena_release (&world->arena);
    mem_free (world->started);
    mem_free (world->events);
    mem_free (world->held);
    mem_free (world);
}

void world_run (const struct world_options *options, struct world_report *report)
{
    struct world *world = mem_alloc (sizeof (*world));
    *report = (struct world_report){ 0 };
    world->options = *options;
    world->report = report;
    world->rng = rng_seed (options->seed);
    world->now_ms = 1000;
    sample_plan (&world->plan, options->hosts, &world->arena);
    world->plan.launcher = LAUNCHER_SSH; /* hosts of this machine are not asked */
    for (uint32_t i = 0; i < world->plan.rungs.n && options->slow; i++)
        world->plan.rungs.items[i].timeout_ms = 600000;
    world->plan.limits.retries = options->retries;
    world->plan.limits.retry_wait_ms = 2000;
    if (options->worker_kills && options->hosts > 1) { /* one may be gone when it is its turn to write */
        static struct text writers[] = { TEXT_LIT ("host0"), TEXT_LIT ("host1") };
        world->plan.cache.writers.items = writers;
        world->plan.cache.writers.n = 2;
    }
    world->plan.climb = (struct climb_policy){ options->min_hosts < options->hosts ? options->min_hosts : 0,
                                               options->keep_going, options->fail_fast };
    world->plan.profile.splits = options->silent;
    plant (world);
    outbox_init (&world->outbox);
    world->next_token = 1;
    if (options->lease_owner) {
        world->lease_owner_until_ms = chance (world, 50) ? rng_below (&world->rng, 90000) : UINT64_MAX;
        world->lease_owner_beats_until_ms = rng_below (&world->rng, 40000);
    }
    resume_coord (world);
    plan_faults (world);
    while (!world->ended) {
        PROMISE (world, world->now_ms < options->bound_ms, "no verdict within the bound");
        uint64_t until = world->events_n ? world->events[0].at_ms : world->now_ms + 1000;
        if (serve_deadlines (world, until))
            continue;
        if (world->events_n == 0) {
            world->now_ms = until;
            continue;
        }
        struct event event = event_take (world);
        if (event.at_ms > world->now_ms)
            world->now_ms = event.at_ms;
        happen (world, &event);
    }
    world_record_check (&(struct world_record){ .options = *options,
                                                .now_ms = world->now_ms,
                                                .plan = &world->plan,
                                                .facts = world->facts,
                                                .n = world->recorded,
                                                .culprits = world->culprits,
                                                .culprits_n = world->culprits_n },
                        report);
    report->ended_ms = world->now_ms;
    report->facts = (uint32_t) world->recorded;
    world_release (world);
}
