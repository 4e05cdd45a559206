/* apply.c - only facts change state. A replay runs this, too. */

#include <string.h>

#include "coordinator/core/steps.h"

enum { LEASES_LOST_MAX = 3 }; /* of one rung: more are no accident */

static void apply_run_opened (struct engine *to, const struct fact_run_opened *opened)
{
    record_copy (&plan_record, &to->state.plan, &opened->plan, &to->arena);
    uint32_t hosts_n = to->state.plan.hosts.n, rungs_n = to->state.plan.rungs.n;
    to->state.run = text_copy (&to->arena, opened->run);
    to->state.hosts.items = arena_array (&to->arena, hosts_n, sizeof (struct host));
    to->state.hosts.n = hosts_n;
    to->state.rungs.items = arena_array (&to->arena, rungs_n, sizeof (struct rung_state));
    to->state.rungs.n = rungs_n;
    to->coord.soft.hosts = arena_array (&to->arena, hosts_n, sizeof (struct host_soft_state));
    to->coord.soft.part_of_host = arena_array (&to->arena, hosts_n, sizeof (uint32_t));
}

/* A silence that begins ends no earlier. */
static void begin_silence (struct engine *to, uint64_t at_ms)
{
    const struct limits *limits = &to->state.plan.limits;
    uint64_t ends_ms = at_ms + least_u64 (limits->suspect_ms, limits->lost_ms); /* it is asked no earlier */
    to->coord.soft.silence_ms = least_u64 (to->coord.soft.silence_ms, ends_ms);
}

static void hear_host (struct engine *to, uint32_t host, uint64_t at_ms)
{
    struct host_soft_state *link = &to->coord.soft.hosts[host];
    link->received_ms = at_ms;
    link->suspected = link->asked = false;
    begin_silence (to, at_ms);
}

static void apply_epoch_began (struct engine *to, const struct fact *fact)
{
    begin_silence (to, fact->at_ms);
    for (uint32_t i = 0; i < to->state.plan.hosts.n; i++) {
        struct host *host = &to->state.hosts.items[i];
        to->coord.soft.hosts[i].received_ms = fact->at_ms;
        to->coord.soft.hosts[i].claim = (struct text){ 0 };
        if (host->joined_epoch == to->state.epoch)
            host->joined_until = fact->index - 1;
    }
    to->coord.soft.claimed_ms = 0;
    to->state.epoch = fact->of.epoch_began.epoch;
    to->state.away_ms += fact->of.epoch_began.away_ms;
    to->state.pass.away_ms += fact->of.epoch_began.away_ms;
    to->state.began_ms = fact->at_ms;
}

static void apply_host_keyed (struct engine *to, const struct fact_host_keyed *keyed)
{
    struct host *host = &to->state.hosts.items[keyed->host];
    host->key = text_copy (&to->arena, keyed->public_key);
    host->keyed = true;
    if (host->life < HOST_KEYED || host->life == HOST_LOST)
        host->life = HOST_KEYED;
}

static void apply_host_joined (struct engine *to, const struct fact *fact)
{
    const struct fact_host_joined *joined = &fact->of.host_joined;
    struct host *host = &to->state.hosts.items[joined->host];
    if (host->life != HOST_JOINED)
        to->state.joined_n++;
    if (host->session && (host->pid != joined->pid || host->pid_start != joined->pid_start))
        host->reborn_at = fact->index;
    host->joins = host->joined_epoch == to->state.epoch ? host->joins + 1 : 1;
    host->life = HOST_JOINED;
    host->session = joined->session;
    host->joined_epoch = to->state.epoch;
    host->pid = joined->pid;
    host->pid_start = joined->pid_start;
    host->boot_id = text_copy (&to->arena, joined->boot_id);
    host->asked = (struct fact_host_asked){ 0 };
    struct host_soft_state *link = &to->coord.soft.hosts[joined->host];
    link->seen_seq = 0;
    link->claim = (struct text){ 0 };
    hear_host (to, joined->host, fact->at_ms);
}

