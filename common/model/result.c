/* result.c - the tables of what a host says of an attempt. Keys are for ever: a new field takes the next free one. */
#include "common/model/result.h"

enum { CODE_MAX = 65535, ATTEMPT_MAX = 65535 };
#define COUNT_MAX ((uint64_t) INT64_MAX)

const struct enum_names ending_names = NAMED ("none", "exited", "signalled", "timeout", "cancelled", "orphaned",
                                              "not-started", "lost", "lease-lost", "terminated");
const struct enum_names reduction_names = NAMED ("none", "sum", "mean");
const struct enum_names dtype_names = NAMED ("none", "float32", "bfloat16", "float16", "float64");
const struct enum_names durability_names = NAMED ("none", "stable", "rerun", "recheck");

static const struct field attempt_key_fields[] = { F_U32 (1, struct attempt_key, rung, RUNGS_MAX - 1),
                                                   F_ENUM (2, struct attempt_key, pass, &pass_names),
                                                   F_U32 (3, struct attempt_key, attempt, ATTEMPT_MAX) };
const struct record attempt_key_record = RECORD ("key", struct attempt_key, attempt_key_fields);

bool attempt_key_equal (const struct attempt_key *a, const struct attempt_key *b)
{
    return a->rung == b->rung && a->pass == b->pass && a->attempt == b->attempt;
}

static const struct field check_fields[] = { F_TEXT (1, struct value_check, name, WORD_MAX_BYTES),
                                             F_F64 (2, struct value_check, expected),
                                             F_F64 (3, struct value_check, observed),
                                             F_F64 (4, struct value_check, tolerance) };
const struct record check_record = RECORD ("check", struct value_check, check_fields);

static const struct field shard_fields[] = { F_F64 (1, struct shard, value), F_F64 (2, struct shard, proof),
                                             F_F64 (3, struct shard, local), F_F64 (4, struct shard, weight) };
static const struct record shard_record = RECORD ("shard", struct shard, shard_fields);

static const struct field earlier_fields[] = { F_U64 (1, struct metric_history, count, COUNT_MAX),
                                               F_F64 (2, struct metric_history, first),
                                               F_F64 (3, struct metric_history, last),
                                               F_U64 (4, struct metric_history, alike, COUNT_MAX) };
static const struct record earlier_record = RECORD ("earlier", struct metric_history, earlier_fields);

static const struct field metric_fields[] = {
    F_TEXT (1, struct metric, name, WORD_MAX_BYTES),
    F_ENUM (2, struct metric, reduction, &reduction_names),
    F_BOOL (3, struct metric, global),
    F_TEXTS (4, struct metric, axes, AXIS_NAMES_MAX, AXIS_NAME_MAX_BYTES),
    F_F64 (5, struct metric, value),
    F_LIST (6, struct metric, shards, RESULT_SHARDS_MAX, &shard_record),
    F_RECORD (7, struct metric, earlier, &earlier_record),
    F_ENUM (8, struct metric, dtype, &dtype_names),
};
const struct record metric_record = RECORD ("metric", struct metric, metric_fields);

bool metric_claims_agree (const struct metric *a, const struct metric *b)
{
    bool same = a->global == b->global && a->reduction == b->reduction && a->dtype == b->dtype &&
                a->axes.n == b->axes.n;
    for (uint32_t i = 0; same && i < a->axes.n; i++)
        same = text_equal (a->axes.items[i], b->axes.items[i]);
    return same;
}

static const struct field backend_fields[] = { F_TEXT (1, struct observed_backend, platform, ID_MAX_BYTES),
                                               F_TEXT (2, struct observed_backend, platform_version, 1023),
                                               F_TEXT (3, struct observed_backend, device_kind, WORD_MAX_BYTES),
                                               F_TEXT (4, struct observed_backend, kernel_path, NAME_MAX_BYTES),
                                               F_U32 (5, struct observed_backend, devices, DEVICES_MAX),
                                               F_U32 (6, struct observed_backend, local_devices, DEVICES_MAX),
                                               F_U32 (7, struct observed_backend, process_count, DEVICES_MAX),
                                               F_U32 (8, struct observed_backend, process_index, DEVICES_MAX) };
const struct record backend_record = RECORD ("backend", struct observed_backend, backend_fields);

