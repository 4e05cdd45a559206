/* evidence_lines.c - a program's named values: versions, variables, facts, counters. Later values replace earlier ones;
 * a line is taken whole or not at all, since one that breaks a rule is no evidence. */
#include "worker/protocol/evidence.h"

#include <math.h>
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

static int evidence_lines_check_name (const char *name, struct err *err)
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

static struct text shown_value (const json_t *value)
{
    struct text whole = { json_string_value (value), (uint32_t) json_string_length (value) };
    return text_clip (whole, TEXT_MAX_BYTES);
}

static int weigh_var (const var_list *list, const char *name, const json_t *value, struct tally *tally, struct err *err)
{
    if (!json_is_string (value))
        return err_set (err, ERR_PARSE, "%.100s: expected a string", name);
    if (evidence_lines_check_name (name, err) < 0)
        return -1;
    const struct var *known = LIST_FIND (*list, struct var, name, text_of (name));
    tally->added += !known;
    tally->cost_bytes += cost_of (strlen (name), shown_value (value).len);
    tally->freed_bytes += known ? cost_of (known->name.len, known->value.len) : 0;
    return 0;
}

static void put_var (struct evidence *evidence, size_t offset, const char *name, const json_t *value)
{
    struct text shown = shown_value (value);
    struct var *known = LIST_FIND (*vars_at (evidence, offset), struct var, name, text_of (name));
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

/* Normalises package names (PEP 503). */
int evidence_take_bundle (struct evidence *evidence, const json_t *line, struct err *err)
{
    const json_t *items = json_object_get (line, "items");
    json_auto_t *spelled = json_is_object (items) ? json_object () : NULL;
    json_t *value;
    LOCAL_ARENA arena = { 0 };
    const char *name;
    json_object_foreach ((json_t *) items, name, value)
        json_object_set (spelled, requirement_normal_name (text_of (name), &arena).ptr, value);
    return take_vars (evidence, spelled, "items", offsetof (struct result, bundle), err);
}

int evidence_take_policy (struct evidence *evidence, const json_t *line, struct err *err)
{
    return take_vars (evidence, json_object_get (line, "observed"), "observed", offsetof (struct result, policy), err);
}

int evidence_take_fact (struct evidence *evidence, const json_t *line, struct err *err)
{
    const size_t offset = offsetof (struct result, facts);
    const json_t *name = json_object_get (line, "name"), *value = json_object_get (line, "value");
    struct tally tally = { 0 };
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
    if (evidence_lines_check_name (name, err) < 0)
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

int evidence_take_counters (struct evidence *evidence, const json_t *line, struct err *err)
{
    json_t *values = json_object_get (line, "values"), *value;
    struct tally tally = { 0 };
    const char *name;
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

/* ---- lists ---- */

/* lines of any number: checks, programs, notes. If a result has no room, unjudged ones are left out and counted; judged
 * ones are refused. */

/* ---- checks: all must hold, so one that does not is what counts ---- */

static bool evidence_lines_holds (const struct value_check *check)
{
    return fabs (check->observed - check->expected) <= check->tolerance;
}

static struct value_check *last_that_holds (struct evidence *evidence)
{
    for (uint32_t i = evidence->result.checks.n; i > 0; i--)
        if (evidence_lines_holds (&evidence->result.checks.items[i - 1]))
            return &evidence->result.checks.items[i - 1];
    return NULL;
}

/* In a full list it replaces a check that holds. */
static int put_failed (struct evidence *evidence, const struct value_check *check, struct err *err)
{
    bool full = evidence->result.checks.n == RESULT_CHECKS_MAX;
    struct value_check *other = full ? last_that_holds (evidence) : NULL;
    size_t freed_bytes = other ? json_record_wire_bytes (&check_record, other) : 0;
    if (full)
        evidence_count_left_out (evidence, "checks");
    if (full && !other)
        return 0; /* all of them fail: one more changes nothing */
    if (evidence_pay (evidence, json_record_wire_bytes (&check_record, check), freed_bytes, err) < 0)
        return -1;
    if (other)
        record_copy (&check_record, other, check, &evidence->arena);
    else
        evidence_put (evidence, offsetof (struct result, checks), check);
    return 0;
}

int evidence_take_check (struct evidence *evidence, const json_t *line, struct err *err)
{
    struct value_check check = { 0 };
    if (evidence_read_record (evidence, line, &check_record, &check, err) < 0)
        return -1;
    if (check.tolerance < 0)
        return err_set (err, ERR_PARSE, "tolerance: expected a number of at least 0");
    if (!evidence_lines_holds (&check))
        return put_failed (evidence, &check, err);
    evidence_put_if_room (evidence, offsetof (struct result, checks), RESULT_CHECKS_MAX, &check);
    return 0;
}

/* ---- programs, notes ---- */

int evidence_take_program (struct evidence *evidence, const json_t *line, struct err *err)
{
    struct program_fingerprint program = { 0 };
    if (evidence_read_record (evidence, line, &program_record, &program, err) < 0)
        return -1;
    for (uint32_t i = 0; i < evidence->result.programs.n; i++)
        if (record_equal (&program_record, &evidence->result.programs.items[i], &program))
            return 0;
    evidence_put_if_room (evidence, offsetof (struct result, programs), RESULT_PROGRAMS_MAX, &program);
    return 0;
}

int evidence_take_note (struct evidence *evidence, const json_t *line, struct err *err)
{
    struct result_note note = { 0 };
    if (evidence_read_record (evidence, line, &note_record, &note, err) < 0)
        return -1;
    if (text_is (note.source, NOTE_AT_FAILURE)) /* commands follow from it */
        return err_set (err, ERR_REFUSED, "source: '" NOTE_AT_FAILURE "' is the worker's own");
    evidence_put_if_room (evidence, offsetof (struct result, notes), RESULT_NOTES_MAX, &note);
    return 0;
}

/* ---- the backend: the last word counts ---- */

int evidence_take_backend (struct evidence *evidence, const json_t *line, struct err *err)
{
    struct observed_backend *known = &evidence->result.backend, backend = { 0 };
    size_t freed_bytes = evidence->saw_backend ? json_record_wire_bytes (&backend_record, known) : 0;
    if (evidence_read_record (evidence, line, &backend_record, &backend, err) < 0 ||
        evidence_pay (evidence, json_record_wire_bytes (&backend_record, &backend), freed_bytes, err) < 0)
        return -1;
    if (!record_equal (&backend_record, known, &backend))
        record_copy (&backend_record, known, &backend, &evidence->arena);
    evidence->saw_backend = true;
    return 0;
}

/* ---- metrics ---- */

/* metrics, each reported any number of times: keeps the last value, and folds earlier ones. Right sums of secrets are
 * the same each time. So once the last value's sums are judged, the number of earlier ones with the same sums shows how
 * many are contradicted. */

/* The fields that a canary reports: the first of a metric's table. The rest is counted here. */
static struct record said_record (void)
{
    struct record record = metric_record;
    record.fields_n = METRIC_REPORTED_FIELDS;
    return record;
}

static int no_axis_twice (const struct metric *metric, struct err *err)
{
    for (uint32_t i = 0; i < metric->axes.n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (text_equal (metric->axes.items[k], metric->axes.items[i]))
                return err_set (err, ERR_PARSE, "axes: the axis '%.*s' is given twice",
                                TEXT_ARG (metric->axes.items[i]));
    return 0;
}

static int read_metric (struct evidence *evidence, const json_t *line, struct metric *out, struct err *err)
{
    const struct record record = said_record ();
    const json_t *scope = json_object_get (line, "scope");
    const char *word = json_is_string (scope) ? json_string_value (scope) : "";
    bool global = strcmp (word, "global") == 0;
    if (!global && strcmp (word, "local") != 0)
        return err_set (err, ERR_PARSE, "scope: expected global or local");
    const json_t *said = json_object_get (line, "dtype");
    uint32_t dtype = DTYPE_FLOAT32;
    if (said && (!json_is_string (said) || !enum_value_of (&dtype_names, text_of (json_string_value (said)), &dtype)))
        return err_set (err, ERR_PARSE, "dtype: this word is not in the protocol");
    int rc = evidence_read_record (evidence, line, &record, out, err);
    out->global = global;
    out->dtype = (enum dtype) dtype;
    return rc < 0 ? rc : no_axis_twice (out, err);
}

/* ---- what went before ---- */

static struct digest sums_of (const struct metric *metric)
{
    struct digest_state *state = digest_begin ();
    bool first = metric->shards.n && metric->value == metric->shards.items[0].value;
    digest_add (state, &first, sizeof first);
    for (uint32_t i = 0; i < metric->shards.n; i++)
        digest_add (state, &metric->shards.items[i].proof, sizeof metric->shards.items[i].proof);
    return digest_end (state);
}

static struct metric_sums_tally_entry *rarest (struct metric_sums_tally *past)
{
    struct metric_sums_tally_entry *rarest = &past->seen[0];
    for (uint32_t i = 1; i < past->n; i++)
        if (past->seen[i].times < rarest->times)
            rarest = &past->seen[i];
    return rarest;
}

/* How often these sums came, with this time. */
static uint64_t count_sums (struct metric_sums_tally *past, const struct metric *metric)
{
    struct digest sums = sums_of (metric);
    for (uint32_t i = 0; i < past->n; i++)
        if (digest_equal (&past->seen[i].sums, &sums))
            return ++past->seen[i].times;
    struct metric_sums_tally_entry *place = past->n < METRIC_SUMS_MAX ? &past->seen[past->n++] : rarest (past);
    past->forgotten += place->times;
    *place = (struct metric_sums_tally_entry){ sums, 1 };
    return 1;
}

/* Values whose sums are not known any more do not count against the host. */
static void fold (struct metric_sums_tally *past, const struct metric *before, struct metric *metric)
{
    metric->earlier = before->earlier;
    if (before->earlier.count == 0)
        metric->earlier.first = before->value;
    metric->earlier.last = before->value;
    metric->earlier.count++;
    metric->earlier.alike = count_sums (past, metric) - 1 + past->forgotten;
}

/* ---- places ---- */

static bool is_required (const struct evidence *evidence, struct text name)
{
    const struct msg_run *asked = evidence->asked;
    return asked && text_is_among (name, asked->rung.metrics.items, asked->rung.metrics.n);
}

static struct metric *find_metric (const struct evidence *evidence, struct text name)
{
    return LIST_FIND (evidence->result.metrics, struct metric, name, name);
}

/* Room for metrics that the rung does not require, since required ones may come last. */
static uint32_t free_places (const struct evidence *evidence)
{
    uint32_t places = RESULT_METRICS_MAX;
    for (uint32_t i = 0; evidence->asked && i < evidence->asked->rung.metrics.n && places > 0; i++)
        places -= !find_metric (evidence, evidence->asked->rung.metrics.items[i]);
    return places;
}

static int say_first (struct evidence *evidence, const struct metric *metric, struct err *err)
{
    const size_t offset = offsetof (struct result, metrics);
    uint32_t n = evidence->result.metrics.n;
    if (!is_required (evidence, metric->name))
        evidence_put_if_room (evidence, offset, free_places (evidence), metric);
    else if (!evidence_next_slot (evidence, offset, err) ||
             evidence_pay (evidence, json_record_wire_bytes (&metric_record, metric), 0, err) < 0)
        return -1;
    else
        evidence_put (evidence, offset, metric);
    if (evidence->result.metrics.n > n)
        count_sums (&evidence->pasts[n], metric);
    return 0;
}

static int say_again (struct evidence *evidence, struct metric *before, struct metric *metric, struct err *err)
{
    if (!metric_claims_agree (before, metric))
        return err_set (err, ERR_REFUSED, "this metric was sent before with another reduction, scope, dtype or axes");
    size_t freed_bytes = json_record_wire_bytes (&metric_record, before);
    if (evidence_pay (evidence, json_record_wire_bytes (&metric_record, metric), freed_bytes, err) < 0)
        return -1;
    fold (&evidence->pasts[before - evidence->result.metrics.items], before, metric);
    record_copy (&metric_record, before, metric, &evidence->arena);
    return 0;
}

int evidence_take_metric (struct evidence *evidence, const json_t *line, struct err *err)
{
    struct metric metric = { 0 };
    if (read_metric (evidence, line, &metric, err) < 0)
        return -1;
    if (evidence_lacks_backend (evidence))
        return err_set (err, ERR_REFUSED, "this line was sent before the backend line");
    struct metric *before = find_metric (evidence, metric.name);
    return before ? say_again (evidence, before, &metric, err) : say_first (evidence, &metric, err);
}