static void apply_host_lost (struct engine *to, const struct fact_host_lost *lost)
{
    struct host *host = &to->state.hosts.items[lost->host];
    if (host->life == HOST_JOINED)
        to->state.joined_n--;
    host->life = HOST_LOST;
    host->lost_epoch = to->state.epoch;
    host->lost_why = text_copy (&to->arena, lost->why);
}

static void turn_arenas (struct arena *now, struct arena *before)
{
    struct arena reused = *before;
    arena_reset (&reused);
    *before = *now;
    *now = reused;
}

/* Facts in the outbox point into the ended pass, so its memory lives until the next one begins. */
static void pass_reset (struct engine *to)
{
    struct soft_state *soft = &to->coord.soft;
    turn_arenas (&to->pass_arena, &to->pass_before);
    turn_arenas (&soft->pass_arena, &soft->pass_before);
    to->state.pass = (struct pass_state){ 0 };
    memset (soft->part_of_host, 0xff, to->state.hosts.n * sizeof (soft->part_of_host[0]));
    soft->gates_n = 0;
    soft->pass_slept_ms = 0;
    soft->look_at_ms = soft->look_wait_ms = soft->looked_ms = 0;
}

/* Takes the fact's other fields. */
static void take_purpose (struct engine *to, const struct fact *fact)
{
    const struct fact_pass_began *began = &fact->of.pass_began;
    struct pass_state *pass = &to->state.pass;
    pass->purpose = began->purpose;
    pass->mesh = to->state.plan.mesh;
    pass->timeout_ms = to->state.plan.rungs.items[pass->key.rung].timeout_ms;
    to->state.retry.stage = RETRY_NONE;
    if (began->purpose != PURPOSE_ISOLATION)
        return;
    pass->mesh.n = began->mesh.n;
    pass->mesh.items = arena_array (&to->pass_arena, began->mesh.n, sizeof (struct axis));
    for (uint32_t i = 0; i < began->mesh.n; i++)
        record_copy (&axis_record, &pass->mesh.items[i], &began->mesh.items[i], &to->pass_arena);
    pass->timeout_ms = isolate_timeout_ms (pass->timeout_ms, to->state.isolation.trials.items,
                                           to->state.isolation.trials.n);
}

static void make_parts (struct engine *to, const struct fact_pass_began *began)
{
    struct pass_state *pass = &to->state.pass;
    struct soft_state *soft = &to->coord.soft;
    pass->parts.n = began->hosts.n;
    pass->parts.items = arena_array (&to->pass_arena, began->hosts.n, sizeof (struct part));
    soft->parts = arena_array (&to->pass_arena, began->hosts.n, sizeof (struct part_soft_state));
    for (uint32_t i = 0; i < began->hosts.n; i++) {
        struct host_soft_state *link = &soft->hosts[began->hosts.items[i]];
        pass->parts.items[i].host = began->hosts.items[i];
        soft->part_of_host[began->hosts.items[i]] = i;
        link->at_gate = false;
        link->run_sent_ms = link->go_sent_ms = link->stop_sent_ms = 0;
    }
}

static void apply_pass_began (struct engine *to, const struct fact *fact)
{
    const struct fact_pass_began *began = &fact->of.pass_began;
    struct pass_state *pass = &to->state.pass;
    pass_reset (to);
    pass->active = true;
    pass->key = began->key;
    pass->began_ms = fact->at_ms;
    pass->began_at = fact->index;
    take_purpose (to, fact);
    make_parts (to, began);
    to->state.rungs.items[pass->key.rung].attempts[pass->key.pass] = pass->key.attempt;
    if (pass->key.pass != PASS_ONCE && to->state.bundle.len == 0)
        to->state.bundle = text_copy (&to->arena, cache_family_name (&to->coord, &to->arena));
}