/* jax-ml/jax:jax/_src/xla_bridge.py, _platform_aliases */
bool backend_is (const struct observed_backend *backend, struct text asked)
{
    bool is_gpu = text_is (backend->platform, "cuda") || text_is (backend->platform, "rocm");
    return text_equal (backend->platform, asked) || (is_gpu && text_is (asked, "gpu"));
}

static const struct field program_fields[] = { F_TEXT (1, struct program_fingerprint, name, WORD_MAX_BYTES),
                                               F_TEXT (2, struct program_fingerprint, fingerprint, NAME_MAX_BYTES) };
const struct record program_record = RECORD ("program", struct program_fingerprint, program_fields);

static const struct field note_fields[] = { F_TEXT (1, struct result_note, text, SENTENCE_MAX_BYTES),
                                            F_TEXT (2, struct result_note, source, NAME_MAX_BYTES),
                                            F_ENUM (3, struct result_note, durability, &durability_names) };
const struct record note_record = RECORD ("note", struct result_note, note_fields);

static const struct field seal_fields[] = { F_U64 (1, struct seal, token, COUNT_MAX),
                                            F_TEXT (2, struct seal, sha256, SHA256_HEX_BYTES),
                                            F_U32 (3, struct seal, entries, UINT32_MAX),
                                            F_U64 (4, struct seal, bytes, COUNT_MAX) };
const struct record seal_record = RECORD ("seal", struct seal, seal_fields);

const struct enum_names key_state_names = NAMED ("none", "hit", "written", "missed", "unreadable", "below-threshold",
                                                 "unwritten");
static const struct field cache_key_fields[] = {
    F_TEXT (1, struct cache_key, program, NAME_MAX_BYTES),           F_TEXT (2, struct cache_key, key, NAME_MAX_BYTES),
    F_ENUM (3, struct cache_key, state, &key_state_names),           F_TEXT (4, struct cache_key, why, NAME_MAX_BYTES),
    F_LIST (5, struct cache_key, parts, KEY_PARTS_MAX, &var_record), F_U64 (6, struct cache_key, compile_ms, COUNT_MAX)
};
const struct record cache_key_record = RECORD ("key of a program", struct cache_key, cache_key_fields);

const struct enum_names finding_kind_names = NAMED ("none", "extra", "missing", "changed", "foreign-token",
                                                    "late-write", "not-same-storage", "write-attempt", "level-low",
                                                    "unseen");

bool finding_is_violation (enum finding_kind kind)
{
    return kind >= FINDING_EXTRA && kind <= FINDING_LATE_WRITE;
}

static const struct field finding_fields[] = { F_ENUM (1, struct finding, kind, &finding_kind_names),
                                               F_U64 (2, struct finding, token, COUNT_MAX),
                                               F_TEXT (3, struct finding, path, NAME_MAX_BYTES),
                                               F_TEXT (4, struct finding, detail, SENTENCE_MAX_BYTES) };
const struct record finding_record = RECORD ("finding", struct finding, finding_fields);

static const struct field cache_view_fields[] = {
    F_ENUM (1, struct cache_view, level, &enforcement_names),
    F_TEXTS (2, struct cache_view, open_ways, OPEN_WAYS_MAX, ID_MAX_BYTES),
    F_TEXT (3, struct cache_view, storage, ID_MAX_BYTES), F_TEXT (4, struct cache_view, mount, NAME_MAX_BYTES)
};
const struct record cache_view_record = RECORD ("cache", struct cache_view, cache_view_fields);

static const struct field sighting_fields[] = { F_TEXT (1, struct sighting, signature, ID_MAX_BYTES),
                                                F_U32 (2, struct sighting, line, UINT32_MAX),
                                                F_U64 (3, struct sighting, offset, COUNT_MAX),
                                                F_TEXT (4, struct sighting, text, SHOWN_LINE_BYTES),
                                                F_BOOL (5, struct sighting, decides) };
const struct record sighting_record = RECORD ("sighting", struct sighting, sighting_fields);

