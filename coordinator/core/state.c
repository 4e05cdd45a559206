/* state.c - questions that the state answers. */
#include "coordinator/core/state.h"

#include <stddef.h>

#include "coordinator/verdict/flag_set.h"

/* Sealing or auditing may take as long as the program, and at least this. */
enum { CLOSE_MS = 60000 };

uint64_t coord_to_run_clock (const struct coord *coord, uint64_t now_ms)
{
    uint64_t at = (uint64_t) ((int64_t) now_ms + coord->soft.clock_offset_ms);
    return at > coord->soft.clock_ms ? at : coord->soft.clock_ms; /* the run's clock never goes back */
}

/* Time of a worker's cache work beside the program (worker/attempt/attempt_close.c), and of its wait for the lease. */
static uint64_t cache_ms (const struct coord *coord)
{
    uint64_t timeout_ms = coord->state->pass.timeout_ms, close_ms = timeout_ms > CLOSE_MS ? timeout_ms : CLOSE_MS;
    switch (coord->state->pass.key.pass) {
    case PASS_COLD: return close_ms + coord->state->plan.limits.lease_ms;
    case PASS_RESTORED: return close_ms;
    default: return 0;
    }
}

uint64_t coord_longest_attempt_ms (const struct coord *coord)
{
    return coord->state->pass.timeout_ms + 2 * coord->state->plan.limits.stop_ms + cache_ms (coord);
}

bool parts_are_independent (const struct coord *coord)
{
    return coord->state->plan.rungs.items[coord->state->pass.key.rung].scope != SCOPE_SLICE;
}

bool host_is_lost (const struct coord *coord, uint32_t host)
{
    return coord->state->hosts.items[host].life == HOST_LOST &&
           coord->state->hosts.items[host].lost_epoch == coord->state->epoch;
}

bool takes_part (const struct coord *coord, uint32_t host)
{
    return coord->state->hosts.items[host].left == LEFT_NOT;
}

bool host_is_awaited (const struct coord *coord, uint32_t host)
{
    return takes_part (coord, host) && coord->state->hosts.items[host].life != HOST_JOINED &&
           !host_is_lost (coord, host);
}

bool all_are_here (const struct coord *coord)
{
    if (coord->state->left_n == 0)
        return coord->state->joined_n == coord->state->plan.hosts.n;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (takes_part (coord, i) && coord->state->hosts.items[i].life != HOST_JOINED)
            return false;
    return true;
}

struct text names_left_behind (const struct coord *coord, struct arena *arena)
{
    struct text *names = arena_array (arena, coord->state->left_n, sizeof (*names));
    uint32_t n = 0;
    for (uint32_t i = 0; i < coord->state->plan.hosts.n; i++)
        if (!takes_part (coord, i))
            names[n++] = coord->state->plan.hosts.items[i].name;
    return hostset_folded (names, n, NAME_MAX_BYTES, arena);
}

bool climb_uses_cache (const struct coord *coord, const struct rung *rung)
{
    return rung->warm != WARM_NONE && coord->state->plan.cache.mode != CACHE_OFF &&
           coord->state->plan.cache.mode != CACHE_NONE;
}

bool cache_has_generations (const struct coord *coord)
{
    return cache_mode_has_writer (coord->state->plan.cache.mode) || coord->state->plan.cache.mode == CACHE_READ_ONLY;
}

uint64_t write_lease_end_index (const struct coord *coord, uint64_t token)
{
    for (uint32_t i = 0; i < coord->state->writings.n; i++)
        if (coord->state->writings.items[i].token == token)
            return coord->state->writings.items[i].over_at;
    return 0;
}

bool write_lease_is_unused (const struct coord *coord)
{
    return coord->state->granted && coord->state->rungs.items[coord->state->grant.key.rung].attempts[PASS_COLD] <
                                        coord->state->grant.key.attempt;
}

struct isolate_case isolation_make_case (const struct coord *coord)
{
    return (struct isolate_case){
        .hosts = coord->state->plan.hosts.n,
        .unit = isolate_unit (&coord->state->plan.mesh, coord->state->plan.profile.devices_per_host),
        .trials = coord->state->isolation.trials.items,
        .trials_n = coord->state->isolation.trials.n,
    };
}

const struct gate *gate_find_opened (const struct pass_state *pass, struct text name)
{
    for (uint32_t i = 0; i < pass->gates.n; i++)
        if (text_equal (name, pass->gates.items[i].name))
            return &pass->gates.items[i];
    return NULL;
}

/* ---- state record ---- */

/* The table of the durable state, by which replay is compared with the live state, and copied. */

enum { ANY_BYTES = UINT32_MAX, ANY = UINT32_MAX };
#define ANY_U64 UINT64_MAX