static void apply_pass_skipped (struct engine *to, const struct fact_pass_skipped *skipped)
{
    struct rung_state *rung = &to->state.rungs.items[skipped->key.rung];
    if (skipped->key.pass == PASS_RESTORED) { /* mode warm-only: this rung is done */
        rung->outcome = OUTCOME_PASSED;
        to->state.rung = skipped->key.rung + 1;
        return;
    }
    rung->cold_done = true;
    rung->cold_skipped = true;
}

static void apply_gate_opened (struct engine *to, const struct fact_gate_opened *opened)
{
    struct pass_state *pass = &to->state.pass;
    if (gate_find_opened (pass, opened->gate) || pass->gates.n == GATES_MAX || opened->gate.len > WORD_MAX_BYTES)
        return;
    if (!pass->gates.items)
        pass->gates.items = arena_array (&to->pass_arena, GATES_MAX, sizeof (struct gate));
    pass->gates.items[pass->gates.n++] = (struct gate){ .name = text_copy (&to->pass_arena, opened->gate),
                                                        .value = text_copy (&to->pass_arena, opened->value) };
}

static void learn_environment (struct engine *to, const struct result *result)
{
    if (!to->state.env_fingerprint.len)
        to->state.env_fingerprint = text_copy (&to->arena, var_value (&result->bundle, "fingerprint"));
}

static void add_hardware (struct engine *to, struct text kind)
{
    uint32_t at = 0;
    while (at < to->state.hardware.n && text_compare (to->state.hardware.items[at], kind) < 0)
        at++;
    if (to->state.hardware.n == HARDWARE_MAX ||
        (at < to->state.hardware.n && text_equal (to->state.hardware.items[at], kind)))
        return;
    if (!to->state.hardware.items)
        to->state.hardware.items = arena_array (&to->arena, HARDWARE_MAX, sizeof (*to->state.hardware.items));
    memmove (to->state.hardware.items + at + 1, to->state.hardware.items + at,
             (to->state.hardware.n++ - at) * sizeof (*to->state.hardware.items));
    to->state.hardware.items[at] = text_copy (&to->arena, kind);
}

/* The survey reports it. It includes the processor if programs run on it. */
static void learn_hardware (struct engine *to, const struct result *result)
{
    bool on_cpu = text_is (to->state.plan.profile.backend, "cpu");
    for (uint32_t i = 0; i < result->facts.n; i++) {
        const struct var *fact = &result->facts.items[i];
        if (text_is (fact->name, "cache.hardware") || (on_cpu && text_is (fact->name, "cache.cpu")))
            add_hardware (to, fact->value);
    }
}

static void note_failing (struct pass_state *pass, enum ending ending, bool badly, uint64_t at_ms)
{
    if (badly && !pass->failing)
        pass->failed_ms = at_ms;
    pass->failing |= badly;
    pass->failed_in_time |= badly && ending != ENDING_TIMEOUT &&
                            ending != ENDING_CANCELLED; /* by us, since it waited for the others */
}

static void apply_attempt_ended (struct engine *to, const struct fact *fact)
{
    const struct fact_attempt_ended *ended = &fact->of.attempt_ended;
    struct pass_state *pass = &to->state.pass;
    uint32_t at = to->coord.soft.part_of_host[ended->host];
    if (!pass->active || at == NONE || pass->parts.items[at].ended)
        return;
    struct part *part = &pass->parts.items[at];
    part->ended = true;
    part->order = pass->ended_n++;
    part->at_gate = ended->at_gate;
    record_copy (&result_record, &part->result, &ended->result, &to->pass_arena);
    part->told = ended->told;
    note_failing (pass, ended->result.ending, result_ended_badly (&ended->result), fact->at_ms);
    apply_writer_ended (to, ended, fact->index);
    if (!to->state.storage.len)
        to->state.storage = text_copy (&to->arena, ended->result.cache.storage);
    learn_environment (to, &ended->result);
    learn_hardware (to, &ended->result);
}

