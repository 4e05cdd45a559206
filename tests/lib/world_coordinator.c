/* world_coordinator.c - the coordinator's side: its process and disk, what it says, and the catalogue that it asks. */
#include "common/base/digest.h"
#include "coordinator/core/coord.h"
#include "sample.h"
#include "state_record.h"
#include "world_state.h"

enum { WALL_MS_0 = 1000000000, FLUSH_MS = 20, TRY_AGAIN_MS = 2000, COMPARED_EVERY = 64 };

static const char run_id[RUN_ID_BYTES + 1] = "0123456789abcdef";

uint64_t coord_now (const struct world *world)
{
    return world->now_ms;
}

/* ---- what it records ---- */

static void fact_read (struct world *world, uint64_t index, struct fact *fact, struct arena *arena)
{
    struct err err = { 0 };
    int rc = wire_get_fact (world->facts[index - 1], fact, arena, &err);
    PROMISE (world, "journal-decodes", rc == 0, "fact %" PRIu64 " does not decode: %s", index, err.text);
}

static void record_fact (struct world *world, struct fact *fact)
{
    LOCAL_BUF buf = { .max = FRAME_MOST };
    fact->wall_ms = WALL_MS_0 + world->now_ms;
    world->report->tally.facts[fact->kind]++;
    if (world->scenario.hear)
        world->scenario.hear (world->scenario.owner, fact);
    if (fact_is_soft (fact->kind))
        return;
    wire_put_fact (&buf, fact);
    PROMISE (world, "fact-fits", record_check (fact_record_of_kind (fact->kind), &fact->of, NULL) && !buf.overflow,
             "%s cannot be recorded", fact_name (fact->kind));
    PROMISE (world, "index-rises", fact->index == world->recorded + 1, "fact %" PRIu64 " follows %" PRIu64, fact->index,
             world->recorded);
    world->facts = mem_room (world->facts, (uint32_t) world->recorded, &world->facts_capacity, 256,
                             sizeof (*world->facts));
    world->facts[world->recorded++] = own_copy (buf_as_text (&buf));
    struct event *event = event_add (world, rng_below (&world->disk, FLUSH_MS), EV_FLUSH);
    event->number = fact->index;
    event->life = world->coord_life;
    world_count (world, COORDINATOR, MOMENT_RECORD);
}

/* What is durable is what the promises are about: nothing else was ever told. */
static void become_durable (struct world *world, uint64_t index)
{
    LOCAL_ARENA arena = { 0 };
    while (world->durable < index) {
        struct fact fact;
        fact_read (world, ++world->durable, &fact, &arena);
        world->promises.now_ms = world->now_ms;
        promises_take (&world->promises, &fact);
        arena_reset (&arena);
    }
}

/* ---- what it says ---- */

static struct said said_of (const struct world *world, const struct effect *effect)
{
    const struct msg *msg = effect->msg;
    struct said said = { .effect = effect->kind, .host = effect->host, .token = effect->token };
    if (effect->kind == FX_CACHE_PUBLISH)
        said.token = effect->generation->token;
    if (effect->kind != FX_SEND)
        return said;
    said.msg = msg->kind;
    said.session = effect->session;
    said.epoch = coord_epoch (world->coord);
    said.key = msg->kind == MSG_RUN ? msg->of.run.key : msg->kind == MSG_GO ? msg->of.go.key : said.key;
    said.key = msg->kind == MSG_RESULT_ACK ? msg->of.ack_result.key : said.key;
    if (msg->kind == MSG_RUN && msg->of.run.cache.role == CACHE_ROLE_WRITER)
        said.token = msg->of.run.cache.token;
    if (msg->kind == MSG_RUN && msg->of.run.cache.role == CACHE_ROLE_READER)
        said.reads = msg->of.run.cache.token;
    if (msg->kind == MSG_LEASE && msg->of.lease.term_ms)
        said.token = msg->of.lease.token;
    return said;
}

static struct text frame_of (struct world *world, const struct effect *effect)
{
    LOCAL_BUF buf = { .max = FRAME_MOST };
    struct msg msg = *effect->msg;
    msg.major = PROTOCOL_MAJOR;
    msg.run_id = (struct text){ run_id, RUN_ID_BYTES };
    msg.epoch = coord_epoch (world->coord);
    msg.session = effect->session;
    msg.seq = ++world->own_seq[effect->host];
    msg.ack = coord_seen_seq (world->coord, effect->host);
    msg_set_recorded_index (&msg, world->recorded);
    if (msg.kind == MSG_WELCOME)
        msg.of.welcome.wall_ms = WALL_MS_0 + world->now_ms;
    wire_put_msg (&buf, &msg);
    return own_copy (buf_as_text (&buf));
}