static const char *const life_words[] = { "expected", "keyed", "joined", "lost" };
static const struct enum_names life_names = { life_words, 4 };
static const char *const retry_words[] = { "none", "called-for", "planned" };
static const struct enum_names retry_names = { retry_words, 3 };
static const char *const answer_words[] = { "works", "failed", "void" };
static const struct enum_names answer_names = { answer_words, 3 };

static const char *const left_words[] = { "not", "absent", "failed" };
static const struct enum_names left_names = { left_words, 3 };

static const struct field host_fields[] = {
    F_ENUM (1, struct host, life, &life_names),    F_BOOL (2, struct host, keyed),
    F_TEXT (3, struct host, key, ANY_BYTES),       F_U64 (4, struct host, session, ANY_U64),
    F_U64 (5, struct host, joined_epoch, ANY_U64), F_U64 (6, struct host, joined_until, ANY_U64),
    F_U64 (7, struct host, pid, ANY_U64),          F_U64 (8, struct host, pid_start, ANY_U64),
    F_TEXT (9, struct host, boot_id, ANY_BYTES),   F_U32 (10, struct host, joins, ANY),
    F_U64 (11, struct host, reborn_at, ANY_U64),   F_TEXT (12, struct host, lost_why, ANY_BYTES),
    F_U64 (13, struct host, lost_epoch, ANY_U64),  F_ENUM (14, struct host, left, &left_names),
    F_TEXT (15, struct host, left_why, ANY_BYTES), F_U32 (16, struct host, returns, ANY),
};
static const struct record host_record = RECORD ("host", struct host, host_fields);

static const struct field part_fields[] = { F_U32 (1, struct part, host, ANY),
                                            F_BOOL (3, struct part, ended),
                                            F_U32 (4, struct part, order, ANY),
                                            F_RECORD (5, struct part, result, &result_record),
                                            F_TEXT (6, struct part, sha256, ANY_BYTES),
                                            F_BOOL (7, struct part, conflict),
                                            F_BOOL (8, struct part, at_gate) };
static const struct record part_record = RECORD ("part", struct part, part_fields);

static const struct field gate_fields[] = { F_TEXT (1, struct gate, name, ANY_BYTES),
                                            F_TEXT (2, struct gate, value, ANY_BYTES) };
static const struct record gate_record = RECORD ("gate", struct gate, gate_fields);

static const struct field pass_fields[] = { F_BOOL (1, struct pass_state, active),
                                            F_RECORD (2, struct pass_state, key, &attempt_key_record),
                                            F_ENUM (3, struct pass_state, purpose, &purpose_names),
                                            F_LIST (4, struct pass_state, mesh, MESH_AXES_MAX, &axis_record),
                                            F_U64 (5, struct pass_state, timeout_ms, ANY_U64),
                                            F_U64 (6, struct pass_state, began_ms, ANY_U64),
                                            F_U64 (8, struct pass_state, began_at, ANY_U64),
                                            F_LIST (9, struct pass_state, parts, ANY, &part_record),
                                            F_U32 (10, struct pass_state, ended_n, ANY),
                                            F_BOOL (12, struct pass_state, failing),
                                            F_U64 (13, struct pass_state, failed_ms, ANY_U64),
                                            F_BOOL (14, struct pass_state, stopped),
                                            F_BOOL (15, struct pass_state, dropped),
                                            F_RECORD (16, struct pass_state, why, &pass_stopped_record),
                                            F_LIST (17, struct pass_state, gates, GATES_MAX, &gate_record),
                                            F_BOOL (18, struct pass_state, cancelled),
                                            F_U64 (19, struct pass_state, away_ms, ANY_U64) };
static const struct record pass_record = RECORD ("pass", struct pass_state, pass_fields);

static const struct field violation_fields[] = { F_ENUM (1, struct seen_violation, kind, &finding_kind_names),
                                                 F_U64 (2, struct seen_violation, token, ANY_U64),
                                                 F_TEXT (3, struct seen_violation, path, ANY_BYTES),
                                                 F_BOOL (4, struct seen_violation, dropped) };
static const struct record seen_violation_record = RECORD ("violation", struct seen_violation, violation_fields);

static const struct field rung_fields[] = { F_ENUM (1, struct rung_state, outcome, &outcome_names),
                                            F_U32 (2, struct rung_state, attempts[PASS_NONE], ANY),
                                            F_U32 (3, struct rung_state, attempts[PASS_ONCE], ANY),
                                            F_U32 (4, struct rung_state, attempts[PASS_COLD], ANY),
                                            F_U32 (5, struct rung_state, attempts[PASS_RESTORED], ANY),
                                            F_BOOL (6, struct rung_state, cold_done),
                                            F_BOOL (7, struct rung_state, cold_skipped),
                                            F_BOOL (8, struct rung_state, refitted),
                                            F_BOOL (9, struct rung_state, rewarmed),
                                            F_U32 (10, struct rung_state, retries[PASS_NONE], ANY),
                                            F_U32 (11, struct rung_state, retries[PASS_ONCE], ANY),
                                            F_U32 (12, struct rung_state, retries[PASS_COLD], ANY),
                                            F_U32 (13, struct rung_state, retries[PASS_RESTORED], ANY),
                                            F_TEXT (14, struct rung_state, retried_for, ANY_BYTES),
                                            F_U32 (15, struct rung_state, leases_lost, ANY),
                                            F_U32 (16, struct rung_state, lease_lost_attempt, ANY),
                                            F_BOOL (17, struct rung_state, unproved) };
