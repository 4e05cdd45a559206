#include "worker/protocol/evidence_state.h"

#include "common/base/utf8.h"
#include "worker/protocol/cache_key_line.h"
#include <assert.h>
#include <string.h>

enum { SHOWN_BYTES = 120 };
enum { KEYS_MAX_BYTES = 19 * 1024 }; /* the keys' share of EVIDENCE_MAX_BYTES */

void evidence_expect (struct evidence *evidence, const struct msg_run *run)
{
    evidence->asked = run;
}

static int read_word (const json_t *line, const char *member, uint32_t min_bytes, uint32_t max_bytes, struct text *out,
                      struct err *err)
{
    const json_t *value = json_object_get (line, member);
    *out = (struct text){ json_string_value (value), (uint32_t) json_string_length (value) };
    if (!json_is_string (value) || out->len < min_bytes || out->len > max_bytes)
        return err_set (err, ERR_PARSE, "%s: expected a string of %u to %u bytes", member, min_bytes, max_bytes);
    return 0;
}

static int need_word (const json_t *line, const char *member, uint32_t max_bytes, struct text *out, struct err *err)
{
    return read_word (line, member, 1, max_bytes, out, err);
}

/* ---- one function a type of line ---- */

static int take_phase (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    struct text name;
    if (need_word (line, "name", WORD_MAX_BYTES, &name, err) < 0)
        return -1;
    arena_reset (&evidence->phase_arena);
    evidence->result.phase = text_copy (&evidence->phase_arena, name);
    *statement = (struct statement){ .kind = STATEMENT_PHASE, .name = evidence->result.phase };
    return 0;
}

static int take_gate (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    struct text name, mode, value;
    uint32_t found = GATE_NONE;
    if (need_word (line, "name", WORD_MAX_BYTES, &name, err) < 0)
        return -1;
    if (need_word (line, "mode", WORD_MAX_BYTES, &mode, err) < 0)
        return -1;
    if (!enum_value_of (&gate_mode_names, mode, &found))
        return err_set (err, ERR_PARSE, "mode: expected share or agree");
    if (read_word (line, "value", 0, GATE_VALUE_MAX_BYTES, &value, err) < 0) /* who shares nothing says "" */
        return -1;
    if (evidence_compiles_only (evidence))
        return err_set (err, ERR_REFUSED, "an attempt that only compiles must not wait at a gate");
    evidence->saw_program_gate |= text_is (name, "program") && found == GATE_AGREE;
    arena_reset (&evidence->gate_arena);
    statement->name = text_copy (&evidence->gate_arena, name);
    statement->value = text_copy (&evidence->gate_arena, value);
    statement->mode = (enum gate_mode) found;
    statement->kind = STATEMENT_GATE;
    return 0;
}

/* How many keys are missing stands beside those that are there. */
static void leave_out_key (struct evidence *evidence)
{
    uint64_t n = 0;
    result_counter (&evidence->result, EVIDENCE_KEYS_LEFT_OUT, &n);
    (void) evidence_add_counter (evidence, EVIDENCE_KEYS_LEFT_OUT, n + 1, NULL); /* there may be too many counters */
    evidence_count_left_out (evidence, "keys");
}

static int take_cache (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    bool left_out = false;
    (void) statement;
    size_t keys_bytes = evidence->keys_left_bytes;
    size_t had_bytes = keys_bytes < evidence->left_bytes ? keys_bytes : evidence->left_bytes;
    struct json_budget budget = { &evidence->arena, had_bytes };
    int rc = cache_key_line_store (line, &evidence->result, &budget, &left_out, err);
    evidence->left_bytes -= had_bytes - budget.left_bytes;
    evidence->keys_left_bytes -= had_bytes - budget.left_bytes;
    if (rc == 0 && left_out)
        leave_out_key (evidence);
    return rc;
}