static void hold (struct world *world, const struct effect *effect)
{
    world->held = mem_room (world->held, world->held_n, &world->held_capacity, 64, sizeof (*world->held));
    struct held *held = &world->held[world->held_n++];
    *held = (struct held){ .after = world->recorded, .effect = *effect, .said = said_of (world, effect) };
    if (effect->kind == FX_SEND)
        held->frame = frame_of (world, effect);
    if (effect->kind == FX_CACHE_FIND) /* texts live with the step that made them */
        world->covers = text_list_copy (&effect->covers, &world->arena);
    if (effect->kind == FX_CACHE_PUBLISH) /* the catalogue keeps the newest */
        record_copy (fact_record_of_kind (FACT_GENERATION_PUBLISHED), &world->published, effect->generation,
                     &world->arena);
}

static void ask (struct world *world, const struct effect *effect)
{
    bool muted = effect->kind != FX_ASK_HOST && world->now_ms < world->mute_until_ms && !world->mute_fails;
    uint64_t after_ms = effect->kind == FX_ASK_HOST ? 3000 : 5;
    struct event *event = event_add (world, muted ? world->mute_until_ms - world->now_ms : after_ms, EV_ASKED);
    event->host = effect->host;
    event->number = effect->kind;
    event->token = effect->lease_owner.token;
    event->beat = effect->lease_owner.beat;
    event->life = world->coord_life;
}

static void say (struct world *world, struct held *held)
{
    const struct fault *large = held->said.msg == MSG_RUN ? fault_pending (world, FAULT_TOO_LARGE, held->said.host)
                                                          : NULL;
    world->report->tally.messages[held->said.msg]++;
    if (world_count (world, COORDINATOR, MOMENT_SEND) || held->said.host >= world->scenario.hosts)
        return;
    if (!large) {
        world_post (world, EV_TO_HOST, held->said.host, held->frame);
        return;
    }
    fault_take (world, large);
    coord_input (world, &(struct core_input){ .kind = IN_RUN_UNDELIVERABLE,
                                              .host = held->said.host,
                                              .key = held->said.key,
                                              .text = TEXT_LIT ("the message is larger than the limit") });
}

static void perform (struct world *world, struct held *held)
{
    const struct effect *effect = &held->effect;
    world->report->tally.effects[effect->kind]++;
    if (world_count (world, COORDINATOR, MOMENT_EFFECT))
        return;
    world->promises.now_ms = world->now_ms;
    promises_hear (&world->promises, &held->said);
    switch (effect->kind) {
    case FX_LAUNCH: host_launch (world, effect->host, 10); break;
    case FX_SEND: say (world, held); break;
    case FX_ADMIT:
        world->hosts[effect->host].admitted = world->hosts[effect->host].member != NULL;
        world->hosts[effect->host].allowed = true;
        break;
    case FX_CACHE_DROP:
        if (world->published.token == effect->token)
            world->published = (struct fact_generation){ 0 };
        break;
    case FX_ASK_HOST:
    case FX_CACHE_AUDIT:
    case FX_CACHE_FIND:
    case FX_TOKEN: ask (world, effect); break;
    case FX_END:
    case FX_FACTS_LOST:
        world->report->doubted |= effect->kind == FX_FACTS_LOST;
        world->silent |= effect->kind == FX_FACTS_LOST;
        world->ended = true;
        world->leaves_ms = world->now_ms + 10000;
        break;
    default: break;
    }
}

/* An effect may make it die, and then nothing is held any more. */
static void release (struct world *world)
{
    uint32_t life = world->coord_life;
    while (world->coord_life == life && world->held_first < world->held_n &&
           world->held[world->held_first].after <= world->durable && !world->silent) {
        struct held taken = world->held[world->held_first++];
        perform (world, &taken);
        mem_free ((void *) taken.frame.ptr);
    }
    if (world->coord_life == life && world->held_first == world->held_n)
        world->held_first = world->held_n = 0;
}

static void take_outbox (struct world *world)
{
    uint32_t life = world->coord_life;
    for (uint32_t i = 0; i < world->outbox.n && world->coord_life == life; i++)
        if (world->outbox.items[i].is_fact)
            record_fact (world, &world->outbox.items[i].fact);
        else
            hold (world, &world->outbox.items[i].effect);
    outbox_clear (&world->outbox);
}

/* ---- replay ---- */

static void replay (struct world *world, struct coord *coord, uint64_t from, uint64_t up_to)
{
    LOCAL_ARENA arena = { 0 };
    for (uint64_t i = from + 1; i <= up_to; i++) {
        struct fact fact;
        fact_read (world, i, &fact, &arena);
        coord_apply (coord, &fact);
        arena_release (&arena); /* as if read from a disk: what it points at is gone */
    }
}

