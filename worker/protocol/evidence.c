/* evidence.c - see evidence.h. */
#include "worker/protocol/evidence_state.h"

#include "common/base/utf8.h"
#include "worker/protocol/key_line.h"
#include "worker/protocol/memory_line.h"
#include <assert.h>
#include <string.h>

enum { SHOWN_BYTES = 120 };
enum { KEYS_MAX_BYTES = 19 * 1024 }; /* the keys' share of EVIDENCE_MAX_BYTES */
enum { MEMORY_MAX_BYTES = 1 << 20 }; /* several times what a result holds at most */

/* ---- what was asked ---- */

void evidence_ask (struct evidence *evidence, const struct msg_run *run)
{
    evidence->asked = run;
}

bool evidence_compiles_only (const struct evidence *evidence)
{
    const struct msg_run *asked = evidence->asked;
    return asked && asked->rung.warm == WARM_AOT && asked->key.pass == PASS_COLD;
}

bool evidence_lacks_backend (const struct evidence *evidence)
{
    return evidence->asked && evidence->asked->rung.backend.len && !evidence->saw_backend;
}

bool evidence_lacks_program_gate (const struct evidence *evidence)
{
    const struct msg_run *asked = evidence->asked;
    return asked && asked->rung.scope == SCOPE_SLICE && asked->world > 1 && !evidence->saw_program_gate;
}

/* ---- lists and their cost ---- */

int evidence_pay (struct evidence *evidence, size_t cost_bytes, size_t freed_bytes, struct err *err)
{
    if (cost_bytes > evidence->left_bytes + freed_bytes)
        return err_set (err, ERR_LIMIT, "there is more evidence than a result carries");
    evidence->left_bytes += freed_bytes;
    evidence->left_bytes -= cost_bytes;
    return 0;
}

const struct field *evidence_field (size_t offset)
{
    uint32_t i = 0;
    while (result_record.fields[i].offset != offset)
        i++;
    return &result_record.fields[i];
}

void *evidence_room (struct evidence *evidence, size_t offset, struct err *err)
{
    const struct field *field = evidence_field (offset);
    struct any_list *list = (struct any_list *) ((char *) &evidence->result + offset);
    if (list->n == field->max) {
        err_set (err, ERR_LIMIT, "more than %u %s", list->n, field->name);
        return NULL;
    }
    if (!list->items)
        list->items = arena_array (&evidence->arena, field->max, field->of->bytes);
    return (char *) list->items + list->n * field->of->bytes;
}

static int read_word (const json_t *line, const char *member, uint32_t min_bytes, uint32_t max_bytes, struct text *out,
                      struct err *err)
{
    const json_t *value = json_object_get (line, member);
    *out = (struct text){ json_string_value (value), (uint32_t) json_string_length (value) };
    if (!json_is_string (value) || out->len < min_bytes || out->len > max_bytes)
        return err_set (err, ERR_PARSE, "%s: expected a text of %u to %u bytes", member, min_bytes, max_bytes);
    return 0;
}

static int need_word (const json_t *line, const char *member, uint32_t max_bytes, struct text *out, struct err *err)
{
    return read_word (line, member, 1, max_bytes, out, err);
}

/* ---- one function a type of line ---- */

static int take_phase (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    struct text name;
    if (need_word (line, "name", WORD_MAX_BYTES, &name, err) < 0)
        return -1;
    arena_reset (&evidence->phase_arena);
    evidence->result.phase = text_copy (&evidence->phase_arena, name);
    *saying = (struct saying){ .kind = SAYING_PHASE, .name = evidence->result.phase };
    return 0;
}

