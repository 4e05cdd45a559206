/* outbox.c - the effects of one step, in order. */
#include "worker/core/member_state.h"

void member_outbox_init (struct member_outbox *out)
{
    *out = (struct member_outbox){ 0 };
    arena_init (&out->arena);
}

void member_outbox_clear (struct member_outbox *out)
{
    out->n = 0;
    arena_reset (&out->arena);
}

void member_outbox_release (struct member_outbox *out)
{
    mem_free (out->items);
    arena_release (&out->arena);
    *out = (struct member_outbox){ 0 };
}

struct member_effect *member_outbox_add (struct member_outbox *out, enum member_effect_kind kind)
{
    out->items = mem_room (out->items, out->n, &out->capacity, 8, sizeof out->items[0]);
    struct member_effect *effect = &out->items[out->n++];
    *effect = (struct member_effect){ .kind = kind };
    return effect;
}

/* Copied, because a held result can be dropped by a later step while the outbox is still being performed. */
struct result *member_outbox_copy_result (struct member_outbox *out, const struct result *result)
{
    struct result *copy = arena_alloc (&out->arena, sizeof *copy);
    record_copy (&result_record, copy, result, &out->arena);
    return copy;
}

struct msg *member_outbox_copy_msg (struct member_outbox *out, const struct msg *msg)
{
    struct msg *copy = arena_copy (&out->arena, msg, sizeof *msg);
    const struct record *body = msg_record_of_kind (msg->kind);
    if (body)
        record_copy (body, &copy->of, &msg->of, &out->arena);
    return copy;
}