static void apply_conflict_seen (struct engine *to, const struct fact_conflict_seen *seen)
{
    uint32_t at = to->state.pass.active ? to->coord.soft.part_of_host[seen->host] : NONE;
    if (at != NONE)
        to->state.pass.parts.items[at].conflict = true;
}

static void apply_cancel_asked (struct engine *to, const struct fact_cancel_asked *asked)
{
    struct pass_state *pass = &to->state.pass;
    to->state.cancel_level = asked->level;
    pass->cancelled = pass->cancelled || (pass->active && !pass->failing && !pass->stopped);
}

static void apply_pass_stopped (struct engine *to, const struct fact_pass_stopped *stopped)
{
    to->state.pass.stopped = true;
    record_copy (fact_record_of_kind (FACT_PASS_STOPPED), &to->state.pass.why, stopped, &to->pass_arena);
}

/* If only the cache failed a restored pass over an adopted generation, compile anew, once. */
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

/* If its writer lost the lease, another candidate tries, or the same again. */
static bool may_regrant (const struct rung_state *rung, const struct fact_pass_ended *ended)
{
    return ended->key.pass == PASS_COLD && rung->lease_lost_attempt == ended->key.attempt &&
           rung->leases_lost <= LEASES_LOST_MAX;
}

/* The pass's generation was dropped after a violation. */
static bool may_rewarm (const struct engine *to, const struct rung_state *rung, const struct fact_pass_ended *ended)
{
    return ended->key.pass != PASS_ONCE && to->state.pass.dropped && !rung->rewarmed &&
           cache_mode_has_writer (to->state.plan.cache.mode);
}

static void climb_stopped (struct engine *to, const struct fact_pass_ended *ended)
{
    to->state.rungs.items[ended->key.rung].outcome = ended->outcome;
    to->state.stop = status_sentence_of_failure (&to->coord, ended, &to->arena);
    to->state.stop_outcome = ended->outcome;
    apply_call_for_isolation (to, ended);
}

/* A profile for `cpu` has nothing to prove. */
static bool backend_is_unproved (const struct engine *to, uint32_t at)
{
    const struct rung *rung = &to->state.plan.rungs.items[at];
    bool silent = false;
    for (uint32_t i = 0; i < to->state.pass.parts.n; i++)
        silent = silent || to->state.pass.parts.items[i].result.backend.platform.len == 0;
    return silent && rung->kind == PROGRAM_COMMAND && !rung->any_backend &&
           !text_is (to->state.plan.profile.backend, "cpu");
}

static void apply_pass_ended (struct engine *to, const struct fact *fact)
{
    const struct fact_pass_ended *ended = &fact->of.pass_ended;
    struct rung_state *rung = &to->state.rungs.items[ended->key.rung];
    to->state.pass.active = false;
    if (to->state.pass.purpose == PURPOSE_ISOLATION) {
        apply_trial_ended (to, ended);
        return;
    }
    if (ended->key.attempt == 0) {
        apply_rung_blocked (to, ended);
        return;
    }
    if (ended->key.pass != PASS_ONCE)
        acquisition_next (to->coord.soft.acquisition, ACQUISITION_USED, &to->coord.soft.acquisition);
    if (ended->key.pass == PASS_RESTORED && to->state.generation.token && ended->outcome == OUTCOME_PASSED)
        to->state.right_at = to->state.pass.began_at;
    if (ended->outcome != OUTCOME_PASSED && may_regrant (rung, ended))
        return;
    if (may_rewarm (to, rung, ended)) {
        rung->rewarmed = true;
        return;
    }
    if (ended->outcome != OUTCOME_PASSED && may_refit (rung, ended)) {
        rung->refitted = true;
        rung->cold_done = rung->cold_skipped = false;
        to->state.misfit = to->state.generation.token;
        to->state.generation = (struct fact_generation){ 0 }; /* it did not fit, so it is no base */
        return;
    }
    rung->unproved = ended->outcome == OUTCOME_PASSED &&
                     backend_is_unproved (to, ended->key.rung); /* at its last pass */
    if (ended->outcome != OUTCOME_PASSED) {
        if (!apply_call_for_retry (to, ended) && !apply_going_on (to, ended))
            climb_stopped (to, ended);
    } else if (ended->key.pass == PASS_COLD) {
        rung->cold_done = true;
    } else {
        rung->outcome = outcome_worst (rung->outcome, OUTCOME_PASSED); /* after its cold pass, if the climb went on */
        to->state.rung = ended->key.rung + 1;
    }
}

