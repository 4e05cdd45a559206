/* apply.c - facts change state, and nothing else does. Also what a replay runs. */
#include "coordinator/core/apply.h"

#include <stdio.h>
#include <string.h>

#include "coordinator/core/bundle.h"
#include "coordinator/core/sentence.h"
#include "coordinator/verdict/deal.h"

enum { LEASES_LOST_MAX = 3 }; /* of one rung: beyond it is no accident */

static void apply_run_opened (struct coord *coord, const struct fact_run_opened *opened)
{
    record_copy (&plan_record, &coord->plan, &opened->plan, &coord->arena);
    snprintf (coord->run, sizeof (coord->run), "%.*s", TEXT_ARG (opened->run));
    coord->seed = opened->seed;
    coord->hosts = arena_array (&coord->arena, coord->plan.hosts.n, sizeof (struct host));
    coord->rungs = arena_array (&coord->arena, coord->plan.rungs.n, sizeof (struct rung_state));
    coord->pass.part_of_host = arena_array (&coord->arena, coord->plan.hosts.n, sizeof (uint32_t));
}

static void apply_epoch_began (struct coord *coord, const struct fact *fact)
{
    for (uint32_t i = 0; i < coord->plan.hosts.n; i++) {
        struct host *host = &coord->hosts[i];
        host->received_ms = fact->at_ms;
        if (host->joined_epoch == coord->epoch)
            host->joined_until = fact->index - 1;
    }
    coord->epoch = fact->of.epoch_began.epoch;
    coord->began_ms = fact->at_ms;
}

static void apply_host_keyed (struct coord *coord, const struct fact_host_keyed *keyed)
{
    struct host *host = &coord->hosts[keyed->host];
    snprintf (host->key, sizeof (host->key), "%.*s", TEXT_ARG (keyed->public_key));
    host->keyed = true;
    if (host->life < HOST_KEYED || host->life == HOST_LOST)
        host->life = HOST_KEYED;
}

static void apply_host_joined (struct coord *coord, const struct fact *fact)
{
    const struct fact_host_joined *joined = &fact->of.host_joined;
    struct host *host = &coord->hosts[joined->host];
    if (host->life != HOST_JOINED)
        coord->joined_n++;
    if (host->session && (host->pid != joined->pid || host->pid_start != joined->pid_start))
        host->reborn_at = fact->index;
    host->joins = host->joined_epoch == coord->epoch ? host->joins + 1 : 1;
    host->life = HOST_JOINED;
    host->session = joined->session;
    host->seen_seq = 0;
    host->joined_epoch = coord->epoch;
    host->pid = joined->pid;
    host->pid_start = joined->pid_start;
    snprintf (host->boot_id, sizeof (host->boot_id), "%.*s", TEXT_ARG (joined->boot_id));
    host->received_ms = fact->at_ms;
    host->suspected = false;
}

static void apply_host_lost (struct coord *coord, const struct fact_host_lost *lost)
{
    struct host *host = &coord->hosts[lost->host];
    if (host->life == HOST_JOINED)
        coord->joined_n--;
    host->life = HOST_LOST;
    host->lost_epoch = coord->epoch;
    host->lost_why = (char *) text_copy (&coord->arena, lost->why).ptr;
}

static void pass_reset (struct pass_state *pass, uint32_t hosts)
{
    uint32_t *part_of_host = pass->part_of_host;
    struct arena arena = pass->before,
                 before = pass->arena; /* facts still in the outbox point into the pass that ended */
    arena_reset (&arena);
    *pass =
        (struct pass_state){ .part_of_host = part_of_host, .arena = arena, .before = before, .failed_ms = UINT64_MAX };
    memset (part_of_host, 0xff, hosts * sizeof (part_of_host[0]));
}

