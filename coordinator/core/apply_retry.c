/* apply_retry.c - applies facts about retries and isolation. */
#include <string.h>

#include "coordinator/core/steps.h"
#include "coordinator/verdict/failure.h"
#include "coordinator/verdict/going_on.h"
#include "coordinator/verdict/stands.h"

static const struct verdict *verdict_of (const struct fact_pass_ended *ended, uint32_t host)
{
    for (uint32_t i = 0; i < ended->verdicts.n; i++)
        if (ended->verdicts.items[i].host == host)
            return &ended->verdicts.items[i];
    return NULL;
}

static bool without_cause (struct engine *to, const struct fact_pass_ended *ended)
{
    struct pass_state *pass = &to->state.pass;
    struct isolate_host *hosts = arena_array (&to->pass_arena, pass->parts.n, sizeof (*hosts));
    for (uint32_t i = 0; i < pass->parts.n; i++)
        hosts[i] = (struct isolate_host){ .verdict = verdict_of (ended, pass->parts.items[i].host),
                                          .ending = pass->parts.items[i].result.ending,
                                          .code = pass->parts.items[i].result.code,
                                          .at_gate = pass->parts.items[i].at_gate };
    bool *lags = arena_array (&to->pass_arena, pass->parts.n, sizeof (*lags));
    struct text others;
    if (!isolate_is_called_for (&to->state.plan, hosts, pass->parts.n, pass->gates.n > 0))
        return false;
    bool held_up = pass_find_lagging (&to->coord, lags, &to->pass_arena, &others) > 0, all = true;
    for (uint32_t i = 0; i < pass->parts.n; i++)
        all = all && stand_holds_itself (failure_stack (&pass->parts.items[i].result, &to->pass_arena));
    for (uint32_t i = 0; i < pass->parts.n; i++)
        held_up = held_up && !(lags[i] && hosts[i].verdict && hosts[i].verdict->outcome == OUTCOME_CASCADE);
    return !held_up && !all; /* whoever is held by something of its own is held in a part, too */
}

void apply_call_for_isolation (struct engine *to, const struct fact_pass_ended *ended)
{
    struct pass_state *pass = &to->state.pass;
    struct isolate_case of = isolation_make_case (&to->coord);
    if (!to->state.plan.profile.splits || parts_are_independent (&to->coord) ||
        pass->parts.n != to->state.plan.hosts.n || pass->stopped || pass->dropped)
        return;
    if (to->state.cancel_level > 0 || to->state.joined_n < to->state.plan.hosts.n || of.unit == 0 ||
        of.hosts / of.unit < 2)
        return;
    if (to->state.isolation.called_for || !without_cause (to, ended))
        return;
    to->state.isolation.called_for = true;
    record_copy (fact_record_of_kind (FACT_PASS_ENDED), &to->state.isolation.failed, ended, &to->arena);
}

/* Also counts a host whose worker was started again; a worker that could not end its program is not lost. */
static bool lost_one (struct engine *to)
{
    for (uint32_t i = 0; i < to->state.pass.parts.n; i++) {
        struct host *host = &to->state.hosts.items[to->state.pass.parts.items[i].host];
        bool gone = host->life != HOST_JOINED || host->reborn_at > to->state.pass.began_at;
        if (to->state.pass.parts.items[i].result.ending == ENDING_LOST && gone)
            return true;
    }
    return false;
}

/* Late peers are transient, too; but if a part of an isolation also fails for that, a host never comes. */
static bool is_transient (struct engine *to, const struct fact_pass_ended *ended)
{
    for (uint32_t i = 0; i < ended->verdicts.n; i++)
        if (isolate_blames_peers_only (&to->state.plan, &ended->verdicts.items[i]))
            return false;
    return retry_all_transient (ended->verdicts.items, ended->verdicts.n);
}

/* A blocked part, a transient failure and a worker that left do not show which host makes the program fail. */
static enum isolate_answer answer_of (struct engine *to, const struct fact_pass_ended *ended)
{
    if (ended->outcome == OUTCOME_PASSED)
        return ISOLATE_WORKS;
    bool hindered = ended->outcome == OUTCOME_BLOCKED || lost_one (to);
    return hindered || is_transient (to, ended) ? ISOLATE_VOID : ISOLATE_FAILED;
}

