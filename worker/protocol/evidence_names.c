/* evidence_names.c - what a program says by name: versions, variables, facts, counters. The later word wins; a line is
 * taken whole or not at all, since one that breaks a rule is no evidence. */
#include "worker/protocol/evidence_state.h"

#include <string.h>

#include "common/model/requirements.h"

/* What taking a line would change. */
struct tally {
    uint32_t added;
    size_t cost_bytes, freed_bytes;
};

static size_t cost_of (size_t name_bytes, size_t value_bytes)
{
    return JSON_ITEM_COST_BYTES + 2 * JSON_FIELD_COST_BYTES + name_bytes + value_bytes;
}

static int check_name (const char *name, struct err *err)
{
    size_t bytes = strlen (name);
    if (bytes == 0 || bytes > NAME_MAX_BYTES)
        return err_set (err, ERR_LIMIT, "%.100s: the name has %zu bytes, expected 1 to %d", name, bytes,
                        NAME_MAX_BYTES);
    return 0;
}

static int afford (struct evidence *evidence, size_t offset, const struct tally *tally, struct err *err)
{
    const struct any_list *list = (const struct any_list *) ((const char *) &evidence->result + offset);
    const struct field *field = evidence_list_field (offset);
    if (list->n + tally->added > field->max)
        return err_set (err, ERR_LIMIT, "a result holds at most %u items of its %s", (unsigned) field->max,
                        field->name);
    return evidence_pay (evidence, tally->cost_bytes, tally->freed_bytes, err);
}

/* ---- texts ---- */

static var_list *vars_at (struct evidence *evidence, size_t offset)
{
    return (var_list *) ((char *) &evidence->result + offset);
}

static struct var *find_var (const var_list *list, struct text name)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (text_equal (list->items[i].name, name))
            return &list->items[i];
    }
    return NULL;
}

static struct text shown_value (const json_t *value)
{
    struct text whole = { json_string_value (value), (uint32_t) json_string_length (value) };
    return text_clip (whole, TEXT_MAX_BYTES);
}

static int weigh_var (const var_list *list, const char *name, const json_t *value, struct tally *tally, struct err *err)
{
    if (!json_is_string (value))
        return err_set (err, ERR_PARSE, "%.100s: expected a string", name);
    if (check_name (name, err) < 0)
        return -1;
    const struct var *known = find_var (list, text_of (name));
    tally->added += !known;
    tally->cost_bytes += cost_of (strlen (name), shown_value (value).len);
    tally->freed_bytes += known ? cost_of (known->name.len, known->value.len) : 0;
    return 0;
}

static void put_var (struct evidence *evidence, size_t offset, const char *name, const json_t *value)
{
    struct text shown = shown_value (value);
    struct var *known = find_var (vars_at (evidence, offset), text_of (name));
    if (known && text_equal (known->value, shown))
        return;
    struct var *var = known ? known : evidence_next_slot (evidence, offset, NULL);
    if (!known) {
        var->name = text_copy (&evidence->arena, text_of (name));
        vars_at (evidence, offset)->n++;
    }
    var->value = text_copy (&evidence->arena, shown);
}

static int take_vars (struct evidence *evidence, json_t *items, const char *member, size_t offset, struct err *err)
{
    json_t *value;
    struct tally tally = { 0 };
    const char *name;
    if (!json_is_object (items))
        return err_set (err, ERR_PARSE, "%s: expected a JSON object", member);
    json_object_foreach (items, name, value) {
        if (weigh_var (vars_at (evidence, offset), name, value, &tally, err) < 0)
            return -1;
    }
    if (afford (evidence, offset, &tally, err) < 0)
        return -1;
    json_object_foreach (items, name, value)
        put_var (evidence, offset, name, value);
    return 0;
}

