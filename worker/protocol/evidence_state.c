/* evidence_state.c - the room left in a result, and lines that its program still owes. */
#include "worker/protocol/evidence.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/utf8.h"

/* Part of the room that is reserved for judged items. */
enum { RESERVE_BYTES = 8 * 1024 };
/* More than any line can hold. */
enum { LINE_COST_BYTES = 1 << 20 };
enum { MEMORY_MAX_BYTES = 1 << 20 }; /* several times what a result holds at most */

/* ---- what was asked ---- */

bool evidence_compiles_only (const struct evidence *evidence)
{
    const struct msg_run *asked = evidence->asked;
    return asked && asked->rung.warm == WARM_AOT && asked->key.pass == PASS_COLD;
}

bool evidence_lacks_backend (const struct evidence *evidence)
{
    const struct msg_run *asked = evidence->asked; /* a command lacks it where its verdict looks for it */
    return asked && asked->rung.backend.len && asked->rung.kind != PROGRAM_COMMAND && !evidence->saw_backend;
}

bool evidence_lacks_program_gate (const struct evidence *evidence)
{
    const struct msg_run *asked = evidence->asked;
    return asked && asked->rung.kind != PROGRAM_COMMAND && asked->rung.scope == SCOPE_SLICE && asked->world > 1 &&
           !evidence->saw_program_gate;
}

/* ---- lists and their cost ---- */

int evidence_pay (struct evidence *evidence, size_t cost_bytes, size_t freed_bytes, struct err *err)
{
    if (cost_bytes > evidence->left_bytes + freed_bytes)
        return err_set (err, ERR_LIMIT, "the program reported more than a result can hold");
    evidence->left_bytes += freed_bytes;
    evidence->left_bytes -= cost_bytes;
    return 0;
}

static struct any_list *list_at (struct evidence *evidence, size_t offset)
{
    return (struct any_list *) ((char *) &evidence->result + offset);
}

const struct field *evidence_list_field (size_t offset)
{
    uint32_t i = 0;
    while (result_record.fields[i].offset != offset)
        i++;
    return &result_record.fields[i];
}

void *evidence_next_slot (struct evidence *evidence, size_t offset, struct err *err)
{
    const struct field *field = evidence_list_field (offset);
    struct any_list *list = list_at (evidence, offset);
    if (list->n == field->max) {
        err_set (err, ERR_LIMIT, "a result holds at most %u items of its %s", list->n, field->name);
        return NULL;
    }
    if (!list->items)
        list->items = arena_array (&evidence->arena, field->max, field->of->bytes);
    return (char *) list->items + list->n * field->of->bytes;
}

int evidence_read_record (struct evidence *evidence, const json_t *line, const struct record *record, void *item,
                          struct err *err)
{
    struct json_budget budget = { &evidence->scratch, LINE_COST_BYTES };
    return json_read_record (line, record, item, &budget, err);
}

void evidence_put (struct evidence *evidence, size_t offset, const void *item)
{
    void *room = evidence_next_slot (evidence, offset, NULL);
    record_copy (evidence_list_field (offset)->of, room, item, &evidence->arena);
    list_at (evidence, offset)->n++;
}

void evidence_count_left_out (struct evidence *evidence, const char *list)
{
    number_list *left_out = (number_list *) &evidence->result.left_out;
    struct named_number *known = number_find (left_out, text_of (list));
    if (known) {
        known->value++;
        return;
    }
    struct named_number *room = evidence_next_slot (evidence, offsetof (struct result, left_out), NULL);
    *room = (struct named_number){ text_of (list), 1 };
    left_out->n++;
}