static int take_gate (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    struct text name, mode, value;
    uint32_t found = GATE_NONE;
    if (need_word (line, "name", WORD_MAX_BYTES, &name, err) < 0)
        return -1;
    if (need_word (line, "mode", WORD_MAX_BYTES, &mode, err) < 0)
        return -1;
    if (!names_find (&gate_mode_names, mode, &found))
        return err_set (err, ERR_PARSE, "mode: expected share or agree");
    if (read_word (line, "value", 0, GATE_VALUE_MAX_BYTES, &value, err) < 0) /* who shares nothing says "" */
        return -1;
    if (evidence_compiles_only (evidence))
        return err_set (err, ERR_REFUSED, "an attempt that only compiles passes no gate");
    evidence->saw_program_gate |= text_is (name, "program") && found == GATE_AGREE;
    arena_reset (&evidence->gate_arena);
    saying->name = text_copy (&evidence->gate_arena, name);
    saying->value = text_copy (&evidence->gate_arena, value);
    saying->mode = (enum gate_mode) found;
    saying->kind = SAYING_GATE;
    return 0;
}

/* How many keys are missing stands beside those that are there. */
static void leave_out_key (struct evidence *evidence)
{
    uint64_t n = 0;
    result_counter (&evidence->result, EVIDENCE_KEYS_LEFT_OUT, &n);
    (void) evidence_count (evidence, EVIDENCE_KEYS_LEFT_OUT, n + 1, NULL); /* there may be too many counters */
    evidence_leave_out (evidence, "keys");
}

static int take_cache (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    bool left_out = false;
    (void) saying;
    size_t keys_bytes = evidence->keys_left_bytes;
    size_t had_bytes = keys_bytes < evidence->left_bytes ? keys_bytes : evidence->left_bytes;
    struct json_purse purse = { &evidence->arena, had_bytes };
    int rc = key_line_take (line, &evidence->result, &purse, &left_out, err);
    evidence->left_bytes -= had_bytes - purse.left_bytes;
    evidence->keys_left_bytes -= had_bytes - purse.left_bytes;
    if (rc == 0 && left_out)
        leave_out_key (evidence);
    return rc;
}

static int take_memory (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    (void) saying;
    return memory_line_take (line, &evidence->result, err);
}

/* The first failure is the cause; what follows it is mostly clean-up that failed as well. */
static int take_failure (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    struct text word;
    uint32_t owner = OWNER_NONE;
    (void) saying;
    if (need_word (line, "layer", WORD_MAX_BYTES, &word, err) < 0)
        return -1;
    if (!names_find (&owner_names, word, &owner))
        return err_set (err, ERR_PARSE, "layer: not one of the words that are known");
    const json_t *text = json_object_get (line, "text");
    if (!json_is_string (text))
        return err_set (err, ERR_PARSE, "text: expected a string");
    evidence->failed = true;
    if (evidence->result.owner != OWNER_NONE)
        return 0;
    struct text raw = { json_string_value (text), (uint32_t) json_string_length (text) };
    evidence->result.owner = (enum owner) owner;
    evidence->result.failure = text_clean (&evidence->arena, raw, SENTENCE_MAX_BYTES);
    return 0;
}

static int take_done (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    struct text nonce;
    (void) saying;
    if (need_word (line, "nonce", EVIDENCE_NONCE_MAX_BYTES, &nonce, err) < 0)
        return -1;
    if (!text_equal (nonce, evidence->nonce))
        return err_set (err, ERR_REFUSED, "nonce: not that of this attempt");
    if (evidence->failed)
        return err_set (err, ERR_REFUSED, "said after failure");
    evidence->result.done = true;
    return 0;
}

static const struct {
    const char *type;
    take_fn *take;
} line_types[] = {
    { "phase", take_phase },
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
    { "done", take_done },
    { "cache", take_cache },
};

/* ---- lines ---- */

