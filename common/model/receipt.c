#include "common/model/receipt.h"

enum { TEXT_BYTES = 4096, RUN_BYTES = 64 };
#define COUNT_MAX ((uint64_t) INT64_MAX)

static const struct field cause_fields[] = {
    F_ENUM (1, struct cause, owner, &owner_names),     F_TEXT (2, struct cause, signature, ID_MAX_BYTES),
    F_TEXT (3, struct cause, text, TEXT_BYTES),        F_TEXT (4, struct cause, evidence, TEXT_BYTES),
    F_TEXT (5, struct cause, next, TEXT_BYTES),        F_ENUM (6, struct cause, certainty, &certainty_names),
    F_ENUM (7, struct cause, else_owner, &owner_names)
};
static const struct record cause_record = RECORD ("cause", struct cause, cause_fields);

static const struct field memory_fields[] = { F_U64 (1, struct memory_receipt, peak_bytes, COUNT_MAX),
                                              F_U64 (2, struct memory_receipt, predicted_bytes, COUNT_MAX),
                                              F_U64 (3, struct memory_receipt, device_peak_bytes, COUNT_MAX) };
static const struct record memory_record = RECORD ("memory", struct memory_receipt, memory_fields);

static const struct field rung_receipt_fields[] = {
    F_TEXT (1, struct rung_receipt, rung, ID_MAX_BYTES),
    F_ENUM (2, struct rung_receipt, pass, &pass_names),
    F_U32 (3, struct rung_receipt, attempt, UINT32_MAX),
    F_ENUM (4, struct rung_receipt, outcome, &outcome_names),
    F_U64 (5, struct rung_receipt, duration_ms, COUNT_MAX),
    F_TEXT (6, struct rung_receipt, phase, TEXT_BYTES),
    F_RECORD (7, struct rung_receipt, cause, &cause_record),
    F_TEXTS (8, struct rung_receipt, recovered, 64, TEXT_BYTES),
    F_TEXT (9, struct rung_receipt, cache, ID_MAX_BYTES),
    F_LIST (10, struct rung_receipt, counters, 1024, &number_record),
    F_LIST (11, struct rung_receipt, programs, 1024, &program_record),
    F_LIST (12, struct rung_receipt, checks, 1024, &check_record),
    F_LIST (13, struct rung_receipt, metrics, 1024, &metric_record),
    F_RECORD (14, struct rung_receipt, memory, &memory_record),
    F_U64 (15, struct rung_receipt, output_bytes, COUNT_MAX),
    F_U64 (16, struct rung_receipt, dropped_bytes, COUNT_MAX),
    F_U32 (17, struct rung_receipt, strays, UINT32_MAX),
    F_U32 (18, struct rung_receipt, bad_lines, UINT32_MAX),
    F_RECORD (19, struct rung_receipt, cache_view, &cache_view_record),
    F_LIST (20, struct rung_receipt, keys, RESULT_KEYS_MAX, &cache_key_record),
    F_LIST (21, struct rung_receipt, findings, FINDINGS_MAX, &finding_record),
    F_LIST (22, struct rung_receipt, phases, PHASES_MAX, &number_record),
    F_LIST (23, struct rung_receipt, sightings, SIGHTINGS_MAX, &sighting_record),
    F_TEXT (24, struct rung_receipt, launch, ID_MAX_BYTES),
    F_ENUM (25, struct rung_receipt, purpose, &purpose_names),
    F_TEXT (26, struct rung_receipt, bad_line, BAD_LINE_MAX_BYTES),
    F_LIST (27, struct rung_receipt, left_out, LEFT_OUT_MAX, &number_record),
    F_RECORD (28, struct rung_receipt, backend, &backend_record),
    F_U64 (29, struct rung_receipt, unsent_bytes, COUNT_MAX),
    F_TEXT (30, struct rung_receipt, interpreter, TEXT_BYTES),
};
const struct record rung_receipt_record = RECORD ("rung", struct rung_receipt, rung_receipt_fields);

static const struct field setup_fields[] = {
    F_TEXT (1, struct environment_receipt, pins, ID_MAX_BYTES),
    F_TEXT (2, struct environment_receipt, pins_sha256, ID_MAX_BYTES + 1),
    F_TEXT (3, struct environment_receipt, script_sha256, ID_MAX_BYTES + 1),
    F_TEXT (4, struct environment_receipt, restore_method, TEXT_BYTES),
    F_TEXT (5, struct environment_receipt, python, PATH_MAX_BYTES),
    F_TEXT (6, struct environment_receipt, environment, ID_MAX_BYTES + 1),
    F_TEXT (7, struct environment_receipt, script, PATH_MAX_BYTES),
    F_TEXT (8, struct environment_receipt, script_result, TEXT_BYTES),
    F_TEXT (9, struct environment_receipt, script_rung, ID_MAX_BYTES),
};
static const struct record setup_record = RECORD ("setup", struct environment_receipt, setup_fields);

