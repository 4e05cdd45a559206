#include "world_promises.h"

#include "common/model/lease.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* limits.lost_ms is 30 s; frames that take longer than that overtake each other so often that some are as if lost */
enum { QUIET_LEAST_MS = 20000, ORDERLY_MS = 300, JOINS_MOST = 16, WOKE_LATELY_MS = 1000 };

static const struct scenario *now_run; /* to say how it is run again */

_Noreturn void promise_broken (uint64_t now_ms, const char *name, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    fprintf (stderr, "broken promise %s at %" PRIu64 " ms: ", name, now_ms);
    vfprintf (stderr, format, args);
    LOCAL_BUF line = { .max = 1 << 16 };
    scenario_print (now_run, &line);
    fprintf (stderr, "\n%s\n", buf_c (&line));
    va_end (args);
    abort ();
}

/* ---- sets of attempts ---- */

static void attempts_add (struct attempts *attempts, uint32_t host, const struct attempt_key *key)
{
    attempts->items = mem_room (attempts->items, attempts->n, &attempts->capacity, 64, sizeof (*attempts->items));
    attempts->items[attempts->n++] = (struct attempt_of){ .host = host, .key = *key };
}

static bool attempts_have (const struct attempts *attempts, uint32_t host, const struct attempt_key *key)
{
    for (uint32_t i = attempts->n; i-- > 0;)
        if (attempts->items[i].host == host && attempt_key_equal (&attempts->items[i].key, key))
            return true;
    return false;
}

/* ---- what is true: whom a fault of the scenario can make fail, or fall silent ---- */

static bool is_lie (enum fault_kind kind)
{
    return kind >= FAULT_LIE_TWICE;
}

static bool fails_programs (enum fault_kind kind)
{
    return kind == FAULT_FALL || kind == FAULT_TRIP || kind == FAULT_STALL || kind == FAULT_STUCK ||
           kind == FAULT_DIFFER || kind == FAULT_SKIP || kind == FAULT_WRONG || kind == FAULT_LEAVE || is_lie (kind);
}

/* For so long it can keep the two from hearing each other. */
static uint64_t quiet_ms (const struct fault *fault)
{
    switch (fault->kind) {
    case FAULT_LATE:
    case FAULT_LOSS:
    case FAULT_CUT_IN:
    case FAULT_CUT_OUT:
    case FAULT_FULL: return fault->amount;
    case FAULT_PAUSE: return fault->who == COORDINATOR ? 0 : fault->amount; /* what it slept is no silence of others */
    case FAULT_REBORN: return fault->more ? UINT32_MAX : fault->amount;     /* it may be told to stay away */
    case FAULT_REBOOT: return fault->amount;
    case FAULT_DELAY: return fault->amount + fault->more;
    case FAULT_CRASH: return fault->who == COORDINATOR ? fault->amount : UINT32_MAX;
    case FAULT_FAIL: return fault->amount;
    case FAULT_PUT_BACK:
    case FAULT_OFF:
    case FAULT_LEAVE:
    case FAULT_STRANGER:
    case FAULT_STUCK:
    case FAULT_JUMP: return UINT32_MAX;
    default: return is_lie (fault->kind) ? UINT32_MAX : 0;
    }
}

/* For so long it can keep a lease from being renewed: a question lost is a third of a term. */
static uint64_t unrenewed_ms (const struct fault *fault)
{
    if (fault->kind == FAULT_DROP)
        return LEASE_TERM_MS / 3;
    if (fault->kind == FAULT_TAKEN)
        return UINT32_MAX;
    return fault->kind == FAULT_PAUSE ? fault->amount : quiet_ms (fault);
}

/* Frames that are lost, late or repeated one by one, and a short absence of the coordinator, take nobody away. */
static bool touches (const struct fault *fault)
{
    switch (fault->kind) {
    case FAULT_DROP:
    case FAULT_REPEAT:
    case FAULT_LOOK:
    case FAULT_TAMPER:
    case FAULT_OWNER:
    case FAULT_TAKEN:
    case FAULT_EARLIER:
    case FAULT_UNSTORED:
    case FAULT_DRIFT:
    case FAULT_MUTE:
    case FAULT_FINDING:
    case FAULT_KNOWN_BAD:
    case FAULT_ELSEWHERE:
    case FAULT_COPIES: return false;
    case FAULT_GATES: return fault->amount >= ATTEMPT_GATES_MAX; /* more than are allowed: the time of all runs out */
    case FAULT_LATE: return fault->amount > 2000;
    case FAULT_CRASH: return fault->who != COORDINATOR || fault->amount > 3000;
    default: return true;
    }
}

