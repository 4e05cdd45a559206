/* fact.c - the tables of facts. Keys are for ever: a journal written today is read by every later version. */
#include "common/model/fact.h"

enum { RUN_ID_HEX_BYTES = 2 * RUN_ID_BYTES, Z85_KEY_BYTES = 40, EXIT_STATUS_MAX = 255, CANCEL_LEVEL_MAX = 3 };
#define COUNT_MAX ((uint64_t) INT64_MAX)

const struct enum_names proof_names = NAMED ("none", "proved", "local", "partial", "wrong-axis", "double-counted",
                                             "mean-of-means", "disagree", "unproved");

static const struct field run_opened_fields[] = { F_TEXT (1, struct fact_run_opened, run, RUN_ID_HEX_BYTES),
                                                  F_RECORD (2, struct fact_run_opened, plan, &plan_record),
                                                  F_TEXT (4, struct fact_run_opened, version, ID_MAX_BYTES) };

static const struct field epoch_began_fields[] = { F_U64 (1, struct fact_epoch_began, epoch, UINT64_MAX),
                                                   F_U64 (2, struct fact_epoch_began, pid, COUNT_MAX),
                                                   F_U64 (3, struct fact_epoch_began, away_ms, UINT64_MAX) };

static const struct field host_keyed_fields[] = { F_U32 (1, struct fact_host_keyed, host, HOSTS_MAX - 1),
                                                  F_TEXT (2, struct fact_host_keyed, public_key, Z85_KEY_BYTES) };

static const struct field host_joined_fields[] = {
    F_U32 (1, struct fact_host_joined, host, HOSTS_MAX - 1),
    F_U64 (2, struct fact_host_joined, session, UINT64_MAX),
    F_TEXT (3, struct fact_host_joined, version, ID_MAX_BYTES),
    F_TEXT (4, struct fact_host_joined, boot_id, ID_MAX_BYTES),
    F_U64 (5, struct fact_host_joined, pid, COUNT_MAX),
    F_U64 (6, struct fact_host_joined, pid_start, COUNT_MAX),
};

static const struct field host_lost_fields[] = { F_U32 (1, struct fact_host_lost, host, HOSTS_MAX - 1),
                                                 F_TEXT (2, struct fact_host_lost, why, TEXT_MAX_BYTES) };

static const struct enum_names reach_names = NAMED ("not-asked", "answers", "refuses", "silent", "no-route");
static const struct field host_asked_fields[] = { F_U32 (1, struct fact_host_asked, host, HOSTS_MAX - 1),
                                                  F_TEXT (2, struct fact_host_asked, address, ID_MAX_BYTES),
                                                  F_U32 (3, struct fact_host_asked, port, UINT16_MAX),
                                                  F_ENUM (4, struct fact_host_asked, ssh, &reach_names),
                                                  F_ENUM (5, struct fact_host_asked, ping, &reach_names) };
const struct record host_asked_record = RECORD ("host-asked", struct fact_host_asked, host_asked_fields);

static const struct field generation_fields[] = {
    F_U64 (1, struct fact_generation, token, COUNT_MAX),
    F_TEXT (2, struct fact_generation, sha256, SHA256_HEX_BYTES),
    F_TEXT (3, struct fact_generation, bundle, NAME_MAX_BYTES),
    F_U32 (4, struct fact_generation, rung, RUNGS_MAX - 1),
    F_U32 (5, struct fact_generation, entries, UINT32_MAX),
    F_U64 (6, struct fact_generation, bytes, COUNT_MAX),
    F_U32 (7, struct fact_generation, writer, UINT32_MAX),
    F_TEXTS (8, struct fact_generation, covers, GENERATION_COVERS_MAX, NAME_MAX_BYTES),
    F_TEXT (9, struct fact_generation, from_run, RUN_ID_HEX_BYTES),
    F_U64 (10, struct fact_generation, compile_ms, COUNT_MAX),
    F_LIST (11, struct fact_generation, keys, GENERATION_KEYS_MAX, &cache_key_record),
};
const struct record generation_record = RECORD ("generation", struct fact_generation, generation_fields);

