#include "world_record.h"

#include "common/wire/wire.h"

struct ended {
    uint32_t host;
    struct attempt_key key;
};
struct promises {
    const struct world_record *record;
    struct world_report *report;
    /* once */
    struct ended *ended;
    uint32_t ended_n;
    uint64_t token;
    /* proofs: of the pass that runs */
    bool counts;
    uint32_t hosts_n, proved_n;
    /* who takes no part any more */
    bool out[64];
    /* what was run again */
    uint32_t planned[8][PASS_RESTORED + 1];
    struct attempt_key due;
    uint64_t due_ms;
    bool awaited;
};

uint32_t world_culprits_in (const uint32_t *culprits, uint32_t culprits_n, const uint32_t *hosts, uint32_t n)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < culprits_n; k++)
            found += hosts[i] == culprits[k];
    return found;
}

/* ---- once ---- */

static void check_granted (struct promises *check, const struct fact_writer_granted *granted)
{
    PROMISE (check->record, granted->token > check->token, "token %" PRIu64 " does not rise", granted->token);
    check->token = granted->token;
}

static void check_attempt (struct promises *check, const struct fact_attempt_ended *of)
{
    for (uint32_t k = 0; k < check->ended_n; k++)
        PROMISE (check->record,
                 !(check->ended[k].host == of->host && attempt_key_equal (&check->ended[k].key, &of->result.key)),
                 "host%u ended attempt %u of rung %u twice", of->host, of->result.key.attempt, of->result.key.rung);
    check->ended = mem_grow (check->ended, check->ended_n + 1, sizeof (*check->ended));
    check->ended[check->ended_n++] = (struct ended){ of->host, of->result.key };
}

static void check_end (struct promises *check, const struct fact_run_ended *ended, uint64_t i)
{
    check->report->outcome = ended->outcome;
    check->report->exit_status = ended->exit_status;
    snprintf (check->report->sentence, sizeof (check->report->sentence), "%.*s", TEXT_ARG (ended->sentence));
    PROMISE (check->record, i + 1 == check->record->n, "something was recorded after the end");
}

/* ---- what a rung requires and was not proved nobody has passed ---- */

static void check_passed (const struct promises *check, const struct fact_pass_ended *ended)
{
    uint32_t required = check->record->plan->rungs.items[ended->key.rung].metrics.n;
    uint32_t passed = check->hosts_n - ended->verdicts.n;
    PROMISE (check->record, !check->counts || passed == 0 || check->proved_n >= required,
             "%u of %u hosts passed rung %u, %u of %u metrics are proved", passed, check->hosts_n, ended->key.rung,
             check->proved_n, required);
}

/* ---- who is left behind takes no part any more: here by the words of the policy, not by those of the core ---- */

static void check_takes_part (const struct promises *check, const struct fact_pass_began *began)
{
    bool slice = check->record->plan->rungs.items[began->key.rung].scope == SCOPE_SLICE;
    for (uint32_t i = 0; i < began->hosts.n; i++)
        PROMISE (check->record, !check->out[began->hosts.items[i]], "host%u, which was left behind, runs rung %u",
                 began->hosts.items[i], began->key.rung);
    for (uint32_t i = 0; i < check->record->options.hosts && slice; i++)
        PROMISE (check->record, !check->out[i], "rung %u needs host%u, which was left behind", began->key.rung, i);
}

static void leave (struct promises *check, uint32_t host)
{
    check->report->left_behind += !check->out[host];
    check->out[host] = true;
}

/* Of a pass that is run again, or that ended the climb, nothing is said: no pass follows, or all of them may. */
static void note_ended (struct promises *check, const struct fact_pass_ended *ended)
{
    const struct climb_policy *policy = &check->record->plan->climb;
    bool alone = check->record->plan->rungs.items[ended->key.rung].scope != SCOPE_SLICE;
    check->report->blocked += ended->key.attempt == 0;
    PROMISE (check->record, ended->key.attempt > 0 || policy->min_hosts || policy->keep_going, "rung %u was blocked",
             ended->key.rung);
    for (uint32_t i = 0; i < ended->verdicts.n && alone && ended->key.attempt; i++) {
        const struct verdict *verdict = &ended->verdicts.items[i];
        bool lease = ended->key.pass == PASS_COLD && verdict->owner == OWNER_CACHE; /* lost: asked again, or another */
        bool again = lease || (verdict->transient && check->record->options.retries > 0);
        if (!again && (policy->keep_going || (policy->min_hosts && verdict->outcome == OUTCOME_LOST)))
            leave (check, verdict->host);
    }
}