static uint32_t differing (const struct scenario *scenario)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < scenario->faults_n; i++)
        n += scenario->faults[i].kind == FAULT_DIFFER;
    return n;
}

static void note_truth (struct promises *promises, const struct fault *fault)
{
    static const enum fault_kind of_cache[] = { FAULT_TAMPER,   FAULT_EARLIER, FAULT_TAKEN,
                                                FAULT_LIE_SEAL, FAULT_MUTE,    FAULT_FINDING };
    /* Two that differ are as likely right. */
    bool all = fault->who >= HOSTS_SIMULATED_MAX || fault->kind == FAULT_GATES ||
               (fault->kind == FAULT_DIFFER && promises->scenario->hosts <= 2 * differing (promises->scenario));
    for (uint32_t i = 0; i < promises->scenario->hosts; i++) {
        if (!all && i != fault->who)
            continue;
        promises->touched[i] |= touches (fault);
        promises->quiet_ms[i] += quiet_ms (fault);
        promises->unrenewed_ms[i] += unrenewed_ms (fault);
        promises->may_fail[i] |= fails_programs (fault->kind);
        promises->lies[i] |= is_lie (fault->kind);
    }
    promises->disturbed |= touches (fault) && (fault->kind <= FAULT_PAUSE || fault->kind == FAULT_CRASH);
    for (size_t i = 0; i < sizeof (of_cache) / sizeof (of_cache[0]); i++)
        promises->cache_spoilt |= fault->kind == of_cache[i];
    for (uint32_t i = 0; i < promises->scenario->hosts;
         i++) /* who ends by itself with words that nobody knows is taken at its word */
        promises->may_fail[i] |= fault->kind == FAULT_STALL && (fault->amount & 2);
    if (fault->kind == FAULT_STALL && culprits_among (promises, &fault->who, 1) == 0)
        promises->culprits[promises->culprits_n++] = fault->who;
}

void promises_init (struct promises *promises, const struct scenario *scenario, const struct plan *plan,
                    struct world_report *report)
{
    uint32_t deaths = 0;
    now_run = scenario;
    *promises = (struct promises){ .scenario = scenario, .plan = plan, .report = report };
    for (uint32_t i = 0; i < scenario->faults_n; i++) {
        note_truth (promises, &scenario->faults[i]);
        deaths += scenario->faults[i].who == COORDINATOR && scenario->faults[i].kind == FAULT_CRASH;
    }
    for (uint32_t i = 0; i < scenario->hosts; i++) /* its absences add up */
        promises->touched[i] |= deaths > 2;
}

void promises_release (struct promises *promises)
{
    mem_free (promises->began.items);
    mem_free (promises->over.items);
    mem_free (promises->started.items);
    mem_free (promises->done.items);
    mem_free (promises->wrong.items);
    mem_free (promises->found);
    mem_free (promises->gates.items);
}

void promises_forget_durable (struct promises *promises)
{
    promises->durable = (struct durable){ 0 };
    promises->began.n = promises->over.n = promises->gates.n = 0;
    promises->report->retries = promises->report->parts = 0; /* counted anew, as the facts become durable anew */
    promises->report->left_behind = promises->report->blocked = 0;
    promises->report->suspects_named = false;
}

void promises_note_started (struct promises *promises, uint32_t host, const struct attempt_key *key)
{
    attempts_add (&promises->started, host, key);
}

bool promises_started (const struct promises *promises, uint32_t host, const struct attempt_key *key)
{
    return attempts_have (&promises->started, host, key);
}

bool promises_ended (const struct promises *promises, uint32_t host, const struct attempt_key *key)
{
    return attempts_have (&promises->over, host, key);
}

void promises_note_done (struct promises *promises, uint32_t host, const struct attempt_key *key)
{
    attempts_add (&promises->done, host, key);
}

void promises_note_wrong (struct promises *promises, uint32_t host, const struct attempt_key *key)
{
    attempts_add (&promises->wrong, host, key);
}

