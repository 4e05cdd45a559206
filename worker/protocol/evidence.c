#include <assert.h>
#include <string.h>

#include "common/base/utf8.h"
#include "worker/protocol/evidence.h"

/* ---- cache key line ---- */

/* Takes a canary's `cache` line into the keys of a result. Spec: docs/spec/canary.md.
 *
 * A program may compile more than a result carries: the budget is limited to the keys' share, parts are dropped before
 * keys, and a key without room is left out. Not thread-safe. A line that breaks a rule gives -1 and changes nothing. */

/* A digest is short on purpose: it distinguishes values, without holding one. */
enum { PART_MAX_BYTES = ID_MAX_BYTES };
/* MessagePack heads of the item, its state, its list of parts and its time, as in evidence_state.c. */
enum { HEADS_COST_BYTES = 8 + 10 + 10 + 10 };
/* One of an ordinary program (jit_<name>-<64 digits>) without its parts. */
enum { BARE_KEY_BYTES = 180 };

/* Rising ranks. "Compiled" outranks a later "found"; the fate of its entry outranks that; a damaged entry outranks
 * all. */
static const uint8_t rank_of[] = {
    [KEY_NONE] = 0,    [KEY_HIT] = 1,       [KEY_MISSED] = 2,     [KEY_BELOW_THRESHOLD] = 3,
    [KEY_WRITTEN] = 4, [KEY_UNWRITTEN] = 5, [KEY_UNREADABLE] = 6,
};

static bool outranks (enum key_state state, enum key_state known)
{
    return rank_of[state] > rank_of[known];
}

static int check_word (const json_t *value, const char *name, uint32_t min_bytes, uint32_t max_bytes, struct text *out,
                       struct err *err)
{
    *out = (struct text){ json_string_value (value), (uint32_t) json_string_length (value) };
    if (!json_is_string (value) || out->len < min_bytes || out->len > max_bytes)
        return err_set (err, ERR_PARSE, "%s: expected a string of %u to %u bytes", name, min_bytes, max_bytes);
    return 0;
}

static int need_word (const json_t *line, const char *member, uint32_t max_bytes, struct text *out, struct err *err)
{
    return check_word (json_object_get (line, member), member, 1, max_bytes, out, err);
}

static int read_count (const json_t *line, const char *member, bool needed, uint64_t *out, struct err *err)
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

static int check_state (const json_t *line, enum key_state *out, struct err *err)
{
    uint32_t found = KEY_NONE;
    struct text word;
    if (need_word (line, "state", WORD_MAX_BYTES, &word, err) < 0)
        return -1;
    if (!text_is (word, key_state_names.of[KEY_NONE]) && !enum_value_of (&key_state_names, word, &found))
        return err_set (err, ERR_PARSE, "state: this word is not in the protocol");
    *out = (enum key_state) found;
    return 0;
}

static int check_parts (const json_t *parts, struct err *err)
{
    const char *name;
    json_t *digest;
    struct text text;
    if (!parts)
        return 0;
    if (!json_is_object (parts) || json_object_size (parts) > KEY_PARTS_MAX)
        return err_set (err, ERR_PARSE, "parts: expected an object of at most %d members", KEY_PARTS_MAX);
    json_object_foreach ((json_t *) parts, name, digest) {
        if (!name[0] || strlen (name) > PART_MAX_BYTES)
            return err_set (err, ERR_PARSE, "parts: expected names of 1 to %d bytes", PART_MAX_BYTES);
        if (check_word (digest, "parts", 0, PART_MAX_BYTES, &text, err) < 0)
            return -1;
    }
    return 0;
}

/* Reads program, key and state, borrowed from `line`; refuses broken rules, also in parts that it does not use. */
static int evidence_check (const json_t *line, struct cache_key *out, struct err *err)
{
    const json_t *why = json_object_get (line, "why");
    *out = (struct cache_key){ 0 };
    if (need_word (line, "program", NAME_MAX_BYTES, &out->program, err) < 0 ||
        need_word (line, "key", NAME_MAX_BYTES, &out->key, err) < 0 || check_state (line, &out->state, err) < 0 ||
        read_count (line, "compile_ms", false, &out->compile_ms, err) < 0)
        return -1;
    if (why && !json_is_string (why))
        return err_set (err, ERR_PARSE, "why: expected a string");
    return check_parts (json_object_get (line, "parts"), err);
}

static int evidence_read_text (const json_t *line, const char *name, struct text *out, struct json_budget *budget)
{
    const json_t *value = json_object_get (line, name);
    *out = (struct text){ 0 };
    return value ? json_read_text (value, name, NAME_MAX_BYTES, false, out, budget, NULL) : 0;
}