/* Packages by one spelling, whoever tells them (PEP 503). */
int evidence_take_bundle (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    const json_t *items = json_object_get (line, "items");
    json_t *spelled = json_is_object (items) ? json_object () : NULL, *value;
    struct arena arena = { 0 };
    const char *name;
    (void) statement;
    json_object_foreach ((json_t *) items, name, value)
        json_object_set (spelled, requirement_normal_name (text_of (name), &arena).ptr, value);
    int rc = take_vars (evidence, spelled, "items", offsetof (struct result, bundle), err);
    json_decref (spelled);
    arena_release (&arena);
    return rc;
}

int evidence_take_policy (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    (void) statement;
    return take_vars (evidence, json_object_get (line, "observed"), "observed", offsetof (struct result, policy), err);
}

int evidence_take_fact (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    const size_t offset = offsetof (struct result, facts);
    const json_t *name = json_object_get (line, "name"), *value = json_object_get (line, "value");
    struct tally tally = { 0 };
    (void) statement;
    if (!json_is_string (name))
        return err_set (err, ERR_PARSE, "name: expected a string");
    if (weigh_var (vars_at (evidence, offset), json_string_value (name), value, &tally, err) < 0)
        return -1;
    if (afford (evidence, offset, &tally, err) < 0)
        return -1;
    put_var (evidence, offset, json_string_value (name), value);
    return 0;
}

/* ---- counters ---- */

static const size_t counters_offset = offsetof (struct result, counters);

static int weigh_counter (struct evidence *evidence, const char *name, const json_t *value, struct tally *tally,
                          struct err *err)
{
    if (!json_is_integer (value) || json_integer_value (value) < 0)
        return err_set (err, ERR_PARSE, "%.100s: expected a whole number of at least 0", name);
    if (check_name (name, err) < 0)
        return -1;
    bool known = number_find (&evidence->result.counters, text_of (name));
    tally->added += !known;
    tally->cost_bytes += known ? 0 : cost_of (strlen (name), 0);
    return 0;
}

static void put_counter (struct evidence *evidence, const char *name, uint64_t value)
{
    struct named_number *known = number_find (&evidence->result.counters, text_of (name));
    struct named_number *counter = known ? known : evidence_next_slot (evidence, counters_offset, NULL);
    if (!known) {
        counter->name = text_copy (&evidence->arena, text_of (name));
        evidence->result.counters.n++;
    }
    counter->value = value;
}

/* "Anything ran" is what executions say. */
static int check_order (const struct evidence *evidence, const json_t *values, struct err *err)
{
    if (json_integer_value (json_object_get (values, "executions")) == 0)
        return 0;
    if (evidence_lacks_backend (evidence))
        return err_set (err, ERR_REFUSED, "executions: this line was sent before the backend line");
    if (evidence_lacks_program_gate (evidence) && json_integer_value (json_object_get (values, "compile_requests")) > 0)
        return err_set (err, ERR_REFUSED, "executions: a slice-wide program has to pass the gate 'program' first");
    return 0;
}

int evidence_take_counters (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    json_t *values = json_object_get (line, "values"), *value;
    struct tally tally = { 0 };
    const char *name;
    (void) statement;
    if (!json_is_object (values))
        return err_set (err, ERR_PARSE, "values: expected a JSON object");
    json_object_foreach (values, name, value) {
        if (weigh_counter (evidence, name, value, &tally, err) < 0)
            return -1;
    }
    if (check_order (evidence, values, err) < 0 || afford (evidence, counters_offset, &tally, err) < 0)
        return -1;
    json_object_foreach (values, name, value)
        put_counter (evidence, name, (uint64_t) json_integer_value (value));
    return 0;
}

int evidence_add_counter (struct evidence *evidence, const char *name, uint64_t value, struct err *err)
{
    struct tally tally = { .added = !number_find (&evidence->result.counters, text_of (name)),
                           .cost_bytes = cost_of (strlen (name), 0) };
    if (tally.added && afford (evidence, counters_offset, &tally, err) < 0)
        return -1;
    put_counter (evidence, name, value);
    return 0;
}