void promises_note_found (struct promises *promises, uint32_t host, const struct finding *finding, bool own)
{
    promises->found = mem_room (promises->found, promises->found_n, &promises->found_capacity, 16,
                                sizeof (*promises->found));
    promises->found[promises->found_n++] = (struct found){ host, finding->kind, finding->token, own };
}

uint32_t culprits_among (const struct promises *promises, const uint32_t *hosts, uint32_t n)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < promises->culprits_n; k++)
            found += hosts[i] == promises->culprits[k];
    return found;
}

/* Of a generation's token: there are few. */
static uint64_t bit (uint64_t token)
{
    return token ? UINT64_C (1) << token % 64 : 0;
}

/* ---- nothing is said before what it rests on is durable ---- */

static void hear_message (const struct promises *promises, const struct said *said)
{
    const struct durable *durable = &promises->durable;
    PROMISE (promises, "said-before-durable", said->epoch <= durable->epoch, "%s of epoch %" PRIu64,
             msg_name (said->msg), said->epoch);
    if (said->msg == MSG_RUN)
        PROMISE (promises, "said-before-durable",
                 attempts_have (&promises->began, said->host, &said->key) && said->token <= durable->granted,
                 "host%u is to run attempt %u of rung %u, which has not begun", said->host, said->key.attempt,
                 said->key.rung);
    if (said->msg == MSG_RUN)
        PROMISE (promises, "spoilt-is-read", !(durable->violated & bit (said->reads)),
                 "host%u is to read generation %" PRIu64 ", which was violated", said->host, said->reads);
    if (said->msg == MSG_GO)
        PROMISE (promises, "said-before-durable", attempts_have (&promises->gates, 0, &said->key),
                 "host%u may pass a gate that is not open", said->host);
    if (said->msg == MSG_WELCOME)
        PROMISE (promises, "said-before-durable", said->session <= durable->sessions[said->host],
                 "host%u is welcome in session %" PRIu64 ", on record is %" PRIu64, said->host, said->session,
                 durable->sessions[said->host]);
    if (said->msg == MSG_LEASE)
        PROMISE (promises, "said-before-durable",
                 said->token <= durable->granted &&
                     (said->token < durable->granted || !said->token || said->host == durable->granted_host),
                 "the lease of generation %" PRIu64 " was never granted to host%u", said->token, said->host);
    if (said->msg == MSG_RESULT_ACK && attempts_have (&promises->began, said->host, &said->key))
        PROMISE (promises, "acknowledged-and-lost", attempts_have (&promises->over, said->host, &said->key),
                 "attempt %u of rung %u of host%u is acknowledged, and not on record", said->key.attempt,
                 said->key.rung, said->host);
}

void promises_hear (const struct promises *promises, const struct said *said)
{
    const struct durable *durable = &promises->durable;
    switch (said->effect) {
    case FX_SEND: hear_message (promises, said); break;
    case FX_ADMIT:
        PROMISE (promises, "said-before-durable", durable->keyed[said->host], "host%u is admitted without a key",
                 said->host);
        break;
    case FX_LEASE_BEAT:
        PROMISE (promises, "said-before-durable", said->token <= durable->granted,
                 "a lease beats that was not granted");
        break;
    case FX_CACHE_PUBLISH:
        PROMISE (promises, "said-before-durable", said->token <= durable->published, "a generation is published");
        break;
    case FX_CACHE_DROP:
        PROMISE (promises, "said-before-durable", durable->dropped > 0, "a generation is dropped");
        break;
    case FX_END: PROMISE (promises, "said-before-durable", durable->ended, "the run ends"); break;
    case FX_FACTS_LOST:
        PROMISE (promises, "journal-doubted", promises->report->put_back, "a run stops because one host says so");
        break;
    default: break;
    }
}

void promises_check_forgotten (const struct promises *promises, uint32_t host, const struct attempt_key *key)
{
    if (promises->report->put_back || promises->lies[host])
        return;
    PROMISE (promises, "acknowledged-and-lost", attempts_have (&promises->over, host, key),
             "host%u forgot its result of attempt %u of rung %u, which is not on record", host, key->attempt,
             key->rung);
}

static bool has_fault (const struct promises *promises, uint32_t host, enum fault_kind kind)
{
    for (uint32_t i = 0; i < promises->scenario->faults_n; i++)
        if (promises->scenario->faults[i].kind == kind && promises->scenario->faults[i].who == host)
            return true;
    return false;
}

