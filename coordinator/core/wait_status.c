/* wait_status.c - what the climb waits for that no host of this run has to do: told to whoever watches when it changes.
 */
#include "coordinator/core/wait_status.h"

#include <inttypes.h>

#include "coordinator/core/acquire.h"
#include "coordinator/core/commit.h"
#include "coordinator/core/outbox.h"

static struct text wait_of (const struct coord *coord, uint64_t now_ms, struct arena *arena)
{
    struct text run = text_clip (coord->soft.lease_owner.run, RUN_SHOWN_BYTES);
    if (coord->state->ended || coord->state->pass.active)
        return (struct text){ 0 };
    if (coord->soft.wants_token && coord->soft.lease_owner.token)
        return text_format (arena, "run %.*s, which writes this cache now (generation %" PRIu64 ")", TEXT_ARG (run),
                            coord->soft.lease_owner.token);
    if (coord->soft.acquisition == ACQUISITION_AUDITING)
        return TEXT_LIT ("the audit of the cache root");
    if (acquire_is_asking (coord))
        return TEXT_LIT ("an answer of the cache's catalogue");
    if (coord->soft.wants_token && lease_state (&coord->soft.lease, now_ms) != LEASE_FREE)
        return text_format (arena, "the lease to write generation %" PRIu64 " to expire", coord->soft.lease.token);
    return (struct text){ 0 };
}

void wait_status_report (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct text now = wait_of (coord, now_ms, &out->arena);
    if (text_equal (now, coord->soft.reported_wait))
        return;
    arena_reset (&coord->soft.reported_arena);
    coord->soft.reported_wait = text_copy (&coord->soft.reported_arena, now);
    struct fact *fact = outbox_fact (out, FACT_CACHE_AWAITED);
    fact->of.cache_awaited.what = now;
    coord_commit (coord, fact, now_ms);
}