static const struct field granted_fields[] = { F_U64 (1, struct fact_writer_granted, token, COUNT_MAX),
                                               F_U64 (2, struct fact_writer_granted, base, COUNT_MAX),
                                               F_U32 (3, struct fact_writer_granted, host, HOSTS_MAX - 1),
                                               F_RECORD (4, struct fact_writer_granted, key, &attempt_key_record) };
const struct record writer_granted_record = RECORD ("writer-granted", struct fact_writer_granted, granted_fields);

const struct enum_names purpose_names = NAMED ("none", "climb", "retry", "isolation");
static const struct field pass_began_fields[] = {
    F_RECORD (1, struct fact_pass_began, key, &attempt_key_record),
    F_U32S (2, struct fact_pass_began, hosts, HOSTS_MAX, HOSTS_MAX - 1),
    F_ENUM (4, struct fact_pass_began, purpose, &purpose_names),
    F_TEXT (5, struct fact_pass_began, why, TEXT_MAX_BYTES),
    F_LIST (6, struct fact_pass_began, mesh, MESH_AXES_MAX, &axis_record),
};

static const struct field pass_skipped_fields[] = { F_RECORD (1, struct fact_pass_skipped, key, &attempt_key_record),
                                                    F_TEXT (2, struct fact_pass_skipped, why, TEXT_MAX_BYTES) };

static const struct field gate_opened_fields[] = { F_RECORD (1, struct fact_gate_opened, key, &attempt_key_record),
                                                   F_TEXT (2, struct fact_gate_opened, gate, WORD_MAX_BYTES),
                                                   F_TEXT (3, struct fact_gate_opened, value, GATE_VALUE_MAX_BYTES) };

static const struct field attempt_ended_fields[] = { F_U32 (1, struct fact_attempt_ended, host, HOSTS_MAX - 1),
                                                     F_RECORD (2, struct fact_attempt_ended, result, &result_record),
                                                     F_BOOL (4, struct fact_attempt_ended, at_gate),
                                                     F_BOOL (5, struct fact_attempt_ended, told) };

static const struct field contradicted_fields[] = { F_U32 (1, struct contradicted_count, host, HOSTS_MAX - 1),
                                                    F_U64 (2, struct contradicted_count, count, COUNT_MAX) };
static const struct record contradicted_record = RECORD ("contradicted", struct contradicted_count,
                                                         contradicted_fields);

static const struct field metric_judged_fields[] = {
    F_RECORD (1, struct fact_metric_judged, key, &attempt_key_record),
    F_TEXT (2, struct fact_metric_judged, metric, WORD_MAX_BYTES),
    F_TEXTS (3, struct fact_metric_judged, axes, AXIS_NAMES_MAX, AXIS_NAME_MAX_BYTES),
    F_F64 (4, struct fact_metric_judged, value),
    F_ENUM (5, struct fact_metric_judged, proof, &proof_names),
    F_U32S (6, struct fact_metric_judged, missing, HOSTS_MAX, HOSTS_MAX - 1),
    F_TEXT (7, struct fact_metric_judged, why, TEXT_MAX_BYTES),
    F_U32S (8, struct fact_metric_judged, culprits, HOSTS_MAX, HOSTS_MAX - 1),
    F_LIST (9, struct fact_metric_judged, contradicted, HOSTS_MAX, &contradicted_record),
    F_F64 (10, struct fact_metric_judged, tolerance),
    F_TEXT (11, struct fact_metric_judged, tolerance_of, WORD_MAX_BYTES),
};

static const struct field verdict_fields[] = {
    F_U32 (1, struct verdict, host, HOSTS_MAX - 1),
    F_ENUM (2, struct verdict, outcome, &outcome_names),
    F_ENUM (3, struct verdict, owner, &owner_names),
    F_TEXT (4, struct verdict, signature, ID_MAX_BYTES),
    F_TEXT (5, struct verdict, cause, TEXT_MAX_BYTES),
    F_TEXT (6, struct verdict, next, TEXT_MAX_BYTES),
    F_TEXT (7, struct verdict, phase, WORD_MAX_BYTES),
    F_TEXT (8, struct verdict, cache, ID_MAX_BYTES),
    F_BOOL (9, struct verdict, transient),
    F_TEXT (10, struct verdict, evidence, TEXT_MAX_BYTES),
    F_BOOL (11, struct verdict, likely),
    F_ENUM (12, struct verdict, else_owner, &owner_names),
};
const struct record verdict_record = RECORD ("verdict", struct verdict, verdict_fields);