/* What the fact holds beside the hosts and their numbers. */
static void take_purpose (struct coord *coord, const struct fact *fact)
{
    const struct fact_pass_began *began = &fact->of.pass_began;
    struct pass_state *pass = &coord->pass;
    pass->purpose = began->purpose;
    pass->mesh = coord->plan.mesh;
    pass->timeout_ms = coord->plan.rungs.items[pass->key.rung].timeout_ms;
    coord->retry.stage = RETRY_NONE;
    if (began->purpose != PURPOSE_ISOLATION)
        return;
    pass->mesh.n = began->mesh.n;
    pass->mesh.items = arena_array (&pass->arena, began->mesh.n, sizeof (struct axis));
    for (uint32_t i = 0; i < began->mesh.n; i++)
        record_copy (&axis_record, &pass->mesh.items[i], &began->mesh.items[i], &pass->arena);
    pass->timeout_ms = isolate_timeout_ms (pass->timeout_ms, coord->isolation.trials, coord->isolation.trials_n);
}

static void apply_pass_began (struct coord *coord, const struct fact *fact)
{
    const struct fact_pass_began *began = &fact->of.pass_began;
    struct pass_state *pass = &coord->pass;
    pass_reset (pass, coord->plan.hosts.n);
    pass->active = true;
    pass->key = began->key;
    pass->began_ms = fact->at_ms;
    pass->began_at = fact->index;
    pass->seed = began->seed;
    take_purpose (coord, fact);
    pass->n = began->hosts.n;
    pass->parts = arena_array (&pass->arena, pass->n, sizeof (struct part));
    pass->secrets = arena_array (&pass->arena, pass->n, sizeof (uint64_t));
    for (uint32_t i = 0; i < pass->n; i++) {
        uint32_t host = began->hosts.items[i];
        pass->parts[i].host = host;
        pass->part_of_host[host] = i;
        coord->hosts[host].at_gate = false;
        coord->hosts[host].run_sent_ms = coord->hosts[host].go_sent_ms = coord->hosts[host].stop_sent_ms = 0;
    }
    if (coord->plan.rungs.items[pass->key.rung].scope == SCOPE_SLICE)
        pass->dealt = deal_secrets (pass->seed, pass->n, coord->plan.profile.devices_per_host, pass->secrets);
    coord->rungs[pass->key.rung].attempts[pass->key.pass] = pass->key.attempt;
    if (pass->key.pass != PASS_ONCE && coord->bundle.len == 0)
        coord->bundle = bundle_name (coord, &coord->arena);
}

static void apply_pass_skipped (struct coord *coord, const struct fact_pass_skipped *skipped)
{
    struct rung_state *rung = &coord->rungs[skipped->key.rung];
    if (skipped->key.pass == PASS_RESTORED) { /* mode warm-only: this rung is done */
        rung->outcome = OUTCOME_PASSED;
        coord->rung = skipped->key.rung + 1;
        return;
    }
    rung->cold_done = true;
    rung->cold_skipped = true;
}

static struct gate *gate_named (struct pass_state *pass, struct text name)
{
    for (uint32_t i = 0; i < pass->gates_n; i++)
        if (text_is (name, pass->gates[i].name))
            return &pass->gates[i];
    if (pass->gates_n == GATES_MAX || name.len >= sizeof (pass->gates[0].name))
        return NULL;
    struct gate *gate = &pass->gates[pass->gates_n++];
    snprintf (gate->name, sizeof (gate->name), "%.*s", TEXT_ARG (name));
    gate->values = arena_array (&pass->arena, pass->n, sizeof (struct text));
    return gate;
}

static void apply_gate_opened (struct coord *coord, const struct fact_gate_opened *opened)
{
    struct gate *gate = gate_named (&coord->pass, opened->gate);
    if (gate == NULL)
        return;
    gate->open = true;
    gate->value = (char *) text_copy (&coord->pass.arena, opened->value).ptr;
}

static bool ended_badly (const struct result *result)
{
    return result->ending != ENDING_EXITED || result->code != 0;
}

static void learn_environment (struct coord *coord, const struct result *result)
{
    for (uint32_t i = 0; i < result->bundle.n && !coord->env_fingerprint.len; i++)
        if (text_is (result->bundle.items[i].name, "fingerprint"))
            coord->env_fingerprint = text_copy (&coord->arena, result->bundle.items[i].value);
}