void apply_trial_ended (struct engine *to, const struct fact_pass_ended *ended)
{
    struct isolation *isolation = &to->state.isolation;
    struct pass_state *pass = &to->state.pass;
    if (isolation->trials.n == ISOLATE_TRIALS_MAX)
        return;
    if (!isolation->trials.items)
        isolation->trials.items = arena_array (&to->arena, ISOLATE_TRIALS_MAX, sizeof (struct isolate_trial));
    struct isolate_trial *trial = &isolation->trials.items[isolation->trials.n++];
    *trial = (struct isolate_trial){ .answer = answer_of (to, ended), .duration_ms = ended->duration_ms };
    trial->hosts.items = arena_array (&to->arena, pass->parts.n, sizeof (uint32_t));
    for (trial->hosts.n = 0; trial->hosts.n < pass->parts.n; trial->hosts.n++)
        trial->hosts.items[trial->hosts.n] = pass->parts.items[trial->hosts.n].host;
}

void apply_suspects_named (struct engine *to, const struct fact_suspects_named *named)
{
    struct fact_pass_ended *failed = &to->state.isolation.failed;
    if (!to->state.isolation.called_for || to->state.isolation.over)
        return;
    to->state.isolation.over = true;
    struct isolate_ruling ruling;
    isolate_ruling_from_suspects (&to->state.plan, named, &to->pass_arena, &ruling);
    for (uint32_t i = 0; i < failed->verdicts.n; i++) {
        struct verdict after;
        isolate_apply_ruling (&ruling, &failed->verdicts.items[i], &to->pass_arena, &after);
        record_copy (&verdict_record, &failed->verdicts.items[i], &after, &to->arena);
    }
    if (to->state.stop.len)
        to->state.stop = status_sentence_of_failure (&to->coord, failed, &to->arena);
    else
        to->state.shortfall = status_sentence_of_shortfall (&to->coord, failed, &to->arena);
}

/* ---- retries ---- */

/* Never a pass that the coordinator or the user stopped; and all hosts must still be there. */
static bool may_retry (struct engine *to, const struct rung_state *rung, const struct fact_pass_ended *ended)
{
    return retry_all_transient (ended->verdicts.items, ended->verdicts.n) && to->state.cancel_level == 0 &&
           !to->state.pass.stopped && !to->state.pass.dropped && all_are_here (&to->coord) &&
           rung->retries[ended->key.pass] < to->state.plan.limits.retries;
}

bool apply_call_for_retry (struct engine *to, const struct fact_pass_ended *ended)
{
    if (!may_retry (to, &to->state.rungs.items[ended->key.rung], ended))
        return false;
    const struct verdict *verdicts = ended->verdicts.items;
    to->coord.soft.retry_waited = false;
    to->state.retry = (struct retry_state){
        .stage = RETRY_CALLED_FOR,
        .failed = ended->key,
        .signature = text_copy (&to->arena, retry_first_signature (verdicts, ended->verdicts.n)),
        .why = retry_why (&to->state.plan, verdicts, ended->verdicts.n, &to->arena),
    };
    return true;
}

void apply_retry_planned (struct engine *to, const struct fact_retry_planned *planned)
{
    struct rung_state *rung = &to->state.rungs.items[planned->key.rung];
    rung->retries[planned->key.pass]++;
    rung->retried_for = text_copy (&to->arena, planned->why);
    to->state.retry.stage = RETRY_PLANNED;
    to->state.retry.failed = planned->key;
    to->state.retry.due_ms = planned->due_ms;
}

/* ---- facts by which the climb goes on although something does not hold ---- */

static void apply_retry_leave (struct engine *to, uint32_t at, enum left_behind left, struct text why)
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

/* Without --keep-going only lost hosts are left behind, and only while --min-hosts are up. */
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
        apply_retry_leave (to, verdict->host, verdict->outcome == OUTCOME_LOST ? LEFT_ABSENT : LEFT_FAILED,
                           verdict->cause);
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

/* A granted writer that got no RUN writes nothing. */
void apply_hosts_left_behind (struct engine *to, const struct fact_hosts_left_behind *left)
{
    bool unused = write_lease_is_unused (&to->coord);
    for (uint32_t i = 0; i < left->verdicts.n; i++) {
        const struct verdict *verdict = &left->verdicts.items[i];
        apply_retry_leave (to, verdict->host, LEFT_ABSENT, verdict->cause);
        to->state.shortfall_outcome = outcome_worst (to->state.shortfall_outcome, verdict->outcome);
    }
    if (unused && !takes_part (&to->coord, to->state.grant.host))
        to->state.granted = to->state.unreleased = false;
}