static bool sees_two (const struct promises *promises)
{
    bool two = false;
    for (uint32_t i = 0; i < promises->scenario->hosts; i++)
        two |= has_fault (promises, i, FAULT_ELSEWHERE);
    return two;
}

/* ---- once ---- */

/* By a program of this host, in the generation that it was given. */
static bool found_own (const struct promises *check, uint32_t host, const struct finding *finding)
{
    bool own = false;
    for (uint32_t i = 0; i < check->found_n; i++)
        own |= check->found[i].host == host && check->found[i].kind == finding->kind &&
               check->found[i].token == finding->token && check->found[i].own;
    return own && finding_is_violation (finding->kind) && finding->kind <= FINDING_CHANGED;
}

static void check_granted (struct promises *check, const struct fact_writer_granted *granted)
{
    PROMISE (check, "token-rises", granted->token > check->durable.granted, "token %" PRIu64 " does not rise",
             granted->token);
    check->durable.granted = granted->token;
    check->durable.granted_host = granted->host;
}

static void check_attempt (struct promises *check, const struct fact_attempt_ended *of)
{
    const struct attempt_key *key = &of->result.key;
    PROMISE (check, "one-verdict", !attempts_have (&check->over, of->host, key),
             "host%u ended attempt %u of rung %u twice", of->host, key->attempt, key->rung);
    PROMISE (check, "one-verdict", attempts_have (&check->began, of->host, key),
             "host%u ended attempt %u of rung %u, which it was never given", of->host, key->attempt, key->rung);
    if (of->told && of->result.done && !check->lies[of->host])
        PROMISE (check, "passed-truly", attempts_have (&check->done, of->host, key),
                 "host%u is said to have done attempt %u of rung %u", of->host, key->attempt, key->rung);
    PROMISE (check, "lease-lost-for-nothing",
             of->result.ending != ENDING_LEASE_LOST || check->scenario->delay_ms > ORDERLY_MS ||
                 check->unrenewed_ms[of->host] >= LEASE_TERM_MS * 2 / 5,
             "host%u lost the lease: %.*s", of->host, TEXT_ARG (of->result.problem));
    attempts_add (&check->over, of->host, key);
    if (of->told && of->result.findings.n && found_own (check, of->host, &of->result.findings.items[0]) &&
        !check->lies[of->host])
        check->durable.reported |= bit (of->result.findings.items[0].token);
}

/* ---- verdicts ---- */

static bool is_blamed (const struct verdict *verdict)
{
    return verdict->owner != OWNER_PEER && (verdict->outcome == OUTCOME_FAILED || verdict->outcome == OUTCOME_LOST ||
                                            verdict->outcome == OUTCOME_TIMED_OUT);
}

static bool is_listed (const struct fact_pass_ended *ended, uint32_t host)
{
    for (uint32_t i = 0; i < ended->verdicts.n; i++)
        if (ended->verdicts.items[i].host == host)
            return true;
    return false;
}

/* Most see another storage than it does, or no storage is that of most. */
static bool surveyed_elsewhere (const struct promises *check, const struct fact_pass_ended *ended, uint32_t host)
{
    uint32_t alike = 0, n = check->durable.pass.hosts.n;
    for (uint32_t i = 0; i < n; i++)
        alike += has_fault (check, check->durable.pass_hosts[i], FAULT_ELSEWHERE) ==
                 has_fault (check, host, FAULT_ELSEWHERE);
    return text_is (check->plan->rungs.items[ended->key.rung].builtin, "cache") &&
           check->plan->cache.mode != CACHE_PER_HOST && 2 * alike <= n;
}

/* Unknown is never rounded up: who is not listed has passed, and then its program ended well. */
static void check_passed (const struct promises *check, const struct fact_pass_ended *ended)
{
    const struct durable *durable = &check->durable;
    uint32_t required = check->plan->rungs.items[ended->key.rung].metrics.n;
    uint32_t passed = durable->pass.hosts.n - ended->verdicts.n;
    bool counts = durable->pass.purpose != PURPOSE_ISOLATION;
    PROMISE (check, "proved", !counts || passed == 0 || durable->proved_n >= required,
             "%u of %u hosts passed rung %u, %u of %u metrics are proved", passed, durable->pass.hosts.n,
             ended->key.rung, durable->proved_n, required);
    for (uint32_t i = 0; i < durable->pass.hosts.n; i++) {
        uint32_t host = durable->pass_hosts[i];
        PROMISE (check, "passed-truly",
                 is_listed (ended, host) || check->lies[host] || attempts_have (&check->done, host, &ended->key),
                 "host%u passed attempt %u of rung %u, and its program did not", host, ended->key.attempt,
                 ended->key.rung);
        PROMISE (check, "storage", is_listed (ended, host) || !surveyed_elsewhere (check, ended, host),
                 "host%u sees another storage than the others, and passed", host);
        PROMISE (check, "one-verdict", attempts_have (&check->over, host, &ended->key),
                 "rung %u ended before host%u did", ended->key.rung, host);
    }
}

