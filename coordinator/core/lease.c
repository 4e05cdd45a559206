#include "coordinator/core/lease.h"

#include <assert.h>

#include "common/model/lease.h"

/* All leases sent until now end at over_at_ms; pending writes end at free_at_ms. */
static void count_from (struct lease *lease, uint64_t now_ms)
{
    lease->over_at_ms = now_ms + lease_grantor_ms (lease->term_ms);
    lease->free_at_ms = lease->over_at_ms + lease_delay_ms (lease->term_ms);
}

static void lease_hold (struct lease *lease, uint64_t token, uint32_t host, uint64_t now_ms)
{
    lease->token = token;
    lease->host = host;
    lease->held = true;
    count_from (lease, now_ms);
}

void lease_init (struct lease *lease, uint64_t term_ms)
{
    *lease = (struct lease){ .term_ms = term_ms ? term_ms : LEASE_TERM_MS };
}

void lease_restart (struct lease *lease, uint64_t token, uint32_t host, uint64_t now_ms)
{
    lease_init (lease, lease->term_ms);
    if (token)
        lease_hold (lease, token, host, now_ms); /* as if the last answer was sent now, although it was earlier */
}

enum lease_state lease_state (const struct lease *lease, uint64_t now_ms)
{
    if (!lease->held || now_ms >= lease->free_at_ms)
        return LEASE_FREE;
    return now_ms < lease->over_at_ms ? LEASE_HELD : LEASE_OVER;
}

uint64_t lease_free_at (const struct lease *lease)
{
    return lease->free_at_ms;
}

void lease_grant (struct lease *lease, uint64_t token, uint32_t host, uint64_t now_ms)
{
    assert (lease_state (lease, now_ms) == LEASE_FREE && token > lease->token);
    lease_hold (lease, token, host, now_ms);
}

bool lease_grant_renewal (struct lease *lease, uint64_t token, uint32_t host, uint64_t now_ms)
{
    if (token != lease->token || host != lease->host || lease_state (lease, now_ms) != LEASE_HELD)
        return false;
    count_from (lease, now_ms);
    return true;
}

void lease_note_released (struct lease *lease, uint64_t token)
{
    if (token != lease->token)
        return;
    lease->held = false;
    lease->free_at_ms = 0;
}
