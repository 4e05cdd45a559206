/* apply_going_on.c - facts by which the climb goes on although something does not hold. */
#include "coordinator/core/apply.h"
#include "coordinator/core/status_sentence.h"

static void leave (struct engine *to, uint32_t at, enum left_behind left, struct text why)
{
    struct host *host = &to->state.hosts.items[at];
    to->state.left_n += host->left == LEFT_NOT;
    host->left = left;
    host->left_why = text_copy (&to->arena, text_clip (why, SENTENCE_MAX_BYTES));
}

static void note_shortfall (struct engine *to, const struct fact_pass_ended *ended)
{
    struct rung_state *rung = &to->state.rungs.items[ended->key.rung];
    rung->outcome = outcome_worst (rung->outcome, ended->outcome);
    to->state.shortfall_outcome = outcome_worst (to->state.shortfall_outcome, ended->outcome);
    if (!to->state.shortfall.len)
        to->state.shortfall = status_sentence_of_shortfall (&to->coord, ended, &to->arena);
}

static uint32_t absent_n (const struct engine *to)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < to->state.hosts.n && to->state.left_n; i++)
        n += to->state.hosts.items[i].left == LEFT_ABSENT;
    return n;
}

/* Only lost hosts are left behind without --keep-going, and only while so many are up as --min-hosts asks for. */
static bool hosts_suffice (const struct engine *to, const struct fact_pass_ended *ended)
{
    const struct climb_policy *policy = &to->state.plan.climb;
    uint32_t hosts = to->state.plan.hosts.n, gone = absent_n (to);
    for (uint32_t i = 0; i < ended->verdicts.n; i++) {
        bool lost = ended->verdicts.items[i].outcome == OUTCOME_LOST;
        if (!lost && !policy->keep_going)
            return false;
        gone += lost;
    }
    uint32_t needed = policy->min_hosts ? policy->min_hosts : policy->keep_going ? 0 : hosts;
    return hosts - gone >= needed && to->state.left_n + ended->verdicts.n < hosts;
}

bool apply_going_on (struct engine *to, const struct fact_pass_ended *ended)
{
    struct rung_state *rung = &to->state.rungs.items[ended->key.rung];
    bool alone = parts_are_independent (&to->coord);
    if (to->state.cancel_level > 0 || !(alone ? hosts_suffice (to, ended) : to->state.plan.climb.keep_going))
        return false;
    note_shortfall (to, ended);
    for (uint32_t i = 0; i < ended->verdicts.n && alone; i++) {
        const struct verdict *verdict = &ended->verdicts.items[i];
        leave (to, verdict->host, verdict->outcome == OUTCOME_LOST ? LEFT_ABSENT : LEFT_FAILED, verdict->cause);
    }
    if (!alone)
        apply_call_for_isolation (to, ended);
    if (alone && ended->key.pass == PASS_COLD) /* else another writer is asked */
        rung->cold_done = ended->verdicts.n < to->state.pass.parts.n;
    else
        to->state.rung = ended->key.rung + 1;
    return true;
}

void apply_rung_blocked (struct engine *to, const struct fact_pass_ended *ended)
{
    note_shortfall (to, ended);
    to->state.rung = ended->key.rung + 1;
}

/* A writer that was granted a generation and was told nothing writes none. */
void apply_hosts_left_behind (struct engine *to, const struct fact_hosts_left_behind *left)
{
    bool unused = write_lease_is_unused (&to->coord);
    for (uint32_t i = 0; i < left->verdicts.n; i++) {
        const struct verdict *verdict = &left->verdicts.items[i];
        leave (to, verdict->host, LEFT_ABSENT, verdict->cause);
        to->state.shortfall_outcome = outcome_worst (to->state.shortfall_outcome, verdict->outcome);
    }
    if (unused && !takes_part (&to->coord, to->state.grant.host))
        to->state.granted = to->state.unreleased = false;
}
