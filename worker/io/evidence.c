/* evidence.c - see evidence.h. */
#include "worker/io/evidence.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>
#include "worker/io/clean.h"
#include "worker/io/json_record.h"
#include "worker/io/key_line.h"
#include "worker/io/memory_line.h"

enum { SHOWN_BYTES = 120 };
enum { KEYS_MAX_BYTES = 19 * 1024 }; /* the keys' share of EVIDENCE_MAX_BYTES */

typedef int take_fn (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err);

static struct json_purse purse_of (struct evidence *evidence)
{
    return (struct json_purse) { &evidence->arena, evidence->left_bytes };
}

static void pay (struct evidence *evidence, const struct json_purse *purse)
{
    evidence->left_bytes = purse->left_bytes;
}

static const struct field *list_field (size_t offset)
{
    uint32_t i = 0;
    while (result_record.fields[i].offset != offset)
        i++;
    return &result_record.fields[i];
}

/* Room for one more item in the list at `offset` of the result. The whole list is allocated once: bounds are small. */
static void *list_room (struct evidence *evidence, size_t offset, struct err *err)
{
    const struct field *field = list_field (offset);
    struct any_list *list = (struct any_list *) ((char *) &evidence->result + offset);
    if (list->n == field->max) {
        err_set (err, ERR_LIMIT, "more than %u %s", list->n, field->name);
        return NULL;
    }
    if (!list->items)
        list->items = arena_array (&evidence->arena, field->max, field->of->bytes);
    return (char *) list->items + list->n * field->of->bytes;
}

static int take_item (struct evidence *evidence, const json_t *line, size_t offset, struct err *err)
{
    void *room = list_room (evidence, offset, err);
    const struct field *field = list_field (offset);
    struct json_purse purse = purse_of (evidence);
    int rc = room ? json_read_record (line, field->of, room, &purse, err) : -1;
    pay (evidence, &purse); /* also for what was refused half way: its memory is gone */
    if (rc == 0)
        ((struct any_list *) ((char *) &evidence->result + offset))->n++;
    return rc;
}

static int read_word (const json_t *line, const char *member, uint32_t min_bytes, uint32_t max_bytes, struct text *out,
                      struct err *err)
{
    const json_t *value = json_object_get (line, member);
    *out = (struct text) { json_string_value (value), (uint32_t) json_string_length (value) };
    if (!json_is_string (value) || out->len < min_bytes || out->len > max_bytes || memchr (out->ptr, 0, out->len))
        return err_set (err, ERR_PARSE, "%s: expected a text of %u to %u bytes", member, min_bytes, max_bytes);
    return 0;
}

static int need_word (const json_t *line, const char *member, uint32_t max_bytes, struct text *out, struct err *err)
{
    return read_word (line, member, 1, max_bytes, out, err);
}

/* ---- named texts and numbers: the later word wins ---- */

static struct var *find_var (const var_list *list, struct text name)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (text_equal (list->items[i].name, name))
            return &list->items[i];
    }
    return NULL;
}

static int take_var (struct evidence *evidence, size_t offset, const char *name, const json_t *value, struct err *err)
{
    struct var *known = find_var ((const var_list *) ((char *) &evidence->result + offset), text_of (name));
    if (known && json_is_string (value) && text_is (known->value, json_string_value (value)))
        return 0;
    if (!json_is_string (value))
        return err_set (err, ERR_PARSE, "%.100s: expected a text", name);
    struct var var;
    struct json_purse purse = purse_of (evidence);
    json_t *pair = json_pack ("{s:s, s:O}", "name", name, "value", value);
    int rc = json_read_record (pair, &var_record, &var, &purse, err);
    json_decref (pair);
    pay (evidence, &purse);
    if (rc < 0)
        return -1;
    struct var *room = known ? known : list_room (evidence, offset, err);
    if (!room)
        return -1;
    *room = var;
    if (!known)
        ((var_list *) ((char *) &evidence->result + offset))->n++;
    return 0;
}