/* A program that is stopped at a gate has not left it. */
static bool waits_at_gate (const struct holding *held)
{
    return held->state == ATTEMPT_AT_GATE || (held->state == ATTEMPT_STOPPING && held->gate.len > 0);
}

static void apply_host_reported (struct engine *to, const struct fact *fact)
{
    const struct fact_host_reported *received = &fact->of.host_reported;
    struct host_soft_state *link = &to->coord.soft.hosts[received->host];
    hear_host (to, received->host, fact->at_ms);
    link->at_gate = false;
    for (uint32_t i = 0; i < received->holdings.n; i++)
        if (to->state.pass.active && attempt_key_equal (&received->holdings.items[i].key, &to->state.pass.key))
            link->at_gate = waits_at_gate (&received->holdings.items[i]);
}

/* Replay trusts the disk no more than the wire: a fact whose indices are out of range is ignored. */
static bool in_range (const struct engine *to, uint32_t host)
{
    return host < to->state.plan.hosts.n;
}

static bool key_in_range (const struct engine *to, const struct attempt_key *key)
{
    return key->rung < to->state.plan.rungs.n && key->pass <= PASS_RESTORED;
}

static bool pass_in_range (const struct engine *to, const struct fact_pass_began *began)
{
    for (uint32_t i = 0; i < began->hosts.n; i++)
        if (!in_range (to, began->hosts.items[i]))
            return false;
    bool part = began->purpose == PURPOSE_ISOLATION;
    if (part && mesh_devices (&began->mesh) != began->hosts.n * to->state.plan.profile.devices_per_host)
        return false;
    return key_in_range (to, &began->key);
}

static bool verdicts_in_range (const struct engine *to, const struct verdict *verdicts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!in_range (to, verdicts[i].host))
            return false;
    return true;
}

static void apply_loss_told (struct engine *to, const struct fact *fact)
{
    if (!in_range (to, fact->of.loss_told.host))
        return;
    struct host_soft_state *link = &to->coord.soft.hosts[fact->of.loss_told.host];
    link->claim = text_copy (&to->arena, fact->of.loss_told.why);
    to->coord.soft.claimed_ms = link->received_ms = fact->at_ms;
    if (fact->of.loss_told.believed)
        to->state.lost_facts = link->claim;
}