static const struct field pass_ended_fields[] = { F_RECORD (1, struct fact_pass_ended, key, &attempt_key_record),
                                                  F_ENUM (2, struct fact_pass_ended, outcome, &outcome_names),
                                                  F_U64 (3, struct fact_pass_ended, duration_ms, COUNT_MAX),
                                                  F_LIST (4, struct fact_pass_ended, verdicts, HOSTS_MAX,
                                                          &verdict_record) };
const struct record pass_ended_record = RECORD ("pass-ended", struct fact_pass_ended, pass_ended_fields);

static const struct field cancel_asked_fields[] = { F_U32 (1, struct fact_cancel_asked, level, CANCEL_LEVEL_MAX) };

static const struct field conflict_seen_fields[] = { F_U32 (1, struct fact_conflict_seen, host, HOSTS_MAX - 1),
                                                     F_RECORD (2, struct fact_conflict_seen, key,
                                                               &attempt_key_record) };

static const struct field pass_stopped_fields[] = { F_RECORD (1, struct fact_pass_stopped, key, &attempt_key_record),
                                                    F_U32S (2, struct fact_pass_stopped, culprits, HOSTS_MAX,
                                                            HOSTS_MAX - 1),
                                                    F_ENUM (3, struct fact_pass_stopped, owner, &owner_names),
                                                    F_TEXT (4, struct fact_pass_stopped, cause, TEXT_MAX_BYTES),
                                                    F_TEXT (5, struct fact_pass_stopped, next, TEXT_MAX_BYTES) };
const struct record pass_stopped_record = RECORD ("pass-stopped", struct fact_pass_stopped, pass_stopped_fields);

static const struct field lease_lost_fields[] = { F_U64 (1, struct fact_lease_lost, token, COUNT_MAX),
                                                  F_U32 (2, struct fact_lease_lost, host, HOSTS_MAX - 1),
                                                  F_TEXT (3, struct fact_lease_lost, why, SENTENCE_MAX_BYTES) };

static const struct field cache_violated_fields[] = {
    F_U32 (1, struct fact_cache_violated, host, UINT32_MAX), F_U32 (2, struct fact_cache_violated, rung, RUNGS_MAX - 1),
    F_RECORD (3, struct fact_cache_violated, finding, &finding_record),
    F_U64 (4, struct fact_cache_violated, since, COUNT_MAX),
    F_TEXT (5, struct fact_cache_violated, from_run, RUN_ID_HEX_BYTES)
};

static const struct field generation_dropped_fields[] = { F_U64 (1, struct fact_generation_dropped, token, COUNT_MAX),
                                                          F_TEXT (2, struct fact_generation_dropped, why,
                                                                  SENTENCE_MAX_BYTES) };

static const struct field retry_planned_fields[] = { F_RECORD (1, struct fact_retry_planned, key, &attempt_key_record),
                                                     F_U64 (2, struct fact_retry_planned, due_ms, COUNT_MAX),
                                                     F_U32 (3, struct fact_retry_planned, left, RETRIES_MAX),
                                                     F_TEXT (4, struct fact_retry_planned, signature, ID_MAX_BYTES),
                                                     F_TEXT (5, struct fact_retry_planned, why, TEXT_MAX_BYTES) };

static const struct field suspects_named_fields[] = {
    F_RECORD (1, struct fact_suspects_named, key, &attempt_key_record),
    F_U32S (2, struct fact_suspects_named, suspects, HOSTS_MAX, HOSTS_MAX - 1),
    F_U32 (3, struct fact_suspects_named, passes, UINT32_MAX),
    F_TEXT (4, struct fact_suspects_named, why, TEXT_MAX_BYTES), F_BOOL (5, struct fact_suspects_named, alone)
};