static int evidence_read_parts (const json_t *line, struct json_budget *budget, var_list *out)
{
    json_t *parts = json_object_get (line, "parts"), *digest;
    const char *name;
    int rc = 0;
    *out = (var_list){ 0 };
    if (json_object_size (parts) > 0)
        out->items = arena_array (budget->arena, json_object_size (parts), sizeof (struct var));
    json_object_foreach (parts, name, digest) {
        json_auto_t *pair = json_pack ("{s:s, s:O}", "name", name, "value", digest);
        rc = json_read_record (pair, &var_record, &out->items[out->n++], budget, NULL);
        if (rc < 0)
            break;
    }
    return rc;
}

/* Reads a checked line, without parts that would leave less than `reserve_bytes`. -1: the budget is too low. */
static int evidence_read_key (const json_t *line, size_t reserve_bytes, struct json_budget *budget,
                              struct cache_key *out)
{
    if (budget->left_bytes < HEADS_COST_BYTES)
        return -1;
    budget->left_bytes -= HEADS_COST_BYTES;
    if (evidence_read_text (line, "program", &out->program, budget) < 0 ||
        evidence_read_text (line, "key", &out->key, budget) < 0 ||
        evidence_read_text (line, "why", &out->why, budget) < 0)
        return -1;
    size_t kept_bytes = budget->left_bytes < reserve_bytes ? budget->left_bytes : reserve_bytes;
    struct json_budget rest = { budget->arena, budget->left_bytes - kept_bytes };
    if (evidence_read_parts (line, &rest, &out->parts) == 0)
        budget->left_bytes = rest.left_bytes + kept_bytes;
    else
        out->parts = (var_list){ 0 };
    return 0;
}

static struct cache_key *evidence_find (const struct result *result, const struct cache_key *key)
{
    for (uint32_t i = 0; i < result->keys.n; i++) {
        struct cache_key *known = &result->keys.items[i];
        if (text_equal (known->program, key->program) && text_equal (known->key, key->key))
            return known;
    }
    return NULL;
}

static struct cache_key *room_for_one (struct result *result, struct arena *arena)
{
    if (!result->keys.items)
        result->keys.items = arena_array (arena, RESULT_KEYS_MAX, sizeof (struct cache_key));
    return &result->keys.items[result->keys.n++];
}

/* Keeps the higher-ranked of two lines about one key. */
static int cache_key_line_store (const json_t *line, struct result *out, struct json_budget *budget, bool *left_out,
                                 struct err *err)
{
    struct cache_key key;
    *left_out = false;
    if (evidence_check (line, &key, err) < 0)
        return -1;
    struct cache_key *known = evidence_find (out, &key);
    if (known && key.compile_ms)
        known->compile_ms = key.compile_ms;
    if (known && !outranks (key.state, known->state))
        return 0;
    size_t others_bytes = (size_t) (RESULT_KEYS_MAX - out->keys.n) * BARE_KEY_BYTES;
    *left_out = (!known && out->keys.n == RESULT_KEYS_MAX) || evidence_read_key (line, others_bytes, budget, &key) < 0;
    if (*left_out)
        return 0;
    if (known && key.parts.n == 0)
        key.parts = known->parts;
    key.compile_ms = known && !key.compile_ms ? known->compile_ms : key.compile_ms;
    *(known ? known : room_for_one (out, budget->arena)) = key;
    return 0;
}

/* ---- evidence ---- */

enum { SHOWN_BYTES = 120 };
enum { KEYS_MAX_BYTES = 19 * 1024 }; /* the keys' share of EVIDENCE_MAX_BYTES */

void evidence_expect (struct evidence *evidence, const struct msg_run *run)
{
    evidence->asked = run;
}

/* ---- one function a type of line ---- */

static int take_phase (struct evidence *evidence, const json_t *line, struct err *err)
{
    struct text name;
    if (need_word (line, "name", WORD_MAX_BYTES, &name, err) < 0)
        return -1;
    arena_reset (&evidence->phase_arena);
    evidence->result.phase = text_copy (&evidence->phase_arena, name);
    evidence->statement = (struct statement){ .kind = STATEMENT_PHASE, .name = evidence->result.phase };
    return 0;
}

