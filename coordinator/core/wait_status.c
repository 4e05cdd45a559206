/* wait_status.c - what the climb waits for that no host of this run has to do: told to whoever watches when it changes.
 */
#include "coordinator/core/wait_status.h"

#include <inttypes.h>

#include "coordinator/core/commit.h"
#include "coordinator/core/outbox.h"

static struct text wait_of (const struct coord *coord, uint64_t now_ms, struct arena *arena)
{
    struct text run = text_clip (coord->lease_owner.run, RUN_SHOWN_BYTES);
    if (coord->ended || coord->pass.active)
        return (struct text){ 0 };
    if (coord->wants_token && coord->lease_owner.token)
        return text_format (arena, "run %.*s, which writes this cache now (generation %" PRIu64 ")", TEXT_ARG (run),
                            coord->lease_owner.token);
    if (coord->asked_audit)
        return TEXT_LIT ("the cache root to be looked over");
    if (coord->asked_cache || coord->asked_token)
        return TEXT_LIT ("the catalogue of the cache");
    if (coord->wants_token && lease_state (&coord->lease, now_ms) != LEASE_FREE)
        return text_format (arena, "the lease of generation %" PRIu64 " to be over for certain", coord->lease.token);
    return (struct text){ 0 };
}

void wait_status_report (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct text now = wait_of (coord, now_ms, &out->arena);
    if (text_equal (now, coord->reported_wait))
        return;
    arena_reset (&coord->reported_arena);
    coord->reported_wait = text_copy (&coord->reported_arena, now);
    struct fact *fact = outbox_fact (out, FACT_CACHE_AWAITED);
    fact->of.cache_awaited.what = now;
    coord_commit (coord, fact, now_ms);
}
