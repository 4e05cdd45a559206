#include "coordinator/core/commit.h"

#include "coordinator/core/outbox.h"

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
