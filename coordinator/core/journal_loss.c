/* journal_loss.c - what a worker knows of the run that the journal does not.
 *
 * A host is told nothing in an epoch before its joining in it is durable, nothing of a fact before that is durable, and
 * no attempt before its pass began. So a worker that knows more than the journal is not in error: the journal is, or it
 * is an older copy. Nothing is then decided from it, and the fact that says so keeps it from ever being gone on with. A
 * worker process that was started anew knows of nothing but the results that it kept. */
#include "coordinator/core/journal_loss.h"

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

bool journal_loss_detect (struct coord *coord, uint32_t host, const struct msg *msg, uint64_t now_ms,
                          struct outbox *out)
{
    struct text why = unknown_here (coord, host, msg, &out->arena);
    if (!why.len)
        return false;
    struct fact *fact = outbox_add_fact (out, FACT_LOSS_TOLD);
    fact->of.loss_told = (struct fact_loss_told){ .host = host, .why = why };
    if (msg->kind == MSG_HELLO) {
        fact->of.loss_told.epoch = msg->of.hello.told_epoch;
        fact->of.loss_told.index = msg->of.hello.told_index;
    }
    coord_commit_fact (coord, fact, now_ms);
    outbox_add_effect (out, FX_FACTS_LOST)->text = why;
    return true;
}