static int read_bytes (const json_t *line, const char *member, bool needed, uint64_t *out, struct err *err)
{
    const json_t *value = json_object_get (line, member);
    *out = 0;
    if (!value && !needed)
        return 0;
    if (!json_is_integer (value) || json_integer_value (value) < 0)
        return err_set (err, ERR_PARSE, "%s: expected a whole number of at least 0", member);
    *out = (uint64_t) json_integer_value (value);
    return 0;
}

static void raise_to (uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

/* The largest of several counts. */
static int take_memory (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    struct result *result = &evidence->result;
    uint64_t peak, predicted, device_peak;
    (void) statement;
    if (read_bytes (line, "peak_bytes", true, &peak, err) < 0 ||
        read_bytes (line, "predicted_bytes", false, &predicted, err) < 0 ||
        read_bytes (line, "device_peak_bytes", false, &device_peak, err) < 0)
        return -1;
    raise_to (&result->peak_bytes, peak);
    raise_to (&result->predicted_bytes, predicted);
    raise_to (&result->device_peak_bytes, device_peak);
    return 0;
}

/* The first failure is the cause; what follows it is mostly clean-up that failed as well. */
static int take_failure (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    struct text word;
    uint32_t owner = OWNER_NONE;
    (void) statement;
    if (need_word (line, "layer", WORD_MAX_BYTES, &word, err) < 0)
        return -1;
    if (!enum_value_of (&owner_names, word, &owner))
        return err_set (err, ERR_PARSE, "layer: expected an owner of failures, such as host or program");
    const json_t *text = json_object_get (line, "text");
    if (!json_is_string (text))
        return err_set (err, ERR_PARSE, "text: expected a string");
    evidence->failed = true;
    if (evidence->result.owner != OWNER_NONE)
        return 0;
    struct text raw = { json_string_value (text), (uint32_t) json_string_length (text) };
    evidence->result.owner = (enum owner) owner;
    evidence->result.failure = text_repair_utf8 (&evidence->arena, raw, SENTENCE_MAX_BYTES);
    return 0;
}

static int take_stacks (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    uint64_t signal, pid;
    (void) statement;
    if (read_bytes (line, "signal", true, &signal, err) < 0 || read_bytes (line, "pid", true, &pid, err) < 0)
        return -1;
    if (signal < 1 || signal > STACKS_SIGNALS_MAX || pid < 1 || pid > INT32_MAX)
        return err_set (err, ERR_PARSE, "expected a signal from 1 to %d, and a pid", STACKS_SIGNALS_MAX);
    evidence->stacks_signal = (uint32_t) signal;
    evidence->stacks_pid = (uint32_t) pid;
    return 0;
}

static int take_done (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    struct text nonce;
    (void) statement;
    if (need_word (line, "nonce", EVIDENCE_NONCE_MAX_BYTES, &nonce, err) < 0)
        return -1;
    if (!text_equal (nonce, evidence->nonce))
        return err_set (err, ERR_REFUSED, "nonce: expected the nonce of this attempt");
    if (evidence->failed)
        return err_set (err, ERR_REFUSED, "sent after failure");
    evidence->result.done = true;
    return 0;
}

static const struct {
    const char *type;
    line_handler_fn *take;
} line_types[] = { { "phase", take_phase },
                   { "gate", take_gate },
                   { "bundle", evidence_take_bundle },
                   { "policy", evidence_take_policy },
                   { "backend", evidence_take_backend },
                   { "program", evidence_take_program },
                   { "check", evidence_take_check },
                   { "counters", evidence_take_counters },
                   { "metric", evidence_take_metric },
                   { "memory", take_memory },
                   { "note", evidence_take_note },
                   { "fact", evidence_take_fact },
                   { "failure", take_failure },
                   { "stacks", take_stacks },
                   { "done", take_done },
                   { "cache", take_cache } };

/* ---- lines ---- */

static bool has_nul (const json_t *value)
{
    const char *name;
    json_t *item;
    size_t i;
    json_object_foreach ((json_t *) value, name, item) {
        if (has_nul (item))
            return true;
    }
    json_array_foreach ((json_t *) value, i, item) {
        if (has_nul (item))
            return true;
    }
    return json_is_string (value) && memchr (json_string_value (value), 0, json_string_length (value));
}

/* A text that is cut short by what reads it as C's texts could pass for another. */
static int refuse_nul (const json_t *line, struct err *err)
{
    const char *member;
    json_t *value;
    json_object_foreach ((json_t *) line, member, value) {
        if (has_nul (value))
            return err_set (err, ERR_PARSE, "%.100s: expected a string without a NUL character", member);
    }
    return 0;
}

static int take_typed (struct evidence *evidence, const char *type, const json_t *line, struct statement *statement,
                       struct err *err)
{
    if (refuse_nul (line, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof line_types / sizeof line_types[0]; i++) {
        if (strcmp (type, line_types[i].type) != 0)
            continue;
        if (evidence->result.done)
            return err_set (err, ERR_REFUSED, "this line was sent after done, which has to be the last line");
        return line_types[i].take (evidence, line, statement, err);
    }
    return err_set (err, ERR_PARSE, "unknown type");
}

static int take_line (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    const char *type = json_string_value (json_object_get (line, "type"));
    if (!type)
        return err_set (err, ERR_PARSE, "expected a JSON object with a type");
    if (take_typed (evidence, type, line, statement, err) == 0)
        return 0;
    err_prefix (err, "%.100s", type);
    if (strcmp (type, "gate") == 0) {
        arena_reset (&evidence->gate_arena);
        *statement = (struct statement){ .kind = STATEMENT_BAD_GATE };
        statement->value = text_copy (&evidence->gate_arena, text_of (err->text));
    }
    return -1;
}

static void describe (struct evidence *evidence, const char *why, struct text line)
{
    if (evidence->result.bad_lines < UINT32_MAX)
        evidence->result.bad_lines++;
    if (evidence->complaint.len)
        return;
    struct arena *arena = &evidence->arena;
    struct text shown = text_repair_utf8 (arena, line, SHOWN_BYTES),
                said = text_repair_utf8 (arena, text_of (why), ERR_TEXT_BYTES);
    struct text whole = text_format (arena, "%.*s%s%.*s", TEXT_ARG (said), shown.len ? ": " : "", TEXT_ARG (shown));
    evidence->result.bad_line = text_clip (whole, BAD_LINE_MAX_BYTES);
    evidence->complaint = text_format (arena, "%s: %.*s",
                                       shown.len ? "refused a line on the canary channel" : "the canary channel failed",
                                       TEXT_ARG (whole));
}

void evidence_refuse (struct evidence *evidence, const char *why)
{
    evidence->result.spoke = true;
    describe (evidence, why, (struct text){ 0 });
}

static json_t *parse (struct text line, struct err *err)
{
    json_error_t json_err;
    if (!text_is_utf8 (line)) {
        err_set (err, ERR_PARSE, "not UTF-8");
        return NULL;
    }
    json_t *json = json_loadb (line.len ? line.ptr : "", line.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &json_err);
    if (!json)
        err_set (err, ERR_PARSE, "not a JSON line: %s", json_err.text);
    return json;
}

void evidence_take (struct evidence *evidence, struct text line, struct statement *statement)
{
    assert (line.len <= LINE_MAX_BYTES);
    struct err err = { 0 };
    *statement = (struct statement){ 0 };
    evidence->result.spoke = true;
    json_t *json = parse (line, &err);
    if (!json || take_line (evidence, json, statement, &err) < 0)
        describe (evidence, err.text, line);
    json_decref (json);
    arena_reset (&evidence->scratch);
    evidence_compact (evidence);
}

void evidence_init (struct evidence *evidence, struct text nonce)
{
    *evidence = (struct evidence){ .left_bytes = EVIDENCE_MAX_BYTES, .keys_left_bytes = KEYS_MAX_BYTES };
    evidence->nonce = text_copy (&evidence->arena, nonce);
}

void evidence_release (struct evidence *evidence)
{
    arena_release (&evidence->arena);
    arena_release (&evidence->phase_arena);
    arena_release (&evidence->gate_arena);
    arena_release (&evidence->scratch);
}
