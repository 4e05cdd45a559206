/* state_record.h - the table of a coordinator's durable state, by which replay is compared with the live state, and
 * copied. A new member of `struct state` needs its line here: what is not here is not compared. */
#ifndef SLICEUP_TESTS_LIB_STATE_RECORD_H
#define SLICEUP_TESTS_LIB_STATE_RECORD_H

#include "coordinator/core/state.h"

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
    F_ENUM (1, struct host, life, &life_names),
    F_BOOL (2, struct host, keyed),
    F_TEXT (3, struct host, key, ANY_BYTES),
    F_U64 (4, struct host, session, ANY_U64),
    F_U64 (5, struct host, joined_epoch, ANY_U64),
    F_U64 (6, struct host, joined_until, ANY_U64),
    F_U64 (7, struct host, pid, ANY_U64),
    F_U64 (8, struct host, pid_start, ANY_U64),
    F_TEXT (9, struct host, boot_id, ANY_BYTES),
    F_U32 (10, struct host, joins, ANY),
    F_U64 (11, struct host, reborn_at, ANY_U64),
    F_TEXT (12, struct host, lost_why, ANY_BYTES),
    F_U64 (13, struct host, lost_epoch, ANY_U64),
    F_ENUM (14, struct host, left, &left_names),
    F_TEXT (15, struct host, left_why, ANY_BYTES),
    F_U32 (16, struct host, returns, ANY),
    F_RECORD (17, struct host, asked, &host_asked_record),
};
static const struct record host_record = RECORD ("host", struct host, host_fields);

static const struct field part_fields[] = {
    F_U32 (1, struct part, host, ANY),  F_BOOL (3, struct part, ended),
    F_U32 (4, struct part, order, ANY), F_RECORD (5, struct part, result, &result_record),
    F_BOOL (6, struct part, told),      F_BOOL (7, struct part, conflict),
    F_BOOL (8, struct part, at_gate)
};
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
static const struct record state_record = RECORD ("state", struct state, state_fields);

/* Without its plan, the first field. */
static const struct record state_but_plan_record = { "state", sizeof (struct state), state_fields + 1,
                                                     sizeof (state_fields) / sizeof (state_fields[0]) - 1, 0 };

#endif
