/* member_lease.c - the lease of the attempt that writes a generation, and the heartbeats that carry its questions. */
#include "worker/core/member_state.h"

#include <inttypes.h>

enum { BEAT_APART_MS = 20 }; /* a change is told at once, a storm of changes is not */

void member_hurry (struct member *member, uint64_t now_ms)
{
    uint64_t earliest_ms = member->beaten_ms + BEAT_APART_MS;
    if (earliest_ms < now_ms)
        earliest_ms = now_ms;
    if (earliest_ms < member->beat_at_ms)
        member->beat_at_ms = earliest_ms;
}

uint64_t member_beat_at_ms (const struct member *member)
{
    uint64_t ask_at_ms = lease_client_ask_at_ms (&member->lease_client),
             earliest_ms = member->beaten_ms + BEAT_APART_MS;
    if (ask_at_ms < earliest_ms)
        ask_at_ms = earliest_ms;
    return ask_at_ms < member->beat_at_ms ? ask_at_ms : member->beat_at_ms;
}

static bool writes (const struct member *member)
{
    return current_alive (member) && member->lease_client.token;
}

static struct text why_lost (const struct member *member, struct arena *arena)
{
    const char *started = member->current.started ? "the program may not go on" : "nothing was started";
    const char *how = member->lease_client.refused
                          ? "was refused by the coordinator, which gave it up or to another host"
                          : "ran out: no answer came in time; see whether this host reaches the coordinator";
    return text_format (arena, "the lease to write generation %" PRIu64 " of the cache %s; %s",
                        member->lease_client.token, how, started);
}

void member_watch_lease (struct member *member, uint64_t now_ms, struct member_outbox *out)
{
    if (writes (member) && lease_client_must_stop (&member->lease_client, now_ms) && !member->current.hard)
        current_stop (member, true, ENDING_LEASE_LOST, why_lost (member, &out->arena), now_ms, out);
}

void member_use_lease (struct member *member, uint64_t now_ms, struct member_outbox *out)
{
    if (writes (member) && !member->current.started && lease_client_may_write (&member->lease_client, now_ms))
        current_start (member, out);
}

void member_receive_lease (struct member *member, const struct msg_lease *lease, uint64_t now_ms)
{
    lease_client_receive (&member->lease_client, lease->token, lease->ask, lease->term_ms, now_ms);
}

/* A program that failed by itself did so whatever became of its lease; one that ended well did so for nothing. */
void member_judge_end (struct member *member, struct result *result, uint64_t now_ms, struct member_outbox *out)
{
    if (!writes (member) || !lease_client_must_stop (&member->lease_client, now_ms))
        return;
    result->seal = (struct seal){ 0 };
    if (result->ending != ENDING_EXITED || result->code != 0)
        return;
    result->ending = ENDING_LEASE_LOST;
    if (!result->problem.len)
        result->problem = why_lost (member, &out->arena);
}
