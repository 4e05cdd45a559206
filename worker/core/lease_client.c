#include "worker/core/member_state.h"

#include "common/model/lease.h"

static bool wants (const struct lease_client *lease_client)
{
    return lease_client->token && !lease_client->lost;
}

void lease_client_drop (struct lease_client *lease_client)
{
    uint64_t last_ask = lease_client->last_ask;
    *lease_client = (struct lease_client){ .last_ask = last_ask };
}

void lease_client_want (struct lease_client *lease_client, uint64_t token, uint64_t term_ms)
{
    lease_client_drop (lease_client);
    lease_client->token = token;
    lease_client->term_ms = term_ms ? term_ms : LEASE_TERM_MS;
}

/* NULL: never asked, or replaced by later questions. */
static const uint64_t *sent_ms (const struct lease_client *lease_client, uint64_t ask)
{
    uint32_t at = (uint32_t) (ask % LEASE_CLIENT_ASKS_MAX);
    return ask && lease_client->asks[at].ask == ask ? &lease_client->asks[at].sent_ms : NULL;
}

uint64_t lease_client_ask_at_ms (const struct lease_client *lease_client)
{
    if (!wants (lease_client))
        return UINT64_MAX;
    const uint64_t *last_ms = sent_ms (lease_client, lease_client->last_ask);
    bool answered = lease_client->answered == lease_client->last_ask;
    uint64_t apart_ms = answered ? lease_ask_ms (lease_client->term_ms) : lease_repeat_ms (lease_client->term_ms);
    return last_ms ? *last_ms + apart_ms : 0;
}

void lease_client_ask_again (struct lease_client *lease_client)
{
    lease_client->asks[lease_client->last_ask % LEASE_CLIENT_ASKS_MAX].ask = 0;
}

uint64_t lease_client_stop_at_ms (const struct lease_client *lease_client)
{
    return wants (lease_client) && lease_client->until_ms
               ? lease_client->until_ms - lease_kill_ms (lease_client->term_ms)
               : UINT64_MAX;
}

bool lease_client_must_stop (struct lease_client *lease_client, uint64_t now_ms)
{
    if (now_ms >= lease_client_stop_at_ms (lease_client))
        lease_client->lost = true;
    return lease_client->lost;
}

uint64_t lease_client_begin_ask (struct lease_client *lease_client, uint64_t now_ms)
{
    if (lease_client_must_stop (lease_client, now_ms) || now_ms < lease_client_ask_at_ms (lease_client))
        return 0;
    uint64_t ask = ++lease_client->last_ask;
    lease_client->asks[ask % LEASE_CLIENT_ASKS_MAX].ask = ask;
    lease_client->asks[ask % LEASE_CLIENT_ASKS_MAX].sent_ms = now_ms;
    return ask;
}

void lease_client_receive (struct lease_client *lease, uint64_t token, uint64_t ask, uint64_t term_ms, uint64_t now_ms)
{
    const uint64_t *asked_ms = sent_ms (lease, ask);
    /* Checks the time first, so that a waiting answer does not renew a lease that ended while this process slept. */
    if (lease_client_must_stop (lease, now_ms) || token != lease->token || !asked_ms)
        return;
    if (!term_ms) {
        lease->lost = lease->refused = true;
        return;
    }
    if (ask > lease->answered)
        lease->answered = ask;
    /* The shorter of the answered term, which the grantor counts, and the ordered one, by which kills were planned. */
    uint64_t until_ms = *asked_ms + lease_holder_ms (term_ms < lease->term_ms ? term_ms : lease->term_ms);
    if (until_ms > lease->until_ms && until_ms > now_ms + lease_kill_ms (lease->term_ms))
        lease->until_ms = until_ms;
}

bool lease_client_may_write (const struct lease_client *lease_client, uint64_t now_ms)
{
    return wants (lease_client) && lease_client->until_ms && now_ms < lease_client_stop_at_ms (lease_client);
}