void evidence_put_if_room (struct evidence *evidence, size_t offset, uint32_t places, const void *item)
{
    const struct field *field = evidence_list_field (offset);
    size_t cost_bytes = json_record_wire_bytes (field->of, item);
    if (list_at (evidence, offset)->n >= places || cost_bytes + RESERVE_BYTES > evidence->left_bytes) {
        evidence_count_left_out (evidence, field->name);
        return;
    }
    evidence->left_bytes -= cost_bytes;
    evidence_put (evidence, offset, item);
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
    const struct field *field = evidence_list_field (offset);
    struct any_list *list = list_at (evidence, offset);
    size_t item_bytes = field->of->bytes;
    if (!list->items)
        return;
    char *items = arena_array (to, field->max, item_bytes);
    for (uint32_t i = 0; i < list->n; i++)
        record_copy (field->of, items + i * item_bytes, (char *) list->items + i * item_bytes, to);
    list->items = items;
}

void evidence_compact (struct evidence *evidence)
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

/* ---- records from JSON ---- */

static int spend (struct json_budget *budget, size_t bytes, struct err *err)
{
    if (budget->left_bytes < bytes)
        return err_set (err, ERR_LIMIT, "the program reported more than a result can hold");
    budget->left_bytes -= bytes;
    return 0;
}

int json_read_text (const json_t *value, const char *name, uint32_t max_bytes, bool whole, struct text *out,
                    struct json_budget *budget, struct err *err)
{
    if (!json_is_string (value))
        return err_set (err, ERR_PARSE, "%s: expected a string", name);
    size_t len = json_string_length (value);
    if (whole && len > max_bytes)
        return err_set (err, ERR_LIMIT, "%s: %zu bytes, expected at most %" PRIu32, name, len, max_bytes);
    if (spend (budget, (len < max_bytes ? len : max_bytes) + JSON_FIELD_COST_BYTES, err) < 0)
        return -1;
    struct text raw = { json_string_value (value), (uint32_t) len }; /* lines are bounded, so it fits */
    *out = text_repair_utf8 (budget->arena, raw, max_bytes);
    return 0;
}

static bool must_be_whole (const struct field *field)
{
    return strcmp (field->name, "name") == 0 || strcmp (field->name, "fingerprint") == 0;
}

static int json_record_read_text (const json_t *value, const struct field *as, void *at, struct json_budget *room,
                                  struct err *err)
{
    struct text *text = at;
    if (!value && !must_be_whole (as)) {
        *text = (struct text){ 0 };
        return 0;
    }
    if (json_read_text (value, as->name, (uint32_t) as->max, must_be_whole (as), text, room, err) < 0)
        return -1;
    if (!text->len && must_be_whole (as))
        return err_set (err, ERR_PARSE, "%s: empty", as->name);
    return 0;
}

static int read_count (const json_t *value, const struct field *field, uint64_t *out, struct err *err)
{
    *out = 0;
    if (!value)
        return 0;
    if (!json_is_integer (value) || json_integer_value (value) < 0)
        return err_set (err, ERR_PARSE, "%s: expected a whole number of at least 0", field->name);
    *out = (uint64_t) json_integer_value (value);
    if (*out > field->max)
        return err_set (err, ERR_LIMIT, "%s: expected at most %" PRIu64, field->name, field->max);
    return 0;
}

static int read_real (const json_t *value, const struct field *field, double *out, struct err *err)
{
    *out = 0;
    if (!value && strcmp (field->name, "tolerance") == 0)
        return 0;
    if (!json_is_number (value) || !isfinite (json_number_value (value)))
        return err_set (err, ERR_PARSE, "%s: expected a finite number", field->name);
    *out = json_number_value (value);
    return 0;
}

static int read_enum (const json_t *value, const struct field *field, void *at, struct err *err)
{
    uint32_t found = 0;
    if (!json_is_string (value) || !enum_value_of (field->names, text_of (json_string_value (value)), &found))
        return err_set (err, ERR_PARSE, "%s: this word is not in the protocol", field->name);
    memcpy (at, &found, sizeof found);
    return 0;
}

static int json_record_read_list (const json_t *value, const struct field *as, void *at, struct json_budget *room,
                                  struct err *err);

