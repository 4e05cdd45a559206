/* loss.c - handles lost hosts, attempts that nobody will report, and peers of failed ones. */
#include "coordinator/core/steps.h"

/* A lost host is no failure if the climb may go on without it. */
static bool fails_fast (const struct coord *coord)
{
    const struct pass_state *pass = &coord->state->pass;
    for (uint32_t i = 0; i < pass->parts.n && coord->state->plan.climb.fail_fast; i++) {
        const struct result *result = &pass->parts.items[i].result;
        bool lost = result->ending == ENDING_LOST && coord->state->plan.climb.min_hosts;
        if (pass->parts.items[i].ended && result_ended_badly (result) && !lost)
            return true;
    }
    return false;
}

static bool cascading (const struct coord *coord)
{
    return coord->state->pass.active && coord->state->pass.failing &&
           (!parts_are_independent (coord) || fails_fast (coord));
}

static void stop_peers (struct coord *coord, bool at_gate, uint64_t now_ms, struct outbox *out)
{
    for (uint32_t i = 0; i < coord->state->pass.parts.n; i++)
        if (coord->soft.parts[i].at_gate >= at_gate && !coord->soft.parts[i].stopped)
            stop_part (coord, i, false, TEXT_LIT ("another host failed"), now_ms, out);
}

void loss_stop_waiting_peers (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (cascading (coord))
        stop_peers (coord, true, now_ms, out); /* at a gate they wait for one that will not come */
}

/* One limit ends all hosts of a slice, and who runs into it first is no cause: the others get there, too. The cache's
 * writer gets there last, as it began once it had its lease. */
uint64_t loss_cascade_at (const struct coord *coord)
{
    uint64_t grace_ms = coord->state->plan.limits.cascade_ms;
    if (!cascading (coord))
        return UINT64_MAX;
    if (!parts_are_independent (coord) && !coord->state->pass.failed_in_time)
        grace_ms += lease_ask_ms (coord->soft.lease.term_ms);
    else if (coord->state->plan.climb.fail_fast)
        grace_ms = 0;
    return coord->state->pass.failed_ms + grace_ms;
}

void loss_stop_peers_when_due (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    if (coord_to_run_clock (coord, now_ms) >= loss_cascade_at (coord))
        stop_peers (coord, false, now_ms, out);
}

/* The running attempt died with the worker process that held it. */
void loss_end_running_attempt (struct coord *coord, uint32_t host, struct text why, uint64_t now_ms, struct outbox *out)
{
    const struct pass_state *pass = &coord->state->pass;
    uint32_t at = pass->active ? coord->soft.part_of_host[host] : NONE;
    if (at == NONE || pass->parts.items[at].ended)
        return;
    struct fact *fact = outbox_add_fact (out, FACT_ATTEMPT_ENDED);
    fact->of.attempt_ended = (struct fact_attempt_ended){
        .host = host,
        .at_gate = coord->soft.hosts[host].at_gate,
        .result = { .key = pass->key, .ending = ENDING_LOST, .problem = why },
    };
    coord_commit_fact (coord, fact, now_ms);
    loss_stop_waiting_peers (coord, now_ms, out);
}

void loss_end_host (struct coord *coord, uint32_t host, struct text why, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_HOST_LOST);
    why = text_clip (why, SENTENCE_MAX_BYTES);
    fact->of.host_lost = (struct fact_host_lost){ .host = host, .why = why };
    coord_commit_fact (coord, fact, now_ms);
    loss_end_running_attempt (coord, host, why, now_ms, out);
}

void loss_end_attempt (struct coord *coord, uint32_t host, enum ending ending, struct text why, uint64_t now_ms,
                       struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_ATTEMPT_ENDED);
    fact->of.attempt_ended.host = host;
    fact->of.attempt_ended.result = (struct result){ .key = coord->state->pass.key, .ending = ending, .problem = why };
    coord_commit_fact (coord, fact, now_ms);
}

/* ---- journal loss ---- */

/* Claims of facts that the journal lacks.
 * 
 * A host gets no message in an epoch before its join is durable, none about a fact before that is durable, and no
 * attempt before its pass began. So if a worker knows more, it is wrong or the journal is an older copy. A new worker
 * process knows only the results that it kept. */

static struct text loss_host_name (const struct coord *coord, uint32_t host)
{
    return coord->state->plan.hosts.items[host].name;
}

static bool was_begun (const struct coord *coord, const struct attempt_key *key)
{
    if (key->rung >= coord->state->plan.rungs.n || key->pass > PASS_RESTORED)
        return true; /* not of our plan, so no evidence */
    return key->attempt <= coord->state->rungs.items[key->rung].attempts[key->pass];
}

