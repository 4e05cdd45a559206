#include "coordinator/core/steps.h"

void outbox_init (struct outbox *out)
{
    *out = (struct outbox){ 0 };
}

void outbox_clear (struct outbox *out)
{
    out->n = 0;
    arena_reset (&out->arena);
}

void outbox_release (struct outbox *out)
{
    mem_free (out->items);
    arena_release (&out->arena);
    *out = (struct outbox){ 0 };
}

static struct outbox_item *outbox_next (struct outbox *out)
{
    out->items = mem_room (out->items, out->n, &out->capacity, 16, sizeof (*out->items));
    struct outbox_item *item = &out->items[out->n++];
    *item = (struct outbox_item){ 0 };
    return item;
}

struct fact *outbox_add_fact (struct outbox *out, enum fact_kind kind)
{
    struct outbox_item *item = outbox_next (out);
    item->is_fact = true;
    item->fact.kind = kind;
    return &item->fact;
}

struct effect *outbox_add_effect (struct outbox *out, enum effect_kind kind)
{
    struct outbox_item *item = outbox_next (out);
    item->effect.kind = kind;
    return &item->effect;
}

void coord_commit_fact (struct coord *coord, struct fact *fact, uint64_t now_ms)
{
    fact->index = fact_is_soft (fact->kind) ? 0 : coord->state->next_index;
    fact->at_ms = coord_to_run_clock (coord, now_ms);
    coord_apply (coord, fact);
}

struct msg *coord_add_message (struct coord *coord, uint32_t host, enum msg_kind kind, struct outbox *out)
{
    struct msg *msg = arena_alloc (&out->arena, sizeof (*msg));
    msg->kind = kind;
    struct effect *effect = outbox_add_effect (out, FX_SEND);
    effect->host = host;
    effect->session = coord->state->hosts.items[host].session;
    effect->msg = msg;
    coord->soft.hosts[host].sent_ms = coord->soft.clock_ms;
    return msg;
}

/* ---- what workers and the launcher are told to do ---- */

void stop_part (struct coord *coord, uint32_t at, bool hard, struct text why, uint64_t now_ms, struct outbox *out)
{
    const struct part *part = &coord->state->pass.parts.items[at];
    if (part->ended)
        return;
    struct msg *msg = coord_add_message (coord, part->host, MSG_CANCEL, out);
    msg->of.cancel = (struct msg_cancel){ .key = coord->state->pass.key, .hard = hard, .why = why };
    coord->soft.parts[at].stopped = true;
    coord->soft.parts[at].killed |= hard;
    coord->soft.hosts[part->host].stop_sent_ms = coord_to_run_clock (coord, now_ms);
}

void stop_all_parts (struct coord *coord, bool hard, struct text why, uint64_t now_ms, struct outbox *out)
{
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        stop_part (coord, i, hard, why, now_ms, out);
}

void launch_hosts (struct coord *coord, enum host_life life, struct outbox *out)
{
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (coord->state->hosts.items[i].life == life && takes_part (coord, i))
            outbox_add_effect (out, FX_LAUNCH)->host = i;
}

void stop_climb (struct coord *coord, enum outcome outcome, struct text why, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_CLIMB_STOPPED);
    fact->of.climb_stopped = (struct fact_climb_stopped){ .outcome = outcome,
                                                          .why = text_clip (why, SENTENCE_MAX_BYTES) };
    coord_commit_fact (coord, fact, now_ms);
}