/* Whose own program failed is known here; and nobody stands alone for what it had no part in. */
static void check_blame (const struct promises *check, const struct fact_pass_ended *ended)
{
    const struct verdict *last = NULL;
    uint32_t blamed = 0;
    for (uint32_t i = 0; i < ended->verdicts.n; i++) {
        const struct verdict *verdict = &ended->verdicts.items[i];
        bool of_cache = verdict->owner == OWNER_CACHE && (check->cache_spoilt || verdict->outcome == OUTCOME_LOST);
        if (!is_blamed (verdict) || of_cache)
            continue;
        PROMISE (check, "blame", verdict->outcome != OUTCOME_FAILED || check->may_fail[verdict->host],
                 "host%u is blamed for rung %u: %.*s", verdict->host, ended->key.rung, TEXT_ARG (verdict->cause));
        blamed++;
        last = verdict;
    }
    bool late = blamed == 1 && last->outcome == OUTCOME_TIMED_OUT && last->owner == OWNER_UNKNOWN && check->disturbed;
    if (blamed == 1 &&
        !late) /* where the others waited for somebody, whose time runs out first means nothing, and it is said so */
        PROMISE (check, "blame", check->touched[last->host] || check->may_fail[last->host],
                 "host%u alone is blamed for rung %u: %.*s", last->host, ended->key.rung, TEXT_ARG (last->cause));
}

/* ---- who is left behind takes no part any more: here by the words of the policy, not by those of the core ---- */

static void check_takes_part (const struct promises *check, const struct fact_pass_began *began)
{
    bool slice = check->plan->rungs.items[began->key.rung].scope == SCOPE_SLICE;
    for (uint32_t i = 0; i < began->hosts.n; i++)
        PROMISE (check, "left-behind", !check->durable.out[began->hosts.items[i]],
                 "host%u, which was left behind, runs rung %u", began->hosts.items[i], began->key.rung);
    for (uint32_t i = 0; i < check->scenario->hosts && slice; i++)
        PROMISE (check, "left-behind", !check->durable.out[i], "rung %u needs host%u, which was left behind",
                 began->key.rung, i);
}

/* A pass that ended badly may be run again with all of its hosts; else those that failed were left behind by it. */
static void leave_those_that_failed (struct promises *check)
{
    for (uint32_t i = 0; i < check->scenario->hosts; i++) {
        check->report->left_behind += check->durable.may_be_out[i] && !check->durable.out[i];
        check->durable.out[i] |= check->durable.may_be_out[i];
        check->durable.may_be_out[i] = false;
    }
}

static void leave (struct promises *check, uint32_t host)
{
    check->report->left_behind += !check->durable.out[host];
    check->durable.out[host] = true;
}

/* Of a pass that is run again, or that ended the climb, nothing is said: no pass follows, or all of them may. */
static void note_ended (struct promises *check, const struct fact_pass_ended *ended)
{
    const struct climb_policy *policy = &check->plan->climb;
    bool alone = check->plan->rungs.items[ended->key.rung].scope != SCOPE_SLICE;
    check->report->blocked += ended->key.attempt == 0;
    PROMISE (check, "left-behind", ended->key.attempt > 0 || policy->min_hosts || policy->keep_going,
             "rung %u was blocked", ended->key.rung);
    bool rewarms = check->durable.dropped_now && ended->key.pass != PASS_ONCE &&
                   !check->durable.rewarmed[ended->key.rung] && cache_mode_has_writer (check->plan->cache.mode);
    check->durable.rewarmed[ended->key.rung] |= rewarms;
    for (uint32_t i = 0; i < ended->verdicts.n && alone && ended->key.attempt; i++) {
        const struct verdict *verdict = &ended->verdicts.items[i];
        bool lease = ended->key.pass != PASS_ONCE && verdict->owner == OWNER_CACHE; /* lost: asked again, or another */
        bool again = lease || rewarms || (verdict->transient && check->scenario->retries > 0);
        if (!again && (policy->keep_going || (policy->min_hosts && verdict->outcome == OUTCOME_LOST)))
            check->durable.may_be_out[verdict->host] = true;
    }
}