static void add_hardware (struct coord *coord, struct text kind)
{
    uint32_t at = 0;
    while (at < coord->hardware.n && text_compare (coord->hardware.items[at], kind) < 0)
        at++;
    if (coord->hardware.n == HARDWARE_MAX || (at < coord->hardware.n && text_equal (coord->hardware.items[at], kind)))
        return;
    if (!coord->hardware.items)
        coord->hardware.items = arena_array (&coord->arena, HARDWARE_MAX, sizeof (*coord->hardware.items));
    memmove (coord->hardware.items + at + 1, coord->hardware.items + at,
             (coord->hardware.n++ - at) * sizeof (*coord->hardware.items));
    coord->hardware.items[at] = text_copy (&coord->arena, kind);
}

/* Told by the survey. The processor counts where the programs run on it. */
static void learn_hardware (struct coord *coord, const struct result *result)
{
    bool on_cpu = text_is (coord->plan.profile.backend, "cpu");
    for (uint32_t i = 0; i < result->facts.n; i++) {
        const struct var *fact = &result->facts.items[i];
        if (text_is (fact->name, "cache.hardware") || (on_cpu && text_is (fact->name, "cache.cpu")))
            add_hardware (coord, fact->value);
    }
}

static void apply_attempt_ended (struct coord *coord, const struct fact *fact)
{
    const struct fact_attempt_ended *ended = &fact->of.attempt_ended;
    struct pass_state *pass = &coord->pass;
    uint32_t at = pass->part_of_host[ended->host];
    if (!pass->active || at == NONE || pass->parts[at].ended)
        return;
    struct part *part = &pass->parts[at];
    part->ended = true;
    part->order = pass->ended_n++;
    part->at_gate = ended->at_gate;
    record_copy (&result_record, &part->result, &ended->result, &pass->arena);
    snprintf (part->sha256, sizeof (part->sha256), "%.*s", TEXT_ARG (ended->sha256));
    if (ended_badly (&ended->result) && pass->failed_ms == UINT64_MAX)
        pass->failed_ms = fact->at_ms;
    apply_writer_ended (coord, ended, fact->index);
    if (!coord->storage.len)
        coord->storage = text_copy (&coord->arena, ended->result.cache.storage);
    learn_environment (coord, &ended->result);
    learn_hardware (coord, &ended->result);
}

static void apply_conflict_seen (struct coord *coord, const struct fact_conflict_seen *seen)
{
    uint32_t at = coord->pass.active ? coord->pass.part_of_host[seen->host] : NONE;
    if (at != NONE)
        coord->pass.parts[at].conflict = true;
}

static void apply_cancel_asked (struct coord *coord, const struct fact_cancel_asked *asked)
{
    struct pass_state *pass = &coord->pass;
    coord->cancel_level = asked->level;
    pass->cancelled = pass->cancelled || (pass->active && pass->failed_ms == UINT64_MAX && !pass->stopped);
}

static void apply_pass_stopped (struct coord *coord, const struct fact_pass_stopped *stopped)
{
    coord->pass.stopped = true;
    record_copy (fact_body (FACT_PASS_STOPPED), &coord->pass.why, stopped, &coord->pass.arena);
}

/* A restored pass over an adopted generation that only the cache failed: compile anew, once. */
static bool may_refit (const struct rung_state *rung, const struct fact_pass_ended *ended)
{
    if (ended->key.pass != PASS_RESTORED || !rung->cold_skipped || rung->refitted || ended->verdicts.n == 0)
        return false;
    for (uint32_t i = 0; i < ended->verdicts.n; i++) {
        const struct verdict *verdict = &ended->verdicts.items[i];
        if (verdict->owner != OWNER_CACHE && verdict->outcome != OUTCOME_CASCADE)
            return false;
    }
    return true;
}