static const struct field run_ended_fields[] = { F_ENUM (1, struct fact_run_ended, outcome, &outcome_names),
                                                 F_U32 (2, struct fact_run_ended, exit_status, EXIT_STATUS_MAX),
                                                 F_TEXT (3, struct fact_run_ended, sentence, TEXT_MAX_BYTES) };

static const struct field host_reported_fields[] = { F_U32 (1, struct fact_host_reported, host, HOSTS_MAX - 1),
                                                     F_LIST (2, struct fact_host_reported, holdings, HOLDINGS_MAX,
                                                             &holding_record) };

static const struct enum_names silence_names = NAMED ("none", "stood-still", "cut-off", "late");
const char *silence_phrase (enum silence silence)
{
    static const char *const phrases[] = {
        "", ": its worker stood still (stopped, frozen or swapping)", ": its worker ran on, so the network was cut off",
        ": what it had sent came late, so the network held it up, or its whole machine stood still"
    };
    return phrases[(uint32_t) silence < silence_names.n ? silence : SILENCE_NONE];
}

static const struct field host_suspected_fields[] = { F_U32 (1, struct fact_host_suspected, host, HOSTS_MAX - 1),
                                                      F_U64 (2, struct fact_host_suspected, silent_ms, COUNT_MAX),
                                                      F_ENUM (3, struct fact_host_suspected, silence, &silence_names) };

static const struct field host_stepped_fields[] = { F_U32 (1, struct fact_host_stepped, host, HOSTS_MAX - 1),
                                                    F_TEXT (2, struct fact_host_stepped, step, ID_MAX_BYTES) };

static const struct field loss_told_fields[] = { F_U32 (1, struct fact_loss_told, host, HOSTS_MAX - 1),
                                                 F_U64 (2, struct fact_loss_told, epoch, UINT64_MAX),
                                                 F_U64 (3, struct fact_loss_told, index, UINT64_MAX),
                                                 F_TEXT (4, struct fact_loss_told, why, SENTENCE_MAX_BYTES),
                                                 F_BOOL (5, struct fact_loss_told, believed) };

static const struct field output_lost_fields[] = { F_U32 (1, struct fact_output_lost, host, HOSTS_MAX - 1),
                                                   F_RECORD (2, struct fact_output_lost, key, &attempt_key_record),
                                                   F_TEXT (3, struct fact_output_lost, why, SENTENCE_MAX_BYTES) };

static const struct field climb_stopped_fields[] = { F_ENUM (1, struct fact_climb_stopped, outcome, &outcome_names),
                                                     F_TEXT (2, struct fact_climb_stopped, why, SENTENCE_MAX_BYTES) };

static const struct field hosts_left_behind_fields[] = { F_U32 (1, struct fact_hosts_left_behind, rung, RUNGS_MAX - 1),
                                                         F_LIST (2, struct fact_hosts_left_behind, verdicts, HOSTS_MAX,
                                                                 &verdict_record) };

static const struct field cache_awaited_fields[] = { F_TEXT (1, struct fact_cache_awaited, what, NAME_MAX_BYTES) };

static const struct field last_output_fields[] = { F_U32S (1, struct last_output, hosts, HOSTS_MAX, HOSTS_MAX - 1),
                                                   F_BYTES (2, struct last_output, line, OUTPUT_LINE_BYTES),
                                                   F_U64 (3, struct last_output, quiet_ms, COUNT_MAX) };
static const struct record last_output_record = RECORD ("last-output", struct last_output, last_output_fields);

static const struct field output_awaited_fields[] = {
    F_RECORD (1, struct fact_output_awaited, key, &attempt_key_record),
    F_LIST (2, struct fact_output_awaited, groups, OUTPUT_GROUPS_MAX, &last_output_record)
};