static void check_left (struct promises *check, const struct fact_hosts_left_behind *left)
{
    uint32_t gone = 0, hosts = check->scenario->hosts;
    leave_those_that_failed (check);
    for (uint32_t i = 0; i < left->verdicts.n; i++) {
        PROMISE (check, "left-behind", !check->durable.out[left->verdicts.items[i].host],
                 "host%u was left behind twice", left->verdicts.items[i].host);
        leave (check, left->verdicts.items[i].host);
    }
    for (uint32_t i = 0; i < hosts; i++)
        gone += check->durable.out[i];
    PROMISE (check, "left-behind", check->plan->climb.keep_going || hosts - gone >= check->plan->climb.min_hosts,
             "%u of %u hosts are gone", gone, hosts);
    PROMISE (check, "left-behind", gone < hosts, "nobody is left");
}

/* ---- what was run again: never more than the budget, nor before its time; and parts of the slice within theirs ---- */

static void check_again (struct promises *check, const struct fact *fact)
{
    const struct fact_pass_began *began = &fact->of.pass_began;
    struct durable *durable = &check->durable;
    bool again = began->purpose == PURPOSE_RETRY;
    PROMISE (check, "retry",
             !again || (durable->awaited && durable->due.rung == began->key.rung &&
                        durable->due.pass == began->key.pass && durable->due.attempt < began->key.attempt),
             "rung %u is run again and nobody planned it", began->key.rung);
    PROMISE (check, "retry", !again || fact->at_ms >= durable->due_ms, "rung %u is run again too soon",
             began->key.rung);
    PROMISE (check, "retry", again || !durable->awaited || durable->excused,
             "a retry was planned and something else begun");
    durable->awaited = durable->excused = false;
    if (began->purpose != PURPOSE_ISOLATION)
        return;
    PROMISE (check, "suspects", !check->report->suspects_named, "a part was run after the suspects had been named");
    check->report->parts++;
}

static void check_began (struct promises *check, const struct fact *fact)
{
    const struct fact_pass_began *began = &fact->of.pass_began;
    struct durable *durable = &check->durable;
    leave_those_that_failed (check);
    check_takes_part (check, began);
    check_again (check, fact);
    durable->reported = 0;
    PROMISE (check, "known-bad", !check->plan->rungs.items[began->key.rung].known_bad.len,
             "rung %u began, and its launch is known to fail", began->key.rung);
    durable->pass = *began;
    durable->proved_n = 0;
    durable->dropped_now = false;
    memcpy (durable->pass_hosts, began->hosts.items, began->hosts.n * sizeof (durable->pass_hosts[0]));
    for (uint32_t i = 0; i < began->hosts.n; i++) {
        PROMISE (check, "one-verdict", !attempts_have (&check->began, began->hosts.items[i], &began->key),
                 "attempt %u of rung %u began twice", began->key.attempt, began->key.rung);
        attempts_add (&check->began, began->hosts.items[i], &began->key);
    }
}

static void check_planned (struct promises *check, const struct fact_retry_planned *planned)
{
    uint32_t n = ++check->durable.planned[planned->key.rung][planned->key.pass], retries = check->scenario->retries;
    PROMISE (check, "retry", n <= retries, "retry %u of rung %u, of %u", n, planned->key.rung, retries);
    PROMISE (check, "retry", planned->left == retries - n, "%u retries left after %u of %u", planned->left, n, retries);
    check->durable.due = planned->key;
    check->durable.due_ms = planned->due_ms;
    check->durable.awaited = true;
    memset (check->durable.may_be_out, 0, sizeof (check->durable.may_be_out));
    check->report->retries++;
}

static void check_named (struct promises *check, const struct fact_suspects_named *named)
{
    struct world_report *report = check->report;
    PROMISE (check, "suspects", !report->suspects_named, "suspects were named twice");
    PROMISE (check, "suspects", named->passes == report->parts, "%u parts were run, %u are told of", report->parts,
             named->passes);
    report->suspects_named = true;
    report->suspects_n = named->suspects.n;
    report->culprits_suspected = culprits_among (check, named->suspects.items, named->suspects.n) == check->culprits_n;
}