/* Its writer lost the lease: another candidate tries, or the same one again. */
static bool may_regrant (const struct rung_state *rung, const struct fact_pass_ended *ended)
{
    return ended->key.pass == PASS_COLD && rung->lease_lost_attempt == ended->key.attempt &&
           rung->leases_lost <= LEASES_LOST_MAX;
}

/* A violation was found in what the pass used, and that was dropped. */
static bool may_rewarm (const struct coord *coord, const struct rung_state *rung, const struct fact_pass_ended *ended)
{
    return ended->key.pass != PASS_ONCE && coord->pass.dropped && !rung->rewarmed &&
           cache_mode_writes (coord->plan.cache.mode);
}

static void stop_climb (struct coord *coord, const struct fact_pass_ended *ended)
{
    coord->rungs[ended->key.rung].outcome = ended->outcome;
    coord->stop = (char *) sentence_of_fall (coord, ended, &coord->arena).ptr;
    coord->stop_outcome = ended->outcome;
    isolation_call (coord, ended);
}

static void apply_pass_ended (struct coord *coord, const struct fact *fact)
{
    const struct fact_pass_ended *ended = &fact->of.pass_ended;
    struct rung_state *rung = &coord->rungs[ended->key.rung];
    coord->pass.active = false;
    if (coord->pass.purpose == PURPOSE_ISOLATION) {
        isolation_take (coord, ended);
        return;
    }
    coord->audited = coord->audited && ended->key.pass == PASS_ONCE;
    if (ended->key.pass == PASS_RESTORED && coord->generation.token && ended->outcome == OUTCOME_PASSED)
        coord->right_at = coord->pass.began_at;
    if (ended->outcome != OUTCOME_PASSED && may_regrant (rung, ended))
        return;
    if (may_rewarm (coord, rung, ended)) {
        rung->rewarmed = true;
        return;
    }
    if (ended->outcome != OUTCOME_PASSED && may_refit (rung, ended)) {
        rung->refitted = true;
        rung->cold_done = rung->cold_skipped = false;
        coord->misfit = coord->generation.token;
        coord->generation = (struct fact_generation){ 0 }; /* nothing is built upon one that did not serve */
        return;
    }
    if (ended->outcome != OUTCOME_PASSED) {
        if (!apply_retry_called (coord, ended))
            stop_climb (coord, ended);
    } else if (ended->key.pass == PASS_COLD) {
        rung->cold_done = true;
    } else {
        rung->outcome = OUTCOME_PASSED;
        coord->rung = ended->key.rung + 1;
    }
}

/* A program that is stopped at a gate has not left it. */
static bool waits_at_gate (const struct holding *held)
{
    return held->state == ATTEMPT_AT_GATE || (held->state == ATTEMPT_STOPPING && held->gate.len > 0);
}

static void apply_host_reported (struct coord *coord, const struct fact *fact)
{
    const struct fact_host_reported *received = &fact->of.host_reported;
    struct host *host = &coord->hosts[received->host];
    host->received_ms = fact->at_ms;
    host->suspected = false;
    host->at_gate = false;
    for (uint32_t i = 0; i < received->holdings.n; i++)
        if (coord->pass.active && attempt_key_equal (&received->holdings.items[i].key, &coord->pass.key))
            host->at_gate = waits_at_gate (&received->holdings.items[i]);
}

/* Replay must not trust the disk more than the wire: a fact whose indices are out of range is not followed. */
static bool in_range (const struct coord *coord, uint32_t host)
{
    return host < coord->plan.hosts.n;
}

static bool key_in_range (const struct coord *coord, const struct attempt_key *key)
{
    return key->rung < coord->plan.rungs.n && key->pass <= PASS_RESTORED;
}

static bool pass_in_range (const struct coord *coord, const struct fact_pass_began *began)
{
    for (uint32_t i = 0; i < began->hosts.n; i++)
        if (!in_range (coord, began->hosts.items[i]))
            return false;
    bool part = began->purpose == PURPOSE_ISOLATION;
    if (part && mesh_devices (&began->mesh) != began->hosts.n * coord->plan.profile.devices_per_host)
        return false;
    return key_in_range (coord, &began->key);
}