static struct text unknown_epoch (const struct coord *coord, uint32_t host, uint64_t epoch, struct arena *arena)
{
    if (epoch <= coord->state->epoch)
        return (struct text){ 0 };
    return text_format (arena,
                        "host %.*s has joined epoch %llu, but the last epoch in this journal is %llu: the run was "
                        "continued from another copy of its folder",
                        TEXT_ARG (loss_host_name (coord, host)), (unsigned long long) epoch,
                        (unsigned long long) coord->state->epoch);
}

static struct text unknown_attempt (const struct coord *coord, uint32_t host, const struct attempt_key *key,
                                    struct arena *arena)
{
    if (was_begun (coord, key))
        return (struct text){ 0 };
    return text_format (
        arena, "host %.*s holds attempt %u of rung %.*s, but this journal does not record that this attempt began",
        TEXT_ARG (loss_host_name (coord, host)), (unsigned) key->attempt,
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
    bool joined = hello->told_epoch <= state->joined_epoch;
    if (joined && (hello->told_epoch < state->joined_epoch || hello->told_index <= until))
        return (struct text){ 0 };
    struct text here = joined ? text_format (arena, "that epoch ends with fact %llu", (unsigned long long) until)
                              : TEXT_LIT ("it did not join that epoch");
    return text_format (arena, "host %.*s knows fact %llu of epoch %llu, but here %.*s",
                        TEXT_ARG (loss_host_name (coord, host)), (unsigned long long) hello->told_index,
                        (unsigned long long) hello->told_epoch, TEXT_ARG (here));
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

static void record_claim (struct coord *coord, const struct fact_loss_told *told, uint64_t now_ms, struct outbox *out)
{
    struct fact *fact = outbox_add_fact (out, FACT_LOSS_TOLD);
    fact->of.loss_told = *told;
    coord_commit_fact (coord, fact, now_ms);
}

bool journal_loss_detect (struct coord *coord, uint32_t host, const struct msg *msg, uint64_t now_ms,
                          struct outbox *out)
{
    struct fact_loss_told told = { .host = host, .why = unknown_here (coord, host, msg, &out->arena) };
    if (!told.why.len)
        return false;
    told.epoch = msg->kind == MSG_HELLO ? msg->of.hello.told_epoch : 0;
    told.index = msg->kind == MSG_HELLO ? msg->of.hello.told_index : 0;
    if (!coord->soft.hosts[host].claim.len)
        record_claim (coord, &told, now_ms, out);
    else if (host_is_lost (coord, host)) /* tell it to end; one of a later epoch ignores us, and ends at its limit */
        coord_add_message (coord, host, MSG_SHUTDOWN, out)->of.shutdown.why = told.why;
    else
        coord->soft.hosts[host].received_ms = coord_to_run_clock (coord, now_ms);
    return true;
}

/* True: the hosts that claim lost facts outnumber all others, also those that may still speak. */
static bool is_believed (const struct coord *coord, uint32_t *last, uint32_t *silent)
{
    uint32_t claims = 0, others = 0;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++) {
        const struct host *host = &coord->state->hosts.items[i];
        const struct host_soft_state *link = &coord->soft.hosts[i];
        bool here = host->life == HOST_JOINED && !link->claim.len;
        bool spoke = here && host->joined_epoch == coord->state->epoch && link->received_ms > coord->soft.claimed_ms;
        claims += link->claim.len > 0;
        *last = link->claim.len ? i : *last;
        others += spoke;
        *silent += !spoke && (here || (host_is_awaited (coord, i) && !link->claim.len));
    }
    return claims > 1 && claims > others + *silent;
}

bool journal_loss_weigh (struct coord *coord, uint64_t now_ms, struct outbox *out)
{
    uint32_t last = 0, silent = 0;
    if (!coord->soft.claimed_ms || coord->state->ended)
        return false;
    if (is_believed (coord, &last, &silent)) {
        struct fact_loss_told told = { .host = last, .why = coord->soft.hosts[last].claim, .believed = true };
        record_claim (coord, &told, now_ms, out);
        outbox_add_effect (out, FX_FACTS_LOST)->text = told.why;
        return true;
    }
    bool open = false;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++) {
        struct text claim = coord->soft.hosts[i].claim;
        if (!claim.len || host_is_lost (coord, i))
            continue;
        open = true;
        if (!silent)
            loss_end_host (coord, i,
                           text_format (&out->arena, "its word about the run is confirmed by no other host: %.*s",
                                        TEXT_ARG (claim)),
                           now_ms, out);
    }
    return open && silent;
}