static void apply_of_kind (struct engine *to, const struct fact *fact)
{
    switch (fact->kind) {
    case FACT_NONE: break;
    case FACT_RUN_OPENED: apply_run_opened (to, &fact->of.run_opened); break;
    case FACT_EPOCH_BEGAN: apply_epoch_began (to, fact); break;
    case FACT_HOST_KEYED:
        if (in_range (to, fact->of.host_keyed.host))
            apply_host_keyed (to, &fact->of.host_keyed);
        break;
    case FACT_HOST_JOINED:
        if (in_range (to, fact->of.host_joined.host))
            apply_host_joined (to, fact);
        break;
    case FACT_HOST_LOST:
        if (in_range (to, fact->of.host_lost.host))
            apply_host_lost (to, &fact->of.host_lost);
        break;
    case FACT_GENERATION_ADOPTED:
    case FACT_GENERATION_PUBLISHED:
    case FACT_WRITER_GRANTED:
    case FACT_LEASE_LOST:
    case FACT_CACHE_VIOLATED:
    case FACT_GENERATION_DROPPED: apply_cache_fact (to, fact); break;
    case FACT_PASS_BEGAN:
        if (pass_in_range (to, &fact->of.pass_began))
            apply_pass_began (to, fact);
        break;
    case FACT_PASS_SKIPPED:
        if (key_in_range (to, &fact->of.pass_skipped.key))
            apply_pass_skipped (to, &fact->of.pass_skipped);
        break;
    case FACT_GATE_OPENED: apply_gate_opened (to, &fact->of.gate_opened); break;
    case FACT_ATTEMPT_ENDED:
        if (in_range (to, fact->of.attempt_ended.host))
            apply_attempt_ended (to, fact);
        break;
    case FACT_PASS_ENDED:
        if (key_in_range (to, &fact->of.pass_ended.key) &&
            verdicts_in_range (to, fact->of.pass_ended.verdicts.items, fact->of.pass_ended.verdicts.n))
            apply_pass_ended (to, fact);
        break;
    case FACT_HOSTS_LEFT_BEHIND:
        if (verdicts_in_range (to, fact->of.hosts_left_behind.verdicts.items, fact->of.hosts_left_behind.verdicts.n))
            apply_hosts_left_behind (to, &fact->of.hosts_left_behind);
        break;
    case FACT_CANCEL_ASKED: apply_cancel_asked (to, &fact->of.cancel_asked); break;
    case FACT_CONFLICT_SEEN:
        if (in_range (to, fact->of.conflict_seen.host))
            apply_conflict_seen (to, &fact->of.conflict_seen);
        break;
    case FACT_RUN_ENDED:
        to->state.ended = true;
        to->state.exit_status = fact->of.run_ended.exit_status;
        break;
    case FACT_CLIMB_STOPPED:
        to->state.stop = text_copy (&to->arena, fact->of.climb_stopped.why);
        to->state.stop_outcome = fact->of.climb_stopped.outcome;
        break;
    case FACT_PASS_STOPPED: apply_pass_stopped (to, &fact->of.pass_stopped); break;
    case FACT_HOST_REPORTED:
        if (in_range (to, fact->of.host_reported.host))
            apply_host_reported (to, fact);
        break;
    case FACT_METRIC_JUDGED:
    case FACT_OUTPUT_AWAITED:
    case FACT_OUTPUT_LOST:
    case FACT_HOST_STEPPED:
    case FACT_CACHE_AWAITED: break;
    case FACT_RETRY_PLANNED:
        if (key_in_range (to, &fact->of.retry_planned.key))
            apply_retry_planned (to, &fact->of.retry_planned);
        break;
    case FACT_LOSS_TOLD: apply_loss_told (to, fact); break;
    case FACT_SUSPECTS_NAMED: apply_suspects_named (to, &fact->of.suspects_named); break;
    case FACT_HOST_RETURNED:
        if (in_range (to, fact->of.host_suspected.host)) {
            to->state.hosts.items[fact->of.host_suspected.host].returns++;
            to->state.hosts.items[fact->of.host_suspected.host].asked = (struct fact_host_asked){ 0 };
        }
        break;
    case FACT_HOST_ASKED:
        if (in_range (to, fact->of.host_asked.host))
            record_copy (&host_asked_record, &to->state.hosts.items[fact->of.host_asked.host].asked,
                         &fact->of.host_asked, &to->arena);
        break;
    case FACT_HOST_SUSPECTED:
        if (in_range (to, fact->of.host_suspected.host)) {
            to->coord.soft.hosts[fact->of.host_suspected.host].suspected = true;
            to->coord.soft.hosts[fact->of.host_suspected.host].told_ms = fact->at_ms;
        }
        break;
    }
}

void coord_apply (struct coord *coord, const struct fact *fact)
{
    struct engine *to = engine_of (coord);
    apply_of_kind (to, fact);
    if (!fact_is_soft (fact->kind))
        to->state.next_index = fact->index + 1;
    if (fact->at_ms > to->coord.soft.clock_ms)
        to->coord.soft.clock_ms = fact->at_ms;
    if (fact->wall_ms)
        to->coord.soft.wall_ms = fact->wall_ms;
}