static bool verdicts_in_range (const struct coord *coord, const struct fact_pass_ended *ended)
{
    for (uint32_t i = 0; i < ended->verdicts.n; i++)
        if (!in_range (coord, ended->verdicts.items[i].host))
            return false;
    return key_in_range (coord, &ended->key);
}

static void apply_of_kind (struct coord *coord, const struct fact *fact)
{
    switch (fact->kind) {
    case FACT_NONE: break;
    case FACT_RUN_OPENED: apply_run_opened (coord, &fact->of.run_opened); break;
    case FACT_EPOCH_BEGAN: apply_epoch_began (coord, fact); break;
    case FACT_HOST_KEYED:
        if (in_range (coord, fact->of.host_keyed.host))
            apply_host_keyed (coord, &fact->of.host_keyed);
        break;
    case FACT_HOST_JOINED:
        if (in_range (coord, fact->of.host_joined.host))
            apply_host_joined (coord, fact);
        break;
    case FACT_HOST_LOST:
        if (in_range (coord, fact->of.host_lost.host))
            apply_host_lost (coord, &fact->of.host_lost);
        break;
    case FACT_GENERATION_ADOPTED:
    case FACT_GENERATION_PUBLISHED:
    case FACT_WRITER_GRANTED:
    case FACT_LEASE_LOST:
    case FACT_CACHE_VIOLATED:
    case FACT_GENERATION_DROPPED: apply_cache_fact (coord, fact); break;
    case FACT_PASS_BEGAN:
        if (pass_in_range (coord, &fact->of.pass_began))
            apply_pass_began (coord, fact);
        break;
    case FACT_PASS_SKIPPED:
        if (key_in_range (coord, &fact->of.pass_skipped.key))
            apply_pass_skipped (coord, &fact->of.pass_skipped);
        break;
    case FACT_GATE_OPENED: apply_gate_opened (coord, &fact->of.gate_opened); break;
    case FACT_ATTEMPT_ENDED:
        if (in_range (coord, fact->of.attempt_ended.host))
            apply_attempt_ended (coord, fact);
        break;
    case FACT_METRIC_JUDGED: break;
    case FACT_PASS_ENDED:
        if (verdicts_in_range (coord, &fact->of.pass_ended))
            apply_pass_ended (coord, fact);
        break;
    case FACT_CANCEL_ASKED: apply_cancel_asked (coord, &fact->of.cancel_asked); break;
    case FACT_CONFLICT_SEEN:
        if (in_range (coord, fact->of.conflict_seen.host))
            apply_conflict_seen (coord, &fact->of.conflict_seen);
        break;
    case FACT_RUN_ENDED:
        coord->ended = true;
        coord->exit_status = fact->of.run_ended.exit_status;
        break;
    case FACT_PASS_STOPPED: apply_pass_stopped (coord, &fact->of.pass_stopped); break;
    case FACT_HOST_REPORTED:
        if (in_range (coord, fact->of.host_reported.host))
            apply_host_reported (coord, fact);
        break;
    case FACT_HOST_STEPPED: break;
    case FACT_CACHE_AWAITED: break;
    case FACT_RETRY_PLANNED:
        if (key_in_range (coord, &fact->of.retry_planned.key))
            apply_retry_planned (coord, &fact->of.retry_planned);
        break;
    case FACT_LOSS_TOLD: coord->doubt = text_copy (&coord->arena, fact->of.loss_told.why); break;
    case FACT_SUSPECTS_NAMED: isolation_close (coord, &fact->of.suspects_named); break;
    case FACT_HOST_SUSPECTED:
        if (in_range (coord, fact->of.host_suspected.host))
            coord->hosts[fact->of.host_suspected.host].suspected = true;
        break;
    }
}

void coord_apply (struct coord *coord, const struct fact *fact)
{
    apply_of_kind (coord, fact);
    if (!fact_is_soft (fact->kind))
        coord->next_index = fact->index + 1;
    if (fact->at_ms > coord->clock_ms)
        coord->clock_ms = fact->at_ms;
}