/* Every prefix that ends with a step, of every journal: replay gives what is alive. Where nothing was recorded, nothing may
 * have changed: that is looked at now and then. So is the plan, half of all fields, which nothing changes. */
static void follow_as_replay (struct world *world)
{
    bool fresh = world->shadowed != world->recorded;
    uint32_t fewer = world->scenario.hosts / 8; /* the state grows with the hosts, and so do the facts */
    if (!world->coord || (!fresh && ++world->steps % COMPARED_EVERY) || (fresh && fewer && ++world->fresh % fewer))
        return;
    bool whole = !world->shadow || ++world->compared % COMPARED_EVERY == 0;
    if (!world->shadow)
        world->shadow = coord_create ();
    replay (world, world->shadow, world->shadowed, world->recorded);
    world->shadowed = world->recorded;
    PROMISE (world, "replay",
             record_equal (whole ? &state_record : &state_but_plan_record, world->coord->state, world->shadow->state),
             "the first %" PRIu64 " facts do not give the live state", world->recorded);
}

void coord_input (struct world *world, const struct core_input *in)
{
    if (world->coord == NULL || world->silent)
        return;
    world->report->tally.inputs[in->kind]++;
    coord_step (world->coord, in, coord_now (world), &world->outbox);
    take_outbox (world);
    follow_as_replay (world);
    if (world->coord)
        release (world);
}

/* ---- its process and its disk ---- */

void coord_flush (struct world *world, const struct event *event)
{
    if (event->life != world->coord_life || event->number <= world->durable || event->number > world->recorded)
        return;
    if (world->failing ||
        world->now_ms < world->full_until_ms) { /* as the driver: nothing that rests on it is said, and it leaves */
        const struct fault *failing = world->failing;
        world->failing = NULL;
        coord_kill (world, failing ? failing->amount : TRY_AGAIN_MS, failing ? failing->more : 2);
        return;
    }
    become_durable (world, event->number);
    release (world);
}

static void drop_facts (struct world *world, uint64_t left)
{
    for (uint64_t i = left; i < world->recorded; i++)
        mem_free ((void *) world->facts[i].ptr);
    world->recorded = left;
}

void coord_kill (struct world *world, uint64_t back_ms, uint64_t disk)
{
    uint64_t late = world->recorded - world->durable;
    if (world->coord == NULL)
        return;
    for (uint32_t i = 0; i < world->scenario.hosts; i++) {
        world->hosts[i].allowed = false;
        if (!world->hosts[i].admitted)
            host_kill (world, i); /* without GO it ends with whoever launched it */
    }
    coord_destroy (world->coord);
    coord_destroy (world->shadow); /* its last facts die with the coordinator */
    world->coord = world->shadow = NULL;
    world->shadowed = 0;
    world->coord_life++;
    world->stands_until_ms = 0;
    for (uint32_t i = world->held_first; i < world->held_n; i++)
        mem_free ((void *) world->held[i].frame.ptr);
    world->held_first = world->held_n = 0;
    drop_facts (world, world->durable + (disk == 0 ? 0 : disk == 1 ? late : late / 2));
    if (!world->ended)
        event_add (world, back_ms, EV_RESUME);
}

/* Somebody puts an older copy of the journal back, mark and all: it agrees with itself. */
void coord_put_back (struct world *world, uint64_t permille)
{
    uint64_t older = 1 + world->durable * permille / 1000;
    if (older >= world->durable || world->report->put_back)
        return;
    for (uint32_t i = 0; i < world->scenario.hosts; i++)
        world->report->knew_more |= world->hosts[i].member && world->hosts[i].told > older;
    drop_facts (world, older);
    world->durable = 0;
    world->report->put_back = true;
    promises_forget_durable (&world->promises);
    become_durable (world, older);
}

void coord_begin (struct world *world)
{
    if (world->coord)
        return;
    world->coord = coord_create ();
    memset (world->own_seq, 0, sizeof (world->own_seq));
    if (world->recorded == 0)
        coord_open (world->coord, text_of ("30313233343536373839616263646566"), &world->plan, &sample_deal_key,
                    text_of ("sim"), 1, coord_now (world), &world->outbox);
    else {
        replay (world, world->coord, 0, world->recorded);
        world->told_too_late = coord_ended (world->coord, NULL);
        for (uint32_t i = 0; i < world->scenario.hosts && !world->told_too_late; i++)
            world->hosts[i].allowed = coord_worker_key (world->coord, i).len > 0; /* as the driver does */
        coord_resume (world->coord, &sample_deal_key, 1, WALL_MS_0 + world->now_ms, coord_now (world), &world->outbox);
    }
    world->report->epochs++;
    take_outbox (world);
    follow_as_replay (world);
    struct event *event = event_add (world, rng_below (&world->disk, FLUSH_MS),
                                     EV_FLUSH); /* what was there is durable with it */
    event->number = world->recorded;
    event->life = world->coord_life;
    if (world->coord)
        release (world);
}