static void check_end (struct promises *check, const struct fact_run_ended *ended)
{
    check->report->outcome = ended->outcome;
    check->report->exit_status = ended->exit_status;
    snprintf (check->report->sentence, sizeof (check->report->sentence), "%.*s", TEXT_ARG (ended->sentence));
    check->durable.ended = true;
    leave_those_that_failed (check);
    PROMISE (check, "violation", ended->exit_status == 130 || (ended->exit_status == 4) == check->durable.counted,
             "the run ends with %u, and the cache was %sviolated", ended->exit_status,
             check->durable.counted ? "" : "not ");
}

static void check_pass_ended (struct promises *check, const struct fact_pass_ended *ended)
{
    if (ended->key.attempt) { /* else it was blocked */
        PROMISE (check, "one-verdict", !attempt_key_equal (&ended->key, &check->durable.closed),
                 "attempt %u of rung %u was judged twice", ended->key.attempt, ended->key.rung);
        check->durable.closed = ended->key;
        check_passed (check, ended);
        check_blame (check, ended);
        PROMISE (check, "violation", !(check->durable.reported & ~check->durable.violated) || sees_two (check),
                 "a host found a generation violated, which is not on record");
    }
    note_ended (check, ended);
}

/* ---- what hosts say of numbers and of the cache ---- */

static void check_metric (struct promises *check, const struct fact_metric_judged *judged)
{
    struct durable *durable = &check->durable;
    bool proved = judged->proof == PROOF_PROVED;
    durable->proved_n += proved;
    for (uint32_t i = 0; i < durable->pass.hosts.n; i++)
        PROMISE (check, "proved", !proved || !attempts_have (&check->wrong, durable->pass_hosts[i], &judged->key),
                 "a metric of rung %u is proved, and host%u reported another", judged->key.rung,
                 durable->pass_hosts[i]);
}

/* A host is believed about the generation that it was given, and only in what it can see there. */
static bool may_have_found (const struct promises *check, const struct fact_cache_violated *violated)
{
    const struct finding *finding = &violated->finding;
    if (violated->host == UINT32_MAX || finding->kind == FINDING_NOT_SAME_STORAGE || check->lies[violated->host])
        return check->cache_spoilt;
    return !finding_is_violation (finding->kind) || found_own (check, violated->host, finding);
}

static void check_violated (struct promises *check, const struct fact_cache_violated *violated)
{
    const struct finding *finding = &violated->finding;
    PROMISE (check, "violation", may_have_found (check, violated), "the cache is said to be violated: %.*s",
             TEXT_ARG (finding->path));
    check->durable.counted |= finding_is_violation (finding->kind);
    if (finding_is_violation (finding->kind) && finding->kind != FINDING_FOREIGN_TOKEN)
        check->durable.violated |= bit (finding->token);
}

/* ---- all of them ---- */

static void check_order (struct promises *check, const struct fact *fact)
{
    struct durable *durable = &check->durable;
    PROMISE (check, "index-rises", fact->index == durable->index + 1, "fact %" PRIu64 " follows %" PRIu64, fact->index,
             durable->index);
    PROMISE (check, "index-rises", fact->at_ms >= durable->at_ms, "fact %" PRIu64 " is earlier than the one before",
             fact->index);
    PROMISE (check, "nothing-after-the-end", !durable->ended, "%s was recorded after the end", fact_name (fact->kind));
    bool later = durable->lost && fact->at_ms > durable->at_ms && fact->kind != FACT_EPOCH_BEGAN;
    PROMISE (check, "lost-with-its-attempt",
             !later || !attempts_have (&check->began, durable->lost_host, &durable->pass.key) ||
                 attempts_have (&check->over, durable->lost_host, &durable->pass.key),
             "host%u is lost, and its attempt is not", durable->lost_host);
    durable->lost = durable->lost && !later && fact->kind != FACT_EPOCH_BEGAN;
    durable->index = fact->index;
    durable->at_ms = fact->at_ms;
}

/* What a coordinator slept is no silence, unless it woke less than a second after its next deadline, as on a busy machine: while
 * hosts join there is none before theirs. Its driver reads first what waits; here its deadlines come first. */
