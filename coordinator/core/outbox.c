#include "coordinator/core/outbox.h"

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
    out->items = mem_more (out->items, out->n, &out->capacity, sizeof (*out->items));
    struct outbox_item *item = &out->items[out->n++];
    *item = (struct outbox_item){ 0 };
    return item;
}

struct fact *outbox_fact (struct outbox *out, enum fact_kind kind)
{
    struct outbox_item *item = outbox_next (out);
    item->is_fact = true;
    item->fact.kind = kind;
    return &item->fact;
}

struct effect *outbox_effect (struct outbox *out, enum effect_kind kind)
{
    struct outbox_item *item = outbox_next (out);
    item->effect.kind = kind;
    return &item->effect;
}

void coord_commit (struct coord *coord, struct fact *fact, uint64_t now_ms)
{
    fact->index = fact_is_soft (fact->kind) ? 0 : coord->state->next_index;
    fact->at_ms = coord_clock (coord, now_ms);
    coord_apply (coord, fact);
}

struct msg *coord_send (struct coord *coord, uint32_t host, enum msg_kind kind, struct outbox *out)
{
    struct msg *msg = arena_alloc (&out->arena, sizeof (*msg));
    msg->kind = kind;
    struct effect *effect = outbox_effect (out, FX_SEND);
    effect->host = host;
    effect->session = coord->state->hosts.items[host].session;
    effect->msg = msg;
    coord->soft.hosts[host].sent_ms = coord->soft.clock_ms;
    return msg;
}
