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
    if (out->n == out->capacity) {
        out->capacity = out->capacity ? 2 * out->capacity : 16;
        out->items = mem_grow (out->items, out->capacity, sizeof (*out->items));
    }
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