/* ---- apply cache ---- */

/* Applies facts about the cache: the generation in use, the next writer, violations. */

static void apply_generation (struct engine *to, const struct fact *fact)
{
    const struct fact_generation *generation = &fact->of.generation;
    const struct record *record = fact_record_of_kind (FACT_GENERATION_PUBLISHED);
    to->state.cache_known = true;
    if (!to->state.bundle.len)
        to->state.bundle = text_copy (&to->arena, generation->bundle);
    record_copy (record, &to->state.generation, generation, &to->arena);
    to->state.right_at = fact->kind == FACT_GENERATION_PUBLISHED ? to->state.pass.began_at : 0;
}

static void apply_writer_granted (struct engine *to, const struct fact_writer_granted *granted)
{
    to->state.grant = *granted;
    to->state.granted = to->state.unreleased = true;
    to->coord.soft.wants_token = false;
}

static void note_write_lease_over (struct engine *to, uint64_t index)
{
    struct ended_write *items = to->state.writings.items;
    if (!items)
        items = to->state.writings.items = arena_array (&to->arena, WRITINGS_MAX, sizeof (*items));
    if (to->state.writings.n == WRITINGS_MAX)
        memmove (items, items + 1, (--to->state.writings.n) * sizeof (*items));
    items[to->state.writings.n++] = (struct ended_write){ to->state.grant.token, index };
}

/* If its host is only lost, the writer may still live. */
void apply_writer_ended (struct engine *to, const struct fact_attempt_ended *ended, uint64_t index)
{
    const struct fact_writer_granted *grant = &to->state.grant;
    if (!grant->token || ended->host != grant->host || !attempt_key_equal (&grant->key, &ended->result.key))
        return;
    if (to->state.granted)
        note_write_lease_over (to, index);
    if (ended->result.ending != ENDING_LOST)
        to->state.granted = false;
    if (ended->told)
        to->state.unreleased = false;
    if (ended->result.ending != ENDING_LEASE_LOST)
        return;
    to->state.rungs.items[grant->key.rung].leases_lost++;
    to->state.rungs.items[grant->key.rung].lease_lost_attempt = grant->key.attempt;
}

static void apply_lease_lost (struct engine *to, uint64_t index)
{
    if (to->state.granted)
        note_write_lease_over (to, index);
    to->state.granted = false;
}

static void apply_violated (struct engine *to, const struct fact_cache_violated *violated)
{
    if (to->state.violations.n == VIOLATIONS_MAX)
        return;
    if (!to->state.violations.items)
        to->state.violations.items = arena_array (&to->arena, VIOLATIONS_MAX, sizeof (*to->state.violations.items));
    to->state.violations.items[to->state.violations.n++] = (struct seen_violation){
        .kind = violated->finding.kind,
        .token = violated->finding.token,
        .path = text_copy (&to->arena, violated->finding.path),
    };
    to->state.counted_violations += finding_is_violation (violated->finding.kind);
}

/* Its programs must be compiled again: it is no base any more, and the rung that used it begins anew, once. */
static void apply_dropped (struct engine *to, const struct fact_generation_dropped *dropped)
{
    for (uint32_t i = 0; i < to->state.violations.n; i++)
        to->state.violations.items[i].dropped |= to->state.violations.items[i].token == dropped->token;
    if (to->state.generation.token != dropped->token)
        return;
    to->state.generation = (struct fact_generation){ 0 };
    to->state.pass.dropped = to->state.pass.active;
    if (to->state.rung >= to->state.plan.rungs.n)
        return;
    struct rung_state *rung = &to->state.rungs.items[to->state.rung];
    rung->cold_done = rung->cold_skipped = false;
}

void apply_cache_fact (struct engine *to, const struct fact *fact)
{
    switch (fact->kind) {
    case FACT_GENERATION_ADOPTED:
    case FACT_GENERATION_PUBLISHED: apply_generation (to, fact); break;
    case FACT_WRITER_GRANTED:
        if (fact->of.writer_granted.host < to->state.plan.hosts.n)
            apply_writer_granted (to, &fact->of.writer_granted);
        break;
    case FACT_LEASE_LOST: apply_lease_lost (to, fact->index); break;
    case FACT_CACHE_VIOLATED: apply_violated (to, &fact->of.cache_violated); break;
    case FACT_GENERATION_DROPPED: apply_dropped (to, &fact->of.generation_dropped); break;
    default: break;
    }
}