static const struct field result_fields[] = {
    F_RECORD (1, struct result, key, &attempt_key_record),
    F_ENUM (2, struct result, ending, &ending_names),
    F_U32 (3, struct result, code, CODE_MAX),
    F_TEXT (4, struct result, problem, SENTENCE_MAX_BYTES),
    F_TEXT (5, struct result, phase, WORD_MAX_BYTES),
    F_BOOL (6, struct result, done),
    F_BOOL (7, struct result, spoke),
    F_U64 (8, struct result, duration_ms, COUNT_MAX),
    F_ENUM (9, struct result, owner, &owner_names),
    F_TEXT (10, struct result, failure, SENTENCE_MAX_BYTES),
    F_TEXT (11, struct result, tail, RESULT_TAIL_MAX_BYTES),
    F_RECORD (12, struct result, backend, &backend_record),
    F_LIST (13, struct result, policy, VARS_MAX, &var_record),
    F_LIST (14, struct result, bundle, RESULT_BUNDLE_MAX, &var_record),
    F_LIST (15, struct result, facts, RESULT_FACTS_MAX, &var_record),
    F_LIST (16, struct result, counters, RESULT_COUNTERS_MAX, &number_record),
    F_LIST (17, struct result, checks, RESULT_CHECKS_MAX, &check_record),
    F_LIST (18, struct result, programs, RESULT_PROGRAMS_MAX, &program_record),
    F_LIST (19, struct result, metrics, RESULT_METRICS_MAX, &metric_record),
    F_LIST (20, struct result, notes, RESULT_NOTES_MAX, &note_record),
    F_U64 (21, struct result, peak_bytes, COUNT_MAX),
    F_U64 (22, struct result, output_bytes, COUNT_MAX),
    F_U64 (23, struct result, dropped_bytes, COUNT_MAX),
    F_U32 (24, struct result, strays, UINT32_MAX),
    F_U32 (25, struct result, bad_lines, UINT32_MAX),
    F_RECORD (26, struct result, seal, &seal_record),
    F_TEXT (27, struct result, cache_state, SENTENCE_MAX_BYTES),
    F_RECORD (28, struct result, cache, &cache_view_record),
    F_LIST (29, struct result, findings, FINDINGS_MAX, &finding_record),
    F_LIST (30, struct result, keys, RESULT_KEYS_MAX, &cache_key_record),
    F_LIST (31, struct result, phases, PHASES_MAX, &number_record),
    F_U64 (32, struct result, predicted_bytes, COUNT_MAX),
    F_U64 (33, struct result, device_peak_bytes, COUNT_MAX),
    F_LIST (34, struct result, sightings, SIGHTINGS_MAX, &sighting_record),
    F_TEXTS (35, struct result, shown, SHOWN_MAX, SHOWN_LINE_BYTES),
    F_TEXT (36, struct result, bad_line, BAD_LINE_MAX_BYTES),
    F_LIST (37, struct result, left_out, LEFT_OUT_MAX, &number_record),
    F_TEXTS (38, struct result, stack, STACK_LINES_MAX, SHOWN_LINE_BYTES),
    F_U64 (39, struct result, group_memory_kills, COUNT_MAX),
    F_U64 (40, struct result, machine_memory_kills, COUNT_MAX),
    F_U64 (41, struct result, memory_limit_bytes, COUNT_MAX),
    F_BOOL (42, struct result, memory_group_shared),
    F_U64 (43, struct result, unsent_bytes, COUNT_MAX),
    F_U64 (44, struct result, log_bytes, COUNT_MAX),
    F_TEXT (45, struct result, interpreter, SENTENCE_MAX_BYTES),
    F_BOOL (46, struct result, at_limit),
};
const struct record result_record = { "result", sizeof (struct result), result_fields,
                                      sizeof result_fields / sizeof *result_fields, offsetof (struct result, encoded) };

bool result_ended_badly (const struct result *result)
{
    return result->ending != ENDING_EXITED || result->code != 0;
}

struct text result_note_from (const struct result *result, const char *source)
{
    struct text found = { 0 };
    for (uint32_t i = 0; i < result->notes.n; i++)
        if (text_is (result->notes.items[i].source, source))
            found = result->notes.items[i].text;
    return found;
}

bool result_counter (const struct result *result, const char *name, uint64_t *value)
{
    const struct named_number *counter = number_find (&result->counters, text_of (name));
    if (counter)
        *value = counter->value;
    return counter != NULL;
}

uint64_t result_counted (const struct result *result, const char *name)
{
    uint64_t value = 0;
    (void) result_counter (result, name, &value);
    return value;
}