static int take_gate (struct evidence *evidence, const json_t *line, struct err *err)
{
    struct text name, mode, value;
    uint32_t found = GATE_NONE;
    if (need_word (line, "name", WORD_MAX_BYTES, &name, err) < 0)
        return -1;
    if (need_word (line, "mode", WORD_MAX_BYTES, &mode, err) < 0)
        return -1;
    if (!enum_value_of (&gate_mode_names, mode, &found))
        return err_set (err, ERR_PARSE, "mode: expected share or agree");
    /* Who shares nothing says "". */
    if (check_word (json_object_get (line, "value"), "value", 0, GATE_VALUE_MAX_BYTES, &value, err) < 0)
        return -1;
    if (evidence_compiles_only (evidence))
        return err_set (err, ERR_REFUSED, "an attempt that only compiles must not wait at a gate");
    evidence->saw_program_gate |= text_is (name, "program") && found == GATE_AGREE;
    arena_reset (&evidence->gate_arena);
    evidence->statement = (struct statement){ .kind = STATEMENT_GATE,
                                              .name = text_copy (&evidence->gate_arena, name),
                                              .mode = (enum gate_mode) found,
                                              .value = text_copy (&evidence->gate_arena, value) };
    return 0;
}

/* Counts the keys that have no room. */
static void leave_out_key (struct evidence *evidence)
{
    uint64_t n = 0;
    result_counter (&evidence->result, EVIDENCE_KEYS_LEFT_OUT, &n);
    (void) evidence_add_counter (evidence, EVIDENCE_KEYS_LEFT_OUT, n + 1, NULL); /* there may be too many counters */
    evidence_count_left_out (evidence, "keys");
}

static int take_cache (struct evidence *evidence, const json_t *line, struct err *err)
{
    bool left_out = false;
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

static void raise_to (uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

/* The largest of several counts. */
static int take_memory (struct evidence *evidence, const json_t *line, struct err *err)
{
    struct result *result = &evidence->result;
    uint64_t peak, predicted, device_peak;
    if (read_count (line, "peak_bytes", true, &peak, err) < 0 ||
        read_count (line, "predicted_bytes", false, &predicted, err) < 0 ||
        read_count (line, "device_peak_bytes", false, &device_peak, err) < 0)
        return -1;
    raise_to (&result->peak_bytes, peak);
    raise_to (&result->predicted_bytes, predicted);
    raise_to (&result->device_peak_bytes, device_peak);
    return 0;
}

/* The first failure is the cause; later ones are mostly failed clean-up. */
static int take_failure (struct evidence *evidence, const json_t *line, struct err *err)
{
    struct text word;
    uint32_t owner = OWNER_NONE;
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

static int take_stacks (struct evidence *evidence, const json_t *line, struct err *err)
{
    uint64_t signal, pid;
    if (read_count (line, "signal", true, &signal, err) < 0 || read_count (line, "pid", true, &pid, err) < 0)
        return -1;
    if (signal < 1 || signal > STACKS_SIGNALS_MAX || pid < 1 || pid > INT32_MAX)
        return err_set (err, ERR_PARSE, "expected a signal from 1 to %d, and a pid", STACKS_SIGNALS_MAX);
    evidence->stacks_signal = (uint32_t) signal;
    evidence->stacks_pid = (uint32_t) pid;
    return 0;
}

static int take_done (struct evidence *evidence, const json_t *line, struct err *err)
{
    struct text nonce;
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

/* Refuses NUL, since a text cut by a C reader could pass for another. */
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

static int take_typed (struct evidence *evidence, const char *type, const json_t *line, struct err *err)
{
    if (refuse_nul (line, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof line_types / sizeof line_types[0]; i++) {
        if (strcmp (type, line_types[i].type) != 0)
            continue;
        if (evidence->result.done)
            return err_set (err, ERR_REFUSED, "this line was sent after done, which has to be the last line");
        return line_types[i].take (evidence, line, err);
    }
    return err_set (err, ERR_PARSE, "unknown type");
}

static int evidence_take_line (struct evidence *evidence, const json_t *line, struct err *err)
{
    const char *type = json_string_value (json_object_get (line, "type"));
    if (!type)
        return err_set (err, ERR_PARSE, "expected a JSON object with a type");
    if (take_typed (evidence, type, line, err) == 0)
        return 0;
    err_prefix (err, "%.100s", type);
    if (strcmp (type, "gate") == 0) {
        arena_reset (&evidence->gate_arena);
        evidence->statement = (struct statement){ .kind = STATEMENT_BAD_GATE };
        evidence->statement.value = text_copy (&evidence->gate_arena, text_of (err->text));
    }
    return -1;
}

static void evidence_describe (struct evidence *evidence, const char *why, struct text line)
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
    evidence_describe (evidence, why, (struct text){ 0 });
}

static json_t *evidence_parse (struct text line, struct err *err)
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
    evidence->statement = (struct statement){ 0 };
    evidence->result.spoke = true;
    json_auto_t *json = evidence_parse (line, &err);
    if (!json || evidence_take_line (evidence, json, &err) < 0)
        evidence_describe (evidence, err.text, line);
    arena_reset (&evidence->scratch);
    evidence_compact (evidence);
    *statement = evidence->statement;
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