static const struct field policy_fields[] = { F_TEXT (1, struct policy_receipt, profile, ID_MAX_BYTES),
                                              F_LIST (2, struct policy_receipt, launched, VARS_MAX, &var_record),
                                              F_LIST (3, struct policy_receipt, observed, 1024, &var_record),
                                              F_LIST (4, struct policy_receipt, host_scope, VARS_MAX, &var_record),
                                              F_LIST (5, struct policy_receipt, slice_scope, VARS_MAX, &var_record),
                                              F_TEXTS (6, struct policy_receipt, inherited, VARS_MAX, NAME_MAX_BYTES),
                                              F_TEXTS (7, struct policy_receipt, by_host, 3 * VARS_MAX,
                                                       NAME_MAX_BYTES) };
static const struct record policy_record = RECORD ("policy", struct policy_receipt, policy_fields);

static const struct field backends_fields[] = { F_TEXT (1, struct backend_receipt, requested, ID_MAX_BYTES),
                                                F_RECORD (2, struct backend_receipt, observed, &backend_record) };
static const struct record backends_record = RECORD ("backend", struct backend_receipt, backends_fields);

static const struct field host_receipt_fields[] = {
    F_TEXT (1, struct host_receipt, run, RUN_BYTES),
    F_TEXT (2, struct host_receipt, host, HOST_NAME_MAX_BYTES),
    F_U32 (3, struct host_receipt, rank, HOSTS_MAX),
    F_RECORD (4, struct host_receipt, setup, &setup_record),
    F_LIST (5, struct host_receipt, bundle, 1024, &var_record),
    F_RECORD (6, struct host_receipt, policy, &policy_record),
    F_RECORD (7, struct host_receipt, backend, &backends_record),
    F_LIST (8, struct host_receipt, facts, 1024, &var_record),
    F_REFS (9, struct host_receipt, rungs, RECEIPT_RUNGS_MAX, &rung_receipt_record),
    F_LIST (10, struct host_receipt, notes, 4096, &note_record),
};
const struct record host_receipt_record = RECORD ("host", struct host_receipt, host_receipt_fields);

static const struct field header_fields[] = {
    F_TEXT (1, struct run_header, run, RUN_BYTES),
    F_TEXT (2, struct run_header, slice, ID_MAX_BYTES),
    F_TEXT (3, struct run_header, ladder, ID_MAX_BYTES),
    F_TEXT (4, struct run_header, sentence, TEXT_BYTES),
    F_TEXT (5, struct run_header, version, ID_MAX_BYTES),
    F_LIST (6, struct run_header, mesh, MESH_AXES_MAX, &axis_record),
    F_TEXTS (7, struct run_header, rungs, RUNGS_MAX, ID_MAX_BYTES),
    F_TEXTS (8, struct run_header, hosts, HOSTS_MAX, HOST_NAME_MAX_BYTES),
    F_TEXT (9, struct run_header, cache_mode, ID_MAX_BYTES),
    F_TEXT (10, struct run_header, cache_writer, HOST_NAME_MAX_BYTES),
    F_U64 (11, struct run_header, began_wall_ms, COUNT_MAX),
    F_U64 (12, struct run_header, ended_wall_ms, COUNT_MAX),
    F_U32 (13, struct run_header, exit_status, 255),
    F_U32S (14, struct run_header, cache_trust, TRUST_MAX, TRUST_UID_MAX),
    F_TEXT (15, struct run_header, running, ID_MAX_BYTES),
    F_BOOL (16, struct run_header, rehearsal),
    F_TEXTS (17, struct run_header, left_out, RUNGS_MAX, ID_MAX_BYTES),
    F_RECORD (18, struct run_header, origin, &run_origin_record),
    F_TEXT (19, struct run_header, home, PATH_MAX_BYTES),
    F_TEXT (20, struct run_header, cache_root, PATH_MAX_BYTES),
    F_TEXTS (21, struct run_header, programs, RUNGS_MAX, TEXT_BYTES),
    F_TEXT (22, struct run_header, launch, TEXT_BYTES),
    F_U32 (23, struct run_header, slices, SLICES_MAX),
};
static const struct record header_record = RECORD ("header", struct run_header, header_fields);

static const struct field rung_time_fields[] = { F_TEXT (1, struct rung_time, run, RUN_BYTES),
                                                 F_TEXT (2, struct rung_time, rung, ID_MAX_BYTES),
                                                 F_ENUM (3, struct rung_time, pass, &pass_names),
                                                 F_U32 (4, struct rung_time, attempt, UINT32_MAX),
                                                 F_U64 (5, struct rung_time, duration_ms, COUNT_MAX) };
static const struct record rung_time_record = RECORD ("time", struct rung_time, rung_time_fields);

