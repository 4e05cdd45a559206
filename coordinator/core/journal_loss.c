/* journal_loss.c - what a worker knows of the run that the journal does not.
 *
 * A host is told nothing in an epoch before its joining in it is durable, nothing of a fact before that is durable, and
 * no attempt before its pass began. So of a worker that knows more than the journal either the word is wrong, or the
 * journal is an older copy. When that is believed nothing is decided from the journal any more, and the fact that says
 * so keeps it from ever being gone on with. A worker process that was started anew knows of nothing but the results that
 * it kept. */
#include "coordinator/core/journal_loss.h"

#include "coordinator/core/loss.h"

static struct text host_name (const struct coord *coord, uint32_t host)
{
    return coord->state->plan.hosts.items[host].name;
}

static bool was_begun (const struct coord *coord, const struct attempt_key *key)
{
    if (key->rung >= coord->state->plan.rungs.n || key->pass > PASS_RESTORED)
        return true; /* of no plan of ours: nonsense is no evidence */
    return key->attempt <= coord->state->rungs.items[key->rung].attempts[key->pass];
}

static struct text unknown_epoch (const struct coord *coord, uint32_t host, uint64_t epoch, struct arena *arena)
{
    if (epoch <= coord->state->epoch)
        return (struct text){ 0 };
    return text_format (arena,
                        "host %.*s has joined epoch %llu, but the last epoch in this journal is %llu: the run was "
                        "continued from another copy of its folder",
                        TEXT_ARG (host_name (coord, host)), (unsigned long long) epoch,
                        (unsigned long long) coord->state->epoch);
}

static struct text unknown_attempt (const struct coord *coord, uint32_t host, const struct attempt_key *key,
                                    struct arena *arena)
{
    if (was_begun (coord, key))
        return (struct text){ 0 };
    return text_format (
        arena, "host %.*s holds attempt %u of rung %.*s, but this journal does not record that this attempt began",
        TEXT_ARG (host_name (coord, host)), (unsigned) key->attempt,
        TEXT_ARG (coord->state->plan.rungs.items[key->rung].id));
}

static struct text unknown_holding (const struct coord *coord, uint32_t host, const struct holding *items, uint32_t n,
                                    struct arena *arena)
{
    struct text why = { 0 };
    for (uint32_t i = 0; i < n && !why.len; i++)
        why = unknown_attempt (coord, host, &items[i].key, arena);
    return why;
}

static struct text unknown_fact (const struct coord *coord, uint32_t host, const struct msg_hello *hello,
                                 struct arena *arena)
{
    const struct host *state = &coord->state->hosts.items[host];
    uint64_t until = state->joined_epoch == coord->state->epoch ? coord->state->next_index - 1 : state->joined_until;
    if (hello->told_epoch > state->joined_epoch)
        return text_format (arena, "host %.*s knows fact %llu of epoch %llu, but here it did not join that epoch",
                            TEXT_ARG (host_name (coord, host)), (unsigned long long) hello->told_index,
                            (unsigned long long) hello->told_epoch);
    if (hello->told_epoch < state->joined_epoch || hello->told_index <= until)
        return (struct text){ 0 };
    return text_format (arena, "host %.*s knows fact %llu of epoch %llu, but here that epoch ends with fact %llu",
                        TEXT_ARG (host_name (coord, host)), (unsigned long long) hello->told_index,
                        (unsigned long long) hello->told_epoch, (unsigned long long) until);
}

static struct text unknown_here (const struct coord *coord, uint32_t host, const struct msg *msg, struct arena *arena)
{
    const struct msg_hello *hello = &msg->of.hello;
    struct text why = unknown_epoch (coord, host, msg->epoch, arena);
    if (why.len)
        return why;
    switch (msg->kind) {
    case MSG_HELLO:
        why = unknown_fact (coord, host, hello, arena);
        return why.len ? why : unknown_holding (coord, host, hello->holdings.items, hello->holdings.n, arena);
    case MSG_HEARTBEAT:
        return unknown_holding (coord, host, msg->of.heartbeat.holdings.items, msg->of.heartbeat.holdings.n, arena);
    case MSG_RESULT: return unknown_attempt (coord, host, &msg->of.result.key, arena);
    default: return why;
    }
}

/* Once; `believed`: again, as the last fact of all. */
static void record_claim (struct coord *coord, const struct fact_loss_told *told, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_LOSS_TOLD);
    fact->of.loss_told = *told;
    coord_commit_fact (coord, fact, now_ms);
}

bool journal_loss_detect (struct coord *coord, uint32_t host, const struct msg *msg, uint64_t now_ms,
                          struct outbox *out)
{
    struct text why = unknown_here (coord, host, msg, &out->arena);
    if (!why.len)
        return false;
    struct fact_loss_told told = { .host = host, .why = why };
    if (msg->kind == MSG_HELLO) {
        told.epoch = msg->of.hello.told_epoch;
        told.index = msg->of.hello.told_index;
    }
    if (!coord->soft.hosts[host].claim.len)
        record_claim (coord, &told, now_ms, out);
    else if (host_is_lost (coord, host)) /* a worker that is believed by nobody keeps no program running */
        coord_add_message (coord, host, MSG_SHUTDOWN, out)->of.shutdown.why = text_copy (&out->arena, why);
    else
        coord->soft.hosts[host].received_ms = coord_to_run_clock (coord, now_ms);
    return true;
}

struct weighing {
    uint32_t claims, others, silent; /* silent: may still speak */
    bool open;                       /* somebody with a claim is not lost yet */
    uint32_t last;                   /* with a claim */
};

static struct weighing weigh (const struct coord *coord)
{
    struct weighing found = { 0 };
    uint64_t since_ms = 0;
    uint32_t n = coord->state->plan.hosts.n;
    for (uint32_t i = 0; i < n; i++) {
        const struct host_soft_state *link = &coord->soft.hosts[i];
        if (!link->claim.len)
            continue;
        found.claims++;
        found.open |= !host_is_lost (coord, i);
        found.last = i;
        since_ms = link->claimed_ms > since_ms ? link->claimed_ms : since_ms;
    }
    for (uint32_t i = 0; i < n && found.open; i++) {
        const struct host *host = &coord->state->hosts.items[i];
        const struct host_soft_state *link = &coord->soft.hosts[i];
        bool here = host->life == HOST_JOINED && !link->claim.len;
        bool spoke = here && host->joined_epoch == coord->state->epoch && link->received_ms > since_ms;
        found.others += spoke;
        found.silent += !spoke && (here || (host_is_awaited (coord, i) && !link->claim.len));
    }
    return found;
}

bool journal_loss_weigh (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    struct weighing found = weigh (coord);
    if (!found.open || coord->state->lost_facts.len || coord->state->ended)
        return coord->state->lost_facts.len > 0;
    if (found.claims > 1 && found.claims > found.others + found.silent) {
        struct text why = coord->soft.hosts[found.last].claim;
        record_claim (coord, &(struct fact_loss_told){ .host = found.last, .why = why, .believed = true }, now_ms, out);
        outbox_add_effect (out, FX_FACTS_LOST)->text = why;
        return true;
    }
    for (uint32_t i = 0; i < coord->state->plan.hosts.n && !found.silent; i++)
        if (coord->soft.hosts[i].claim.len && !host_is_lost (coord, i))
            loss_end_host (coord, i,
                           text_format (&out->arena, "its word about the run is confirmed by no other host: %.*s",
                                        TEXT_ARG (coord->soft.hosts[i].claim)),
                           now_ms, out);
    return found.silent > 0;
}
