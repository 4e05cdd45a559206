/* holder.c - see holder.h. */
#include "worker/core/holder.h"

#include <string.h>
#include "common/model/lease.h"

static bool wants (const struct holder *holder)
{
    return holder->token && !holder->lost;
}

static void forget (struct holder *holder)
{
    uint64_t last_ask = holder->last_ask;
    *holder = (struct holder) { .last_ask = last_ask };
}

void holder_want (struct holder *holder, uint64_t token, uint64_t term_ms)
{
    forget (holder);
    holder->token = token;
    holder->term_ms = term_ms ? term_ms : LEASE_TERM_MS;
}

void holder_drop (struct holder *holder)
{
    forget (holder);
}

/* NULL: never asked, or so long ago that other questions took its place. */
static const uint64_t *sent_ms (const struct holder *holder, uint64_t ask)
{
    uint32_t at = (uint32_t) (ask % HOLDER_ASKS_MAX);
    return ask && holder->asks[at].ask == ask ? &holder->asks[at].sent_ms : NULL;
}

uint64_t holder_ask_at_ms (const struct holder *holder)
{
    if (!wants (holder))
        return UINT64_MAX;
    const uint64_t *last_ms = sent_ms (holder, holder->last_ask);
    return last_ms ? *last_ms + lease_ask_ms (holder->term_ms) : 0;
}

uint64_t holder_stop_at_ms (const struct holder *holder)
{
    return wants (holder) && holder->until_ms ? holder->until_ms - lease_kill_ms (holder->term_ms) : UINT64_MAX;
}

uint64_t holder_deadline_ms (const struct holder *holder)
{
    uint64_t ask_at_ms = holder_ask_at_ms (holder), stop_at_ms = holder_stop_at_ms (holder);
    return ask_at_ms < stop_at_ms ? ask_at_ms : stop_at_ms;
}

bool holder_must_stop (struct holder *holder, uint64_t now_ms)
{
    if (now_ms >= holder_stop_at_ms (holder))
        holder->lost = true;
    return holder->lost;
}

uint64_t holder_ask (struct holder *holder, uint64_t now_ms)
{
    if (holder_must_stop (holder, now_ms) || now_ms < holder_ask_at_ms (holder))
        return 0;
    uint64_t ask = ++holder->last_ask;
    holder->asks[ask % HOLDER_ASKS_MAX].ask = ask;
    holder->asks[ask % HOLDER_ASKS_MAX].sent_ms = now_ms;
    return ask;
}

void holder_hear (struct holder *holder, uint64_t token, uint64_t ask, uint64_t term_ms, uint64_t now_ms)
{
    const uint64_t *asked_ms = sent_ms (holder, ask);
    /* Time first: whoever slept past the end is not woken to life by an answer that waited for it. */
    if (holder_must_stop (holder, now_ms) || token != holder->token || !asked_ms)
        return;
    if (!term_ms) {
        holder->lost = holder->refused = true;
        return;
    }
    /* The shorter of the ordered and the answered term: the grantor counts this one, kills were planned by that. */
    uint64_t until_ms = *asked_ms + lease_holder_ms (term_ms < holder->term_ms ? term_ms : holder->term_ms);
    if (until_ms > holder->until_ms && until_ms > now_ms + lease_kill_ms (holder->term_ms))
        holder->until_ms = until_ms;
}

bool holder_may_write (const struct holder *holder, uint64_t now_ms)
{
    return wants (holder) && holder->until_ms && now_ms < holder_stop_at_ms (holder);
}