static const struct field contradicted_fields[] = { F_TEXT (1, struct contradicted_count_receipt, host,
                                                            HOST_NAME_MAX_BYTES),
                                                    F_U64 (2, struct contradicted_count_receipt, count, COUNT_MAX) };
static const struct record contradicted_record = RECORD ("contradicted", struct contradicted_count_receipt,
                                                         contradicted_fields);

static const struct field reduction_fields[] = {
    F_TEXT (1, struct reduction_receipt, run, RUN_BYTES),
    F_TEXT (2, struct reduction_receipt, rung, ID_MAX_BYTES),
    F_TEXT (3, struct reduction_receipt, metric, NAME_MAX_BYTES),
    F_TEXTS (4, struct reduction_receipt, axes, MESH_AXES_MAX, AXIS_NAME_MAX_BYTES),
    F_F64 (5, struct reduction_receipt, value),
    F_ENUM (6, struct reduction_receipt, proof, &proof_names),
    F_TEXTS (7, struct reduction_receipt, missing, HOSTS_MAX, HOST_NAME_MAX_BYTES),
    F_TEXT (8, struct reduction_receipt, why, TEXT_BYTES),
    F_TEXTS (9, struct reduction_receipt, culprits, HOSTS_MAX, HOST_NAME_MAX_BYTES),
    F_LIST (10, struct reduction_receipt, contradicted, HOSTS_MAX, &contradicted_record),
    F_F64 (11, struct reduction_receipt, tolerance),
    F_TEXT (12, struct reduction_receipt, tolerance_of, NAME_MAX_BYTES),
};
static const struct record reduction_record = RECORD ("reduction", struct reduction_receipt, reduction_fields);

static const struct field sealed_fields[] = {
    F_TEXT (1, struct generation_receipt, run, RUN_BYTES),
    F_BOOL (2, struct generation_receipt, adopted),
    F_U64 (3, struct generation_receipt, token, COUNT_MAX),
    F_TEXT (4, struct generation_receipt, sha256, ID_MAX_BYTES + 1),
    F_TEXT (5, struct generation_receipt, bundle, NAME_MAX_BYTES),
    F_TEXT (6, struct generation_receipt, writer, HOST_NAME_MAX_BYTES),
    F_TEXT (7, struct generation_receipt, from_run, RUN_BYTES),
    F_U32 (8, struct generation_receipt, entries, UINT32_MAX),
    F_U64 (9, struct generation_receipt, bytes, COUNT_MAX),
    F_U64 (10, struct generation_receipt, compile_ms, COUNT_MAX),
    F_TEXT (11, struct generation_receipt, dropped, TEXT_BYTES),
};
static const struct record generation_receipt_record = RECORD ("generation", struct generation_receipt, sealed_fields);

static const struct field recovery_fields[] = { F_TEXT (1, struct recovery_receipt, run, RUN_BYTES),
                                                F_TEXT (2, struct recovery_receipt, what, TEXT_BYTES) };
static const struct record recovery_record = RECORD ("recovery", struct recovery_receipt, recovery_fields);

static const struct field violation_fields[] = {
    F_TEXT (1, struct violation_receipt, run, RUN_BYTES),
    F_TEXT (2, struct violation_receipt, rung, ID_MAX_BYTES),
    F_TEXT (3, struct violation_receipt, host, HOST_NAME_MAX_BYTES),
    F_ENUM (4, struct violation_receipt, kind, &finding_kind_names),
    F_U64 (5, struct violation_receipt, token, COUNT_MAX),
    F_TEXT (6, struct violation_receipt, path, NAME_MAX_BYTES),
    F_TEXT (7, struct violation_receipt, detail, TEXT_BYTES),
    F_TEXT (8, struct violation_receipt, from_run, RUN_BYTES),
    F_U64 (9, struct violation_receipt, since, COUNT_MAX),
    F_U64 (10, struct violation_receipt, index, COUNT_MAX),
};
const struct record violation_receipt_record = RECORD ("violation", struct violation_receipt, violation_fields);

static const struct field slice_receipt_fields[] = {
    F_LIST (1, struct slice_receipt, headers, 1024, &header_record),
    F_LIST (2, struct slice_receipt, hosts, RECEIPT_HOSTS_MAX, &host_receipt_record),
    F_LIST (3, struct slice_receipt, times, RECEIPT_LISTED_MAX, &rung_time_record),
    F_LIST (4, struct slice_receipt, reductions, RECEIPT_LISTED_MAX, &reduction_record),
    F_LIST (5, struct slice_receipt, generations, RECEIPT_LISTED_MAX, &generation_receipt_record),
    F_LIST (6, struct slice_receipt, recoveries, RECEIPT_LISTED_MAX, &recovery_record),
    F_LIST (7, struct slice_receipt, violations, RECEIPT_LISTED_MAX, &violation_receipt_record),
};
const struct record slice_receipt_record = RECORD ("receipt", struct slice_receipt, slice_receipt_fields);