static const struct record rung_state_record = RECORD ("rung", struct rung_state, rung_fields);

static const struct field retry_fields[] = {
    F_ENUM (1, struct retry_state, stage, &retry_names),  F_RECORD (2, struct retry_state, failed, &attempt_key_record),
    F_TEXT (3, struct retry_state, signature, ANY_BYTES), F_TEXT (4, struct retry_state, why, ANY_BYTES),
    F_U64 (5, struct retry_state, due_ms, ANY_U64),
};
static const struct record retry_record = RECORD ("retry", struct retry_state, retry_fields);

static const struct field trial_fields[] = { F_U32S (1, struct isolate_trial, hosts, ANY, ANY),
                                             F_ENUM (2, struct isolate_trial, answer, &answer_names),
                                             F_U64 (3, struct isolate_trial, duration_ms, ANY_U64) };
static const struct record trial_record = RECORD ("trial", struct isolate_trial, trial_fields);

static const struct field isolation_fields[] = {
    F_BOOL (1, struct isolation, called_for),
    F_BOOL (2, struct isolation, over),
    F_RECORD (3, struct isolation, failed, &pass_ended_record),
    F_LIST (4, struct isolation, trials, ISOLATE_TRIALS_MAX, &trial_record),
};
static const struct record isolation_record = RECORD ("isolation", struct isolation, isolation_fields);

static const struct field writing_fields[] = { F_U64 (1, struct ended_write, token, ANY_U64),
                                               F_U64 (2, struct ended_write, over_at, ANY_U64) };
static const struct record writing_record = RECORD ("writing", struct ended_write, writing_fields);

static const struct field state_fields[] = {
    F_RECORD (1, struct state, plan, &plan_record),
    F_TEXT (2, struct state, run, ANY_BYTES),
    F_U64 (4, struct state, next_index, ANY_U64),
    F_U64 (5, struct state, epoch, ANY_U64),
    F_U64 (6, struct state, began_ms, ANY_U64),
    F_LIST (7, struct state, hosts, ANY, &host_record),
    F_U32 (8, struct state, joined_n, ANY),
    F_LIST (9, struct state, rungs, ANY, &rung_state_record),
    F_U32 (10, struct state, rung, ANY),
    F_RECORD (11, struct state, pass, &pass_record),
    F_RECORD (12, struct state, retry, &retry_record),
    F_RECORD (13, struct state, isolation, &isolation_record),
    F_TEXT (14, struct state, env_fingerprint, ANY_BYTES),
    F_TEXT (15, struct state, bundle, ANY_BYTES),
    F_BOOL (16, struct state, cache_known),
    F_RECORD (17, struct state, generation, &generation_record),
    F_RECORD (18, struct state, grant, &writer_granted_record),
    F_BOOL (19, struct state, granted),
    F_BOOL (20, struct state, unreleased),
    F_TEXTS (21, struct state, hardware, HARDWARE_MAX, ANY_BYTES),
    F_TEXT (22, struct state, storage, ANY_BYTES),
    F_U64 (23, struct state, right_at, ANY_U64),
    F_LIST (24, struct state, writings, WRITINGS_MAX, &writing_record),
    F_U64 (25, struct state, misfit, ANY_U64),
    F_LIST (26, struct state, violations, VIOLATIONS_MAX, &seen_violation_record),
    F_U32 (27, struct state, counted_violations, ANY),
    F_U32 (28, struct state, cancel_level, ANY),
    F_TEXT (29, struct state, stop, ANY_BYTES),
    F_ENUM (30, struct state, stop_outcome, &outcome_names),
    F_BOOL (31, struct state, ended),
    F_U32 (32, struct state, exit_status, ANY),
    F_TEXT (33, struct state, lost_facts, ANY_BYTES),
    F_U64 (34, struct state, away_ms, ANY_U64),
    F_U32 (35, struct state, left_n, ANY),
    F_ENUM (36, struct state, shortfall_outcome, &outcome_names),
    F_TEXT (37, struct state, shortfall, ANY_BYTES),
};
const struct record state_record = RECORD ("state", struct state, state_fields);

/* ---- acquisition ---- */