static bool has_nul (const json_t *value)
{
    const char *name;
    json_t *item;
    size_t i;
    json_object_foreach ((json_t *) value, name, item)
    {
        if (has_nul (item))
            return true;
    }
    json_array_foreach ((json_t *) value, i, item)
    {
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
    json_object_foreach ((json_t *) line, member, value)
    {
        if (has_nul (value))
            return err_set (err, ERR_PARSE, "%.100s: a text with a NUL character", member);
    }
    return 0;
}

static int take_typed (struct evidence *evidence, const char *type, const json_t *line, struct saying *saying,
                       struct err *err)
{
    if (refuse_nul (line, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof line_types / sizeof line_types[0]; i++) {
        if (strcmp (type, line_types[i].type) != 0)
            continue;
        if (evidence->result.done)
            return err_set (err, ERR_REFUSED, "said after done, which is the last line");
        return line_types[i].take (evidence, line, saying, err);
    }
    return err_set (err, ERR_PARSE, "unknown type");
}

static int take_line (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    const char *type = json_string_value (json_object_get (line, "type"));
    if (!type)
        return err_set (err, ERR_PARSE, "expected an object with a type");
    if (take_typed (evidence, type, line, saying, err) == 0)
        return 0;
    err_prefix (err, "%.100s", type);
    if (strcmp (type, "gate") == 0) {
        arena_reset (&evidence->gate_arena);
        *saying = (struct saying){ .kind = SAYING_BAD_GATE };
        saying->value = text_copy (&evidence->gate_arena, text_of (err->text));
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
    struct text shown = text_clean (arena, line, SHOWN_BYTES), said = text_clean (arena, text_of (why), ERR_TEXT_BYTES);
    struct text whole = text_format (arena, "%.*s%s%.*s", TEXT_ARG (said), shown.len ? ": " : "", TEXT_ARG (shown));
    evidence->result.bad_line = text_clip (whole, BAD_LINE_MAX_BYTES);
    evidence->complaint = text_format (arena, "a line on the canary channel was refused: %.*s", TEXT_ARG (whole));
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

/* ---- memory: what is said anew leaves its old words behind ---- */

static const size_t own_lists[] = {
    offsetof (struct result, policy),   offsetof (struct result, bundle), offsetof (struct result, facts),
    offsetof (struct result, counters), offsetof (struct result, checks), offsetof (struct result, programs),
    offsetof (struct result, metrics),  offsetof (struct result, notes),  offsetof (struct result, keys),
    offsetof (struct result, left_out),
};

static void move_list (struct evidence *evidence, size_t offset, struct arena *to)
{
    const struct field *field = evidence_field (offset);
    struct any_list *list = (struct any_list *) ((char *) &evidence->result + offset);
    size_t item_bytes = field->of->bytes;
    if (!list->items)
        return;
    char *items = arena_array (to, field->max, item_bytes);
    for (uint32_t i = 0; i < list->n; i++)
        record_copy (field->of, items + i * item_bytes, (char *) list->items + i * item_bytes, to);
    list->items = items;
}

static void keep_within_bounds (struct evidence *evidence)
{
    struct arena fresh = { 0 };
    struct text *texts[] = { &evidence->nonce, &evidence->complaint, &evidence->result.bad_line,
                             &evidence->result.failure };
    if (evidence->arena.used_bytes < MEMORY_MAX_BYTES)
        return;
    for (size_t i = 0; i < sizeof own_lists / sizeof own_lists[0]; i++)
        move_list (evidence, own_lists[i], &fresh);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        *texts[i] = text_copy (&fresh, *texts[i]);
    record_copy (&backend_record, &evidence->result.backend, &evidence->result.backend, &fresh);
    arena_release (&evidence->arena);
    evidence->arena = fresh;
}

void evidence_take (struct evidence *evidence, struct text line, struct saying *saying)
{
    assert (line.len <= LINE_MAX_BYTES);
    struct err err = { 0 };
    *saying = (struct saying){ 0 };
    evidence->result.spoke = true;
    json_t *json = parse (line, &err);
    if (!json || take_line (evidence, json, saying, &err) < 0)
        describe (evidence, err.text, line);
    json_decref (json);
    arena_reset (&evidence->scratch);
    keep_within_bounds (evidence);
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