static int take_vars (struct evidence *evidence, const json_t *line, const char *member, size_t offset, struct err *err)
{
    json_t *items = json_object_get (line, member);
    if (!json_is_object (items))
        return err_set (err, ERR_PARSE, "%s: expected an object", member);
    const char *name;
    json_t *value;
    int rc = 0;
    json_object_foreach (items, name, value) {
        if (take_var (evidence, offset, name, value, err) < 0)
            rc = -1; /* the others are evidence none the less */
    }
    return rc;
}

static struct number *find_counter (struct evidence *evidence, struct text name)
{
    for (uint32_t i = 0; i < evidence->result.counters.n; i++) {
        if (text_equal (evidence->result.counters.items[i].name, name))
            return &evidence->result.counters.items[i];
    }
    return NULL;
}

static int take_counter (struct evidence *evidence, const char *name, const json_t *value, struct err *err)
{
    if (!json_is_integer (value) || json_integer_value (value) < 0)
        return err_set (err, ERR_PARSE, "%.100s: expected a whole number from 0", name);
    struct number *known = find_counter (evidence, text_of (name));
    if (known) {
        known->value = (uint64_t) json_integer_value (value);
        return 0;
    }
    json_t *pair = json_pack ("{s:s, s:I}", "name", name, "value", json_integer_value (value));
    int rc = take_item (evidence, pair, offsetof (struct result, counters), err);
    json_decref (pair);
    return rc;
}

/* ---- one function a type of line ---- */

static int take_phase (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    struct text name;
    if (need_word (line, "name", WORD_MAX_BYTES, &name, err) < 0)
        return -1;
    arena_reset (&evidence->phase_arena);
    evidence->result.phase = text_copy (&evidence->phase_arena, name);
    *saying = (struct saying) { .kind = SAYING_PHASE, .name = evidence->result.phase };
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
    arena_reset (&evidence->gate_arena);
    saying->name = text_copy (&evidence->gate_arena, name);
    saying->value = text_copy (&evidence->gate_arena, value);
    saying->mode = (enum gate_mode) found;
    saying->kind = SAYING_GATE;
    return 0;
}

static int take_bundle (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    (void) saying;
    return take_vars (evidence, line, "items", offsetof (struct result, bundle), err);
}

static int take_policy (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    (void) saying;
    return take_vars (evidence, line, "observed", offsetof (struct result, policy), err);
}

static int take_fact (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    struct text name;
    (void) saying;
    if (need_word (line, "name", NAME_MAX_BYTES, &name, err) < 0)
        return -1;
    return take_var (evidence, offsetof (struct result, facts), name.ptr, json_object_get (line, "value"), err);
}

static int take_counters (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    (void) saying;
    json_t *values = json_object_get (line, "values");
    if (!json_is_object (values))
        return err_set (err, ERR_PARSE, "values: expected an object");
    const char *name;
    json_t *value;
    int rc = 0;
    json_object_foreach (values, name, value) {
        if (take_counter (evidence, name, value, err) < 0)
            rc = -1;
    }
    return rc;
}

static int take_backend (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    (void) saying;
    struct backend backend;
    struct json_purse purse = purse_of (evidence);
    int rc = json_read_record (line, &backend_record, &backend, &purse, err);
    pay (evidence, &purse);
    if (rc == 0)
        evidence->result.backend = backend;
    return rc;
}

static int take_program (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    (void) saying;
    return take_item (evidence, line, offsetof (struct result, programs), err);
}

static int take_check (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    (void) saying;
    return take_item (evidence, line, offsetof (struct result, checks), err);
}

static int take_note (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    (void) saying;
    return take_item (evidence, line, offsetof (struct result, notes), err);
}

static int take_metric (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    struct text scope;
    (void) saying;
    if (need_word (line, "scope", WORD_MAX_BYTES, &scope, err) < 0)
        return -1;
    bool global = text_is (scope, "global");
    if (!global && !text_is (scope, "local"))
        return err_set (err, ERR_PARSE, "scope: expected global or local");
    if (take_item (evidence, line, offsetof (struct result, metrics), err) < 0)
        return -1;
    evidence->result.metrics.items[evidence->result.metrics.n - 1].global = global;
    return 0;
}