static int read_field (const json_t *value, const struct field *as, void *at, struct json_budget *room, struct err *err)
{
    uint64_t count = 0;
    switch (as->kind) {
    case FIELD_TEXT: return json_record_read_text (value, as, at, room, err);
    case FIELD_U32:
    case FIELD_U64:
        if (read_count (value, as, &count, err) < 0)
            return -1;
        if (as->kind == FIELD_U32)
            *(uint32_t *) at = (uint32_t) count;
        else
            *(uint64_t *) at = count;
        return spend (room, JSON_FIELD_COST_BYTES, err);
    case FIELD_F64: return read_real (value, as, at, err) < 0 ? -1 : spend (room, JSON_FIELD_COST_BYTES, err);
    case FIELD_ENUM: return read_enum (value, as, at, err) < 0 ? -1 : spend (room, JSON_FIELD_COST_BYTES, err);
    case FIELD_LIST: return json_record_read_list (value, as, at, room, err);
    default:
        *(bool *) at = false; /* the only FIELD_BOOL, a metric's scope, has a word of its own in JSON */
        assert (as->kind == FIELD_BOOL);
        return spend (room, JSON_FIELD_COST_BYTES, err);
    }
}

static int read_item (const json_t *value, const struct field *as, void *at, struct json_budget *room, struct err *err)
{
    if (as->item == FIELD_RECORD)
        return json_read_record (value, as->of, at, room, err);
    assert (as->item == FIELD_TEXT);
    return json_read_text (value, as->name, (uint32_t) as->item_max, true, at, room, err);
}

static int json_record_read_list (const json_t *value, const struct field *as, void *at, struct json_budget *room,
                                  struct err *err)
{
    if (!json_is_array (value))
        return err_set (err, ERR_PARSE, "%s: expected a list", as->name);
    size_t n = json_array_size (value);
    size_t item_bytes = as->item == FIELD_RECORD ? as->of->bytes : sizeof (struct text);
    if (n > as->max)
        return err_set (err, ERR_LIMIT, "%s: %zu items, expected at most %" PRIu64, as->name, n, as->max);
    if (spend (room, JSON_FIELD_COST_BYTES, err) < 0)
        return -1;
    char *items = n ? arena_array (room->arena, n, item_bytes) : NULL;
    for (size_t i = 0; i < n; i++) {
        if (read_item (json_array_get (value, i), as, items + i * item_bytes, room, err) < 0)
            return -1;
    }
    *(struct any_list *) at = (struct any_list){ items, (uint32_t) n };
    return 0;
}

int json_read_record (const json_t *object, const struct record *record, void *out, struct json_budget *budget,
                      struct err *err)
{
    if (!json_is_object (object))
        return err_set (err, ERR_PARSE, "%s: expected a JSON object", record->name);
    if (spend (budget, JSON_ITEM_COST_BYTES, err) < 0)
        return -1;
    for (uint32_t i = 0; i < record->fields_n; i++) {
        const struct field *field = &record->fields[i];
        if (read_field (json_object_get (object, field->name), field, (char *) out + field->offset, budget, err) < 0)
            return err_prefix (err, "%s", record->name);
    }
    return 0;
}

static size_t value_cost (const struct field *field, const void *at);

static size_t list_cost (const struct field *field, const struct any_list *list)
{
    struct field item = field_describe_item (field);
    size_t bytes = JSON_FIELD_COST_BYTES, item_bytes = field_item_bytes (field);
    for (uint32_t i = 0; i < list->n; i++)
        bytes += value_cost (&item, (const char *) list->items + i * item_bytes);
    return bytes;
}

static size_t value_cost (const struct field *field, const void *at)
{
    switch (field->kind) {
    case FIELD_TEXT: return JSON_FIELD_COST_BYTES + ((const struct text *) at)->len;
    case FIELD_RECORD: return json_record_wire_bytes (field->of, at);
    case FIELD_LIST: return list_cost (field, at);
    default: return JSON_FIELD_COST_BYTES;
    }
}

size_t json_record_wire_bytes (const struct record *record, const void *value)
{
    size_t bytes = JSON_ITEM_COST_BYTES;
    for (uint32_t i = 0; i < record->fields_n; i++)
        bytes += value_cost (&record->fields[i], (const char *) value + record->fields[i].offset);
    return bytes;
}