static const struct {
    const char *name;
    const struct record *body;
} kinds[] = {
    [FACT_RUN_OPENED] = KIND ("run-opened", struct fact_run_opened, run_opened_fields),
    [FACT_EPOCH_BEGAN] = KIND ("epoch-began", struct fact_epoch_began, epoch_began_fields),
    [FACT_HOST_KEYED] = KIND ("host-keyed", struct fact_host_keyed, host_keyed_fields),
    [FACT_HOST_JOINED] = KIND ("host-joined", struct fact_host_joined, host_joined_fields),
    [FACT_HOST_LOST] = KIND ("host-lost", struct fact_host_lost, host_lost_fields),
    [FACT_GENERATION_ADOPTED] = { "generation-adopted", &generation_record },
    [FACT_WRITER_GRANTED] = { "writer-granted", &writer_granted_record },
    [FACT_PASS_BEGAN] = KIND ("pass-began", struct fact_pass_began, pass_began_fields),
    [FACT_PASS_SKIPPED] = KIND ("pass-skipped", struct fact_pass_skipped, pass_skipped_fields),
    [FACT_GATE_OPENED] = KIND ("gate-opened", struct fact_gate_opened, gate_opened_fields),
    [FACT_ATTEMPT_ENDED] = KIND ("attempt-ended", struct fact_attempt_ended, attempt_ended_fields),
    [FACT_GENERATION_PUBLISHED] = { "generation-published", &generation_record },
    [FACT_METRIC_JUDGED] = KIND ("metric-judged", struct fact_metric_judged, metric_judged_fields),
    [FACT_PASS_ENDED] = { "pass-ended", &pass_ended_record },
    [FACT_CANCEL_ASKED] = KIND ("cancel-asked", struct fact_cancel_asked, cancel_asked_fields),
    [FACT_CONFLICT_SEEN] = KIND ("conflict-seen", struct fact_conflict_seen, conflict_seen_fields),
    [FACT_RUN_ENDED] = KIND ("run-ended", struct fact_run_ended, run_ended_fields),
    [FACT_PASS_STOPPED] = { "pass-stopped", &pass_stopped_record },
    [FACT_LEASE_LOST] = KIND ("lease-lost", struct fact_lease_lost, lease_lost_fields),
    [FACT_CACHE_VIOLATED] = KIND ("cache-violated", struct fact_cache_violated, cache_violated_fields),
    [FACT_GENERATION_DROPPED] = KIND ("generation-dropped", struct fact_generation_dropped, generation_dropped_fields),
    [FACT_RETRY_PLANNED] = KIND ("retry-planned", struct fact_retry_planned, retry_planned_fields),
    [FACT_SUSPECTS_NAMED] = KIND ("suspects-named", struct fact_suspects_named, suspects_named_fields),
    [FACT_LOSS_TOLD] = KIND ("loss-told", struct fact_loss_told, loss_told_fields),
    [FACT_CLIMB_STOPPED] = KIND ("climb-stopped", struct fact_climb_stopped, climb_stopped_fields),
    [FACT_HOSTS_LEFT_BEHIND] = KIND ("hosts-left-behind", struct fact_hosts_left_behind, hosts_left_behind_fields),
    [FACT_HOST_RETURNED] = KIND ("host-returned", struct fact_host_suspected, host_suspected_fields),
    [FACT_OUTPUT_LOST] = KIND ("output-lost", struct fact_output_lost, output_lost_fields),
    [FACT_HOST_ASKED] = { "host-asked", &host_asked_record },
    [FACT_HOST_REPORTED] = KIND ("host-heard", struct fact_host_reported, host_reported_fields),
    [FACT_HOST_SUSPECTED] = KIND ("host-suspected", struct fact_host_suspected, host_suspected_fields),
    [FACT_HOST_STEPPED] = KIND ("host-stepped", struct fact_host_stepped, host_stepped_fields),
    [FACT_CACHE_AWAITED] = KIND ("cache-awaited", struct fact_cache_awaited, cache_awaited_fields),
    [FACT_OUTPUT_AWAITED] = KIND ("output-awaited", struct fact_output_awaited, output_awaited_fields),
};
enum { KINDS_N = sizeof (kinds) / sizeof (kinds[0]) };

const struct record *fact_record_of_kind (enum fact_kind kind)
{
    return (uint32_t) kind < KINDS_N ? kinds[kind].body : NULL;
}

const char *fact_name (enum fact_kind kind)
{
    return fact_record_of_kind (kind) ? kinds[kind].name : "?";
}

bool fact_is_soft (enum fact_kind kind)
{
    return kind >= FACT_HOST_REPORTED;
}