/* ---- what it hears ---- */

void coord_deliver (struct world *world, const struct event *event)
{
    LOCAL_ARENA arena = { 0 };
    struct msg msg;
    struct err err = { 0 };
    if (!world->hosts[event->host].allowed && !world->report->put_back)
        return; /* its key is not admitted, so it is not connected; the keys of a slice outlive its journals */
    int rc = wire_get_msg (event->frame, &msg, &arena, &err);
    PROMISE (world, "frame-decodes", rc == 0, "a worker's frame does not decode: %s", err.text);
    char hex[DIGEST_HEX_BYTES] = "";
    struct core_input in = { .kind = IN_MSG, .host = event->host, .msg = &msg };
    if (msg.kind == MSG_RESULT) {
        struct digest digest = digest_of (msg.body.ptr, msg.body.len);
        in.text = text_of (digest_hex (&digest, hex));
    }
    world->report->tally.messages[msg.kind]++;
    coord_input (world, &in);
}

/* One run at a time writes, and who takes over says from whom. */
static void answer_token (struct world *world, const struct event *event)
{
    struct core_input in = { .kind = IN_TOKEN };
    uint64_t beats_ms = least_u64 (world->now_ms, world->lease_owner_beats_until_ms), beat = 1 + beats_ms / 5000;
    bool over = event->token && event->beat == beat; /* else it lives */
    if (world->now_ms < world->mute_until_ms) {
        in.text = TEXT_LIT ("Input/output error");
    } else if (world->now_ms < world->lease_owner_until_ms && !over) {
        in.lease_owner = (struct lease_owner){ TEXT_LIT ("00ff00ff00ff00ff00ff00ff00ff00ff"), 1, beat };
    } else {
        PROMISE (world, "takeover",
                 !over || world->now_ms + 5000 >= world->lease_owner_beats_until_ms + 30000 ||
                     world->now_ms >= world->lease_owner_until_ms,
                 "the lease of a run was taken over %" PRIu64 " ms after its last beat",
                 world->now_ms - world->lease_owner_beats_until_ms);
        world->lease_owner_until_ms = 0;
        in.token = world->given_token = ++world->next_token;
    }
    coord_input (world, &in);
}

static void answer_audit (struct world *world)
{
    struct cache_root_finding found = { .finding = { .kind = world->tampers,
                                                     .token = world->published.token,
                                                     .path = TEXT_LIT ("jit_tiny-cache"),
                                                     .detail = TEXT_LIT ("other bytes") } };
    struct core_input in = { .kind = IN_CACHE_AUDITED, .findings = &found };
    if (world->now_ms < world->mute_until_ms)
        in.text = TEXT_LIT ("Input/output error");
    if (world->tampers && world->published.token) {
        world->tampers = FINDING_NONE;
        in.findings_n = 1;
    }
    coord_input (world, &in);
}

/* What an earlier run left holds the first of the programs that are asked for. */
static void answer_found (struct world *world)
{
    struct fact_generation generation = { .token = world->next_token,
                                          .sha256 = TEXT_LIT (
                                              "0000000000000000000000000000000000000000000000000000000000000001"),
                                          .entries = 3,
                                          .bytes = 300,
                                          .from_run = TEXT_LIT ("00ee00ee00ee00ee00ee00ee00ee00ee") };
    struct core_input in = { .kind = IN_CACHE_FOUND };
    if (world->now_ms < world->mute_until_ms)
        in.text = TEXT_LIT ("Input/output error");
    generation.covers.items = world->covers.items;
    generation.covers.n = world->earlier < world->covers.n ? world->earlier : world->covers.n;
    if (world->earlier && !in.text.len) {
        world->next_token++;
        world->earlier = 0;
        in.generation = &generation;
        in.token = world->promises.misfit = generation.token;
    }
    coord_input (world, &in);
}

static void answer_host (struct world *world, uint32_t host)
{
    struct fact_host_asked asked = { .host = host, .address = TEXT_LIT ("10.0.0.1"), .port = 22 };
    asked.ssh = world->hosts[host].member ? REACH_ANSWERS : REACH_SILENT;
    coord_input (world, &(struct core_input){ .kind = IN_HOST_ASKED, .host = host, .asked = &asked });
}

void coord_answer (struct world *world, const struct event *event)
{
    if (event->life != world->coord_life)
        return;
    switch (event->number) {
    case FX_TOKEN: answer_token (world, event); break;
    case FX_CACHE_AUDIT: answer_audit (world); break;
    case FX_ASK_HOST: answer_host (world, event->host); break;
    default: answer_found (world); break;
    }
}