static const struct {
    enum acquisition from;
    enum acquisition_event event;
    enum acquisition to;
} moves[] = { { ACQUISITION_UNKNOWN, ACQUISITION_FIND, ACQUISITION_FINDING },
              { ACQUISITION_FINDING, ACQUISITION_ANSWER, ACQUISITION_FOUND },
              { ACQUISITION_FINDING, ACQUISITION_FAIL, ACQUISITION_GIVEN_UP },
              { ACQUISITION_FOUND, ACQUISITION_AUDIT, ACQUISITION_AUDITING },
              { ACQUISITION_AUDITING, ACQUISITION_AUDITED, ACQUISITION_READY },
              { ACQUISITION_READY, ACQUISITION_USED, ACQUISITION_FOUND },
              { ACQUISITION_READY, ACQUISITION_ASK, ACQUISITION_ASKING },
              { ACQUISITION_READY, ACQUISITION_FAIL, ACQUISITION_READY },
              { ACQUISITION_ASKING, ACQUISITION_GRANTED, ACQUISITION_READY },
              { ACQUISITION_ASKING, ACQUISITION_TAKEN, ACQUISITION_OWNED },
              { ACQUISITION_ASKING, ACQUISITION_FAIL, ACQUISITION_READY },
              { ACQUISITION_OWNED, ACQUISITION_LOOK, ACQUISITION_LOOKING },
              { ACQUISITION_OWNED, ACQUISITION_FAIL, ACQUISITION_READY },
              { ACQUISITION_LOOKING, ACQUISITION_ANSWER, ACQUISITION_FOUND },
              { ACQUISITION_LOOKING, ACQUISITION_NOTHING_NEW, ACQUISITION_READY },
              { ACQUISITION_LOOKING, ACQUISITION_FAIL, ACQUISITION_READY } };

bool acquisition_next (enum acquisition from, enum acquisition_event event, enum acquisition *to)
{
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++)
        if (moves[i].from == from && moves[i].event == event) {
            *to = moves[i].to;
            return true;
        }
    return false;
}

/* ---- cache family ---- */

/* Names of caches: what must be equal for one compile cache to serve two runs. */

struct text cache_family_name (const struct coord *coord, struct arena *arena)
{
    const struct plan *plan = &coord->state->plan;
    if (coord->state->bundle.len)
        return coord->state->bundle;
    struct text env_fingerprint = coord->state->env_fingerprint;
    struct fingerprint_builder name = fingerprint_begin (arena);
    fingerprint_add (&name, "environment", env_fingerprint.len ? env_fingerprint : plan->pins.file.sha256);
    fingerprint_add (&name, "backend", plan->profile.backend);
    fingerprint_add (&name, "devices", text_format (arena, "%u", plan->profile.devices_per_host));
    for (uint32_t i = 0; i < coord->state->hardware.n; i++)
        fingerprint_add (&name, "hardware", coord->state->hardware.items[i]);
    fingerprint_add_profile (&name, &plan->profile);
    struct text fingerprint = fingerprint_end (&name);
    return text_format (arena, "%.*s/%.*s", TEXT_ARG (plan->profile.frontend), TEXT_ARG (fingerprint));
}

struct text cache_family_rung_cover (const struct plan *plan, const struct rung *rung, struct arena *arena)
{
    struct fingerprint_builder cover = fingerprint_begin (arena);
    fingerprint_add (&cover, "program", rung->program.sha256);
    for (uint32_t i = 0; i < rung->argv.n; i++)
        fingerprint_add (&cover, "argument", rung->argv.items[i]);
    for (uint32_t i = 0; i < rung->files.n && rung->kind == PROGRAM_COMMAND; i++)
        fingerprint_add (&cover, "file", rung->files.items[i].file.sha256);
    fingerprint_add_vars (&cover, rung->args.items, rung->args.n);
    if (rung->scope == SCOPE_SLICE)
        for (uint32_t i = 0; i < plan->mesh.n; i++)
            fingerprint_add (
                &cover, "axis",
                text_format (arena, "%.*s=%u", TEXT_ARG (plan->mesh.items[i].axis), plan->mesh.items[i].size));
    struct text fingerprint = fingerprint_end (&cover);
    return text_format (arena, "%.*s:%.*s", TEXT_ARG (rung->id), TEXT_ARG (fingerprint));
}

text_list cache_family_all_covers (const struct coord *coord, struct arena *arena)
{
    text_list covers = { .items = arena_array (arena, coord->state->plan.rungs.n, sizeof (*covers.items)) };
    for (uint32_t i = 0; i < coord->state->plan.rungs.n; i++)
        if (climb_uses_cache (coord, &coord->state->plan.rungs.items[i]))
            covers.items[covers.n++] = cache_family_rung_cover (&coord->state->plan, &coord->state->plan.rungs.items[i],
                                                                arena);
    return covers;
}