/* How many keys are missing stands beside those that are there. */
static int leave_out_key (struct evidence *evidence, struct err *err)
{
    const struct number *known = find_counter (evidence, TEXT_LIT (EVIDENCE_KEYS_LEFT_OUT));
    json_t *n = json_integer (known ? (json_int_t) known->value + 1 : 1);
    int rc = take_counter (evidence, EVIDENCE_KEYS_LEFT_OUT, n, err);
    json_decref (n);
    return rc;
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
    return rc == 0 && left_out ? leave_out_key (evidence, err) : rc;
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
    uint32_t layer = LAYER_NONE;
    (void) saying;
    if (need_word (line, "layer", WORD_MAX_BYTES, &word, err) < 0)
        return -1;
    if (!names_find (&layer_names, word, &layer))
        return err_set (err, ERR_PARSE, "layer: not one of the words that are known");
    const json_t *text = json_object_get (line, "text");
    if (!json_is_string (text))
        return err_set (err, ERR_PARSE, "text: expected a string");
    if (evidence->result.layer != LAYER_NONE)
        return 0;
    struct text raw = { json_string_value (text), (uint32_t) json_string_length (text) };
    evidence->result.layer = (enum layer) layer;
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
    evidence->result.done = true;
    return 0;
}

static const struct { const char *type; take_fn *take; } line_types[] = {
    { "phase", take_phase },     { "gate", take_gate },       { "bundle", take_bundle }, { "policy", take_policy },
    { "backend", take_backend }, { "program", take_program }, { "check", take_check },   { "counters", take_counters },
    { "metric", take_metric },   { "memory", take_memory },   { "note", take_note },     { "fact", take_fact },
    { "failure", take_failure }, { "done", take_done },       { "cache", take_cache },
};

static int take_line (struct evidence *evidence, const json_t *line, struct saying *saying, struct err *err)
{
    const char *type = json_string_value (json_object_get (line, "type"));
    if (!type)
        return err_set (err, ERR_PARSE, "expected an object with a type");
    for (size_t i = 0; i < sizeof line_types / sizeof line_types[0]; i++) {
        if (strcmp (type, line_types[i].type) != 0)
            continue;
        return line_types[i].take (evidence, line, saying, err) < 0 ? err_prefix (err, "%s", type) : 0;
    }
    return err_set (err, ERR_PARSE, "unknown type");
}

static void describe (struct evidence *evidence, const char *why, struct text line)
{
    if (evidence->result.bad_lines < UINT32_MAX)
        evidence->result.bad_lines++;
    if (evidence->complaint.len)
        return;
    struct text shown = text_clean (&evidence->arena, line, SHOWN_BYTES);
    struct text said = text_clean (&evidence->arena, text_of (why), ERR_TEXT_BYTES);
    evidence->complaint = text_format (&evidence->arena, "a line on the canary channel was refused: %.*s%s%.*s",
                                       TEXT_ARG (said), shown.len ? ": " : "", TEXT_ARG (shown));
}

void evidence_refuse (struct evidence *evidence, const char *why)
{
    evidence->result.spoke = true;
    describe (evidence, why, (struct text) { 0 });
}

void evidence_take (struct evidence *evidence, struct text line, struct saying *saying)
{
    assert (line.len <= LINE_MAX_BYTES);
    struct arena scratch = { 0 };
    struct err err = { 0 };
    json_error_t json_err;
    *saying = (struct saying) { 0 };
    evidence->result.spoke = true;
    struct text clean = text_is_utf8 (line) ? line : text_clean (&scratch, line, 3 * LINE_MAX_BYTES);
    json_t *json = json_loadb (clean.ptr, clean.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &json_err);
    int rc = json ? take_line (evidence, json, saying, &err)
                  : err_set (&err, ERR_PARSE, "not a JSON line: %s", json_err.text);
    if (rc < 0)
        describe (evidence, err.text, line);
    json_decref (json);
    arena_release (&scratch);
}

void evidence_init (struct evidence *evidence, struct text nonce)
{
    *evidence = (struct evidence) { .left_bytes = EVIDENCE_MAX_BYTES, .keys_left_bytes = KEYS_MAX_BYTES };
    evidence->nonce = text_copy (&evidence->arena, nonce);
}

void evidence_release (struct evidence *evidence)
{
    arena_release (&evidence->arena);
    arena_release (&evidence->phase_arena);
    arena_release (&evidence->gate_arena);
}