static void check_left (struct promises *check, const struct fact_hosts_left_behind *left)
{
    uint32_t gone = 0;
    for (uint32_t i = 0; i < left->verdicts.n; i++) {
        PROMISE (check->record, !check->out[left->verdicts.items[i].host], "host%u was left behind twice",
                 left->verdicts.items[i].host);
        leave (check, left->verdicts.items[i].host);
    }
    for (uint32_t i = 0; i < check->record->options.hosts; i++)
        gone += check->out[i];
    PROMISE (check->record,
             check->record->plan->climb.keep_going ||
                 check->record->options.hosts - gone >= check->record->plan->climb.min_hosts,
             "%u of %u hosts are gone", gone, check->record->options.hosts);
    PROMISE (check->record, gone < check->record->options.hosts, "nobody is left");
}

/* ---- what was run again: never more than the budget, nor before its time; and parts of the slice within theirs ----
 */

static void check_began (struct promises *check, const struct fact *fact)
{
    const struct fact_pass_began *began = &fact->of.pass_began;
    const struct world_record *record = check->record;
    check_takes_part (check, began);
    check->counts = began->purpose != PURPOSE_ISOLATION;
    check->hosts_n = began->hosts.n;
    check->proved_n = 0;
    if (began->purpose == PURPOSE_RETRY) {
        PROMISE (record,
                 check->awaited && check->due.rung == began->key.rung && check->due.pass == began->key.pass &&
                     check->due.attempt < began->key.attempt,
                 "rung %u is run again and nobody planned it", began->key.rung);
        PROMISE (record, fact->at_ms >= check->due_ms, "rung %u is run again %" PRIu64 " ms too soon", began->key.rung,
                 check->due_ms - fact->at_ms);
    }
    PROMISE (record, began->purpose == PURPOSE_RETRY || !check->awaited,
             "a retry was planned and something else begun");
    check->awaited = false;
    if (began->purpose != PURPOSE_ISOLATION)
        return;
    PROMISE (record, !check->report->suspects_named, "a part was run after the suspects had been named");
    check->report->parts++;
}

static void check_planned (struct promises *check, const struct fact_retry_planned *planned)
{
    const struct world_options *options = &check->record->options;
    uint32_t n = ++check->planned[planned->key.rung][planned->key.pass];
    PROMISE (check->record, n <= options->retries, "retry %u of rung %u, of %u", n, planned->key.rung,
             options->retries);
    PROMISE (check->record, planned->left == options->retries - n, "%u retries left after %u of %u", planned->left, n,
             options->retries);
    check->due = planned->key;
    check->due_ms = planned->due_ms;
    check->awaited = true;
    check->report->retries++;
}

static void check_named (struct promises *check, const struct fact_suspects_named *named)
{
    const struct world_record *record = check->record;
    struct world_report *report = check->report;
    PROMISE (record, !report->suspects_named, "suspects were named twice");
    PROMISE (record, named->passes == report->parts, "%u parts were run, %u are told of", report->parts, named->passes);
    report->suspects_named = true;
    report->suspects_n = named->suspects.n;
    report->culprits_suspected = world_culprits_in (record->culprits, record->culprits_n, named->suspects.items,
                                                    named->suspects.n) == record->culprits_n;
}

/* ---- all of them ---- */

static void check_fact (struct promises *check, const struct fact *fact, uint64_t i)
{
    switch (fact->kind) {
    case FACT_WRITER_GRANTED: check_granted (check, &fact->of.writer_granted); break;
    case FACT_ATTEMPT_ENDED: check_attempt (check, &fact->of.attempt_ended); break;
    case FACT_PASS_BEGAN: check_began (check, fact); break;
    case FACT_METRIC_JUDGED: check->proved_n += fact->of.metric_judged.proof == PROOF_PROVED; break;
    case FACT_PASS_ENDED:
        if (fact->of.pass_ended.key.attempt) /* else it was blocked */
            check_passed (check, &fact->of.pass_ended);
        note_ended (check, &fact->of.pass_ended);
        break;
    case FACT_HOSTS_LEFT_BEHIND: check_left (check, &fact->of.hosts_left_behind); break;
    case FACT_RETRY_PLANNED: check_planned (check, &fact->of.retry_planned); break;
    case FACT_SUSPECTS_NAMED: check_named (check, &fact->of.suspects_named); break;
    case FACT_RUN_ENDED: check_end (check, &fact->of.run_ended, i); break;
    default: break;
    }
}

void world_record_check (const struct world_record *record, struct world_report *report)
{
    struct promises check = { .record = record, .report = report };
    struct arena arena = { 0 };
    for (uint64_t i = 0; i < record->n; i++) {
        struct fact fact;
        struct err err = { 0 };
        int rc = wire_get_fact (record->facts[i].bytes, &fact, &arena, &err);
        PROMISE (record, rc == 0, "fact %" PRIu64 " does not decode: %s", i + 1, err.text);
        check_fact (&check, &fact, i);
        arena_reset (&arena);
    }
    mem_free (check.ended);
    arena_release (&arena);
}