static uint64_t slept_ms (const struct promises *check, uint32_t host)
{
    uint64_t slept_ms = 0;
    for (uint32_t i = 0; i < check->scenario->faults_n && !check->durable.sessions[host]; i++) {
        const struct fault *fault = &check->scenario->faults[i];
        uint64_t woke_ms = WORLD_START_MS + fault->at + fault->amount;
        if (fault->kind == FAULT_PAUSE && fault->who == COORDINATOR && check->now_ms >= woke_ms &&
            check->now_ms < woke_ms + WOKE_LATELY_MS)
            slept_ms += fault->amount;
    }
    return slept_ms;
}

static void check_host (struct promises *check, const struct fact *fact)
{
    struct durable *durable = &check->durable;
    const struct fact_host_lost *lost = &fact->of.host_lost;
    switch (fact->kind) {
    case FACT_HOST_KEYED: durable->keyed[fact->of.host_keyed.host] = true; break;
    case FACT_HOST_JOINED:
        durable->sessions[fact->of.host_joined.host] = fact->of.host_joined.session;
        PROMISE (check, "joins", ++durable->joins[fact->of.host_joined.host] <= JOINS_MOST,
                 "host%u joined for the %uth time", fact->of.host_joined.host,
                 durable->joins[fact->of.host_joined.host]);
        break;
    case FACT_HOST_LOST:
        PROMISE (check, "lost-for-nothing",
                 check->quiet_ms[lost->host] + slept_ms (check, lost->host) >= QUIET_LEAST_MS ||
                     durable->out[lost->host] || durable->may_be_out[lost->host],
                 "host%u is lost: %.*s", lost->host, TEXT_ARG (lost->why));
        durable->lost = true;
        durable->lost_host = lost->host;
        break;
    case FACT_CONFLICT_SEEN:
        PROMISE (check, "conflict", check->lies[fact->of.conflict_seen.host], "host%u contradicts itself",
                 fact->of.conflict_seen.host);
        break;
    case FACT_LOSS_TOLD:
        PROMISE (check, "journal-doubted", check->report->put_back || check->lies[fact->of.loss_told.host],
                 "a whole journal is doubted: %.*s", TEXT_ARG (fact->of.loss_told.why));
        break;
    default: break;
    }
}

void promises_take (struct promises *check, const struct fact *fact)
{
    struct durable *durable = &check->durable;
    check_order (check, fact);
    check_host (check, fact);
    switch (fact->kind) {
    case FACT_EPOCH_BEGAN:
        PROMISE (check, "epoch-rises", fact->of.epoch_began.epoch > durable->epoch, "epoch %" PRIu64 " again",
                 fact->of.epoch_began.epoch);
        durable->epoch = fact->of.epoch_began.epoch;
        memset (durable->joins, 0, sizeof (durable->joins));
        break;
    case FACT_WRITER_GRANTED: check_granted (check, &fact->of.writer_granted); break;
    case FACT_GENERATION_ADOPTED: durable->current = fact->of.generation.token; break;
    case FACT_GENERATION_PUBLISHED: durable->published = durable->current = fact->of.generation.token; break;
    case FACT_GENERATION_DROPPED:
        durable->dropped_now |= durable->current == fact->of.generation_dropped.token;
        durable->dropped = fact->of.generation_dropped.token;
        durable->excused = true; /* its programs may have to be compiled anew first */
        break;
    case FACT_CACHE_VIOLATED: check_violated (check, &fact->of.cache_violated); break;
    case FACT_ATTEMPT_ENDED: check_attempt (check, &fact->of.attempt_ended); break;
    case FACT_PASS_BEGAN: check_began (check, fact); break;
    case FACT_GATE_OPENED: attempts_add (&check->gates, 0, &fact->of.gate_opened.key); break;
    case FACT_METRIC_JUDGED: check_metric (check, &fact->of.metric_judged); break;
    case FACT_PASS_ENDED: check_pass_ended (check, &fact->of.pass_ended); break;
    case FACT_HOSTS_LEFT_BEHIND: check_left (check, &fact->of.hosts_left_behind); break;
    case FACT_RETRY_PLANNED: check_planned (check, &fact->of.retry_planned); break;
    case FACT_SUSPECTS_NAMED: check_named (check, &fact->of.suspects_named); break;
    case FACT_RUN_ENDED: check_end (check, &fact->of.run_ended); break;
    default: break;
    }
}
