#include <string.h>

#include "coordinator/story/frontier.h"
#include "coordinator/view/receipt_text.h"
#include "coordinator/view/record_json.h"

enum { RECEIPT_JSON_MAX_BYTES = 512 << 20 };
static const char schema[] = "sliceup.receipt/2";

static json_t *rung_name (const struct run_header *header, int rung)
{
    return rung < 0 ? json_null () : text_json (header->rungs.items[rung]);
}

static json_t *host_frontier (const struct run_header *header, const struct host_receipt *host)
{
    struct frontier frontier = frontier_of_host (header, host);
    return json_pack ("{s:o, s:o, s:o}", "first_passing", rung_name (header, frontier.first_passing), "highest_passing",
                      rung_name (header, frontier.highest_passing), "next_failing",
                      rung_name (header, frontier.next_failing));
}

/* Which hosts make the slice stand there: those that passed it, or those that did not (cascades only if all are). */
static json_t *rung_hosts (const struct slice_receipt *receipt, struct text rung, bool passed)
{
    LOCAL_MEM struct text *names = mem_array (receipt->hosts.n, sizeof (*names));
    for (int with_cascades = 0; with_cascades < 2; with_cascades++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < receipt->hosts.n; i++) {
            enum outcome outcome = frontier_rung_outcome (&receipt->hosts.items[i], rung);
            bool failed = outcome > OUTCOME_NOT_REACHED && (outcome != OUTCOME_CASCADE || with_cascades);
            if (passed ? outcome == OUTCOME_PASSED : failed)
                names[n++] = receipt->hosts.items[i].host;
        }
        if (n > 0 || with_cascades)
            return folded_hosts_json (names, n);
    }
    return json_null (); /* not reached: the second round always answers */
}

static json_t *slice_place (const struct slice_receipt *receipt, const struct run_header *header, int rung, bool passed)
{
    if (rung < 0)
        return json_null ();
    return json_pack ("{s:o, s:o}", "rung", rung_name (header, rung), "hosts",
                      rung_hosts (receipt, header->rungs.items[rung], passed));
}

static json_t *slice_frontier (const struct slice_receipt *receipt, const struct run_header *header)
{
    struct frontier frontier = frontier_of_slice (header, receipt);
    return json_pack ("{s:o, s:o, s:o}", "first_passing", slice_place (receipt, header, frontier.first_passing, true),
                      "highest_passing", slice_place (receipt, header, frontier.highest_passing, true), "next_failing",
                      slice_place (receipt, header, frontier.next_failing, false));
}

static json_t *mesh_json (const struct run_header *header)
{
    json_t *mesh = json_object ();
    for (uint32_t i = 0; i < header->mesh.n; i++)
        json_object_setn_new (mesh, header->mesh.items[i].axis.ptr, header->mesh.items[i].axis.len,
                              json_integer (header->mesh.items[i].size));
    return mesh;
}

/* ---- what a receipt does not know is null (docs/spec/receipt.md) ---- */

/* By the names of records and members: numbers whose 0 means that nobody said. */
static const char *const unknown_at_0[][2] = {
    { "header", "began_wall_ms" },   { "header", "ended_wall_ms" }, { "memory", "peak_bytes" },
    { "memory", "predicted_bytes" }, { "sighting", "line" },        { "memory", "device_peak_bytes" },
    { "generation", "compile_ms" },  { "violation", "since" },      { "violation", "token" },
    { "finding", "token" },          { "rung", "attempt" },         { "key of a program", "compile_ms" },
};
/* Members of an attempt that only its host counts. */
static const char *const counted[] = { "duration_ms",  "output_bytes", "dropped_bytes",
                                       "unsent_bytes", "strays",       "bad_lines" };

static bool number_is_unknown (const struct record *record, const struct field *field)
{
    for (size_t i = 0; i < sizeof unknown_at_0 / sizeof unknown_at_0[0]; i++)
        if (strcmp (record->name, unknown_at_0[i][0]) == 0 && strcmp (field->name, unknown_at_0[i][1]) == 0)
            return true;
    return false;
}

/* Its host was lost before it reported, or there was no attempt. An attempt whose result came took some time. */
static bool nobody_counted (const struct rung_receipt *rung, const struct field *field)
{
    return rung->outcome && rung->duration_ms == 0 && (rung->outcome == OUTCOME_LOST || rung->attempt == 0) &&
           text_is_word (text_of (field->name), counted, sizeof counted / sizeof counted[0]);
}

static bool is_unknown (const struct record *record, const void *value, const struct field *field)
{
    const void *at = (const char *) value + field->offset;
    switch (field->kind) {
    case FIELD_TEXT: return ((const struct text *) at)->len == 0;
    case FIELD_U32:
    case FIELD_U64:
        return (field_is_empty (field, at) && number_is_unknown (record, field)) ||
               (record == &rung_receipt_record && nobody_counted (value, field));
    case FIELD_RECORD:
        return (field->of == &backend_record && ((const struct observed_backend *) at)->platform.len == 0) ||
               (field->of == &run_origin_record && ((const struct run_origin *) at)->host.len == 0);
    default: return false;
    }
}

/* ---- ladder ---- */

static json_t *hosts_by_outcome (const struct slice_receipt *receipt, struct text rung, enum outcome *worst)
{
    json_t *object = json_object ();
    LOCAL_MEM struct text *names = mem_array (receipt->hosts.n, sizeof (*names));
    LOCAL_MEM enum outcome *of = mem_array (receipt->hosts.n, sizeof (*of));
    *worst = OUTCOME_NOT_REACHED;
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        of[i] = frontier_rung_outcome (&receipt->hosts.items[i], rung);
    for (enum outcome outcome = OUTCOME_PASSED; outcome < OUTCOME_N; outcome++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < receipt->hosts.n; i++)
            if (of[i] == outcome)
                names[n++] = receipt->hosts.items[i].host;
        if (n == 0)
            continue;
        json_object_set_new (object, enum_name_of (&outcome_names, outcome), folded_hosts_json (names, n));
        if (outcome != OUTCOME_NOT_REACHED)
            *worst = *worst == OUTCOME_NOT_REACHED ? outcome : outcome_worst (*worst, outcome);
    }
    return object;
}

static json_t *outcome_json (const struct run_header *header, enum outcome outcome)
{
    return enum_json (&outcome_names, frontier_told_outcome (header, outcome));
}

static json_t *ladder_json (const struct slice_receipt *receipt, const struct run_header *header)
{
    json_t *ladder = json_array ();
    for (uint32_t i = 0; i < header->rungs.n; i++) {
        enum outcome worst;
        json_t *by_outcome = hosts_by_outcome (receipt, header->rungs.items[i], &worst);
        uint64_t duration_ms = 0;
        uint32_t attempts = 0;
        for (uint32_t k = 0; k < receipt->times.n; k++)
            if (text_equal (receipt->times.items[k].rung, header->rungs.items[i])) {
                duration_ms += receipt->times.items[k].duration_ms;
                attempts++;
            }
        json_t *program = i < header->programs.n ? text_json (header->programs.items[i]) : json_null ();
        json_array_append_new (
            ladder,
            json_pack ("{s:o, s:o, s:o, s:o, s:i, s:I}", "rung", text_json (header->rungs.items[i]), "program", program,
                       "outcome", worst == OUTCOME_PASSED ? json_string ("passed") : outcome_json (header, worst),
                       "hosts_by_outcome", by_outcome, "attempts", (int) attempts, "duration_ms",
                       (json_int_t) duration_ms));
    }
    return ladder;
}

/* ---- cache ---- */

static json_t *enforcement_json (const struct slice_receipt *receipt, struct text run)
{
    json_t *object = json_object ();
    LOCAL_MEM struct text *names = mem_array (receipt->hosts.n, sizeof (*names));
    for (enum enforcement level = ENFORCEMENT_NONE + 1; level < ENFORCEMENT_N; level++) {
        uint32_t n = receipt_hosts_at_level (receipt, run, level, names);
        if (n > 0)
            json_object_set_new (object, enum_name_of (&enforcement_names, level), folded_hosts_json (names, n));
    }
    return object;
}

static json_t *violations_json (const struct slice_receipt *receipt, struct text run)
{
    const struct json_rules rules = { .unknown = is_unknown };
    json_t *array = json_array ();
    for (uint32_t i = 0; i < receipt->violations.n; i++) {
        if (!text_equal (receipt->violations.items[i].run, run))
            continue;
        LOCAL_BUF text = { .max = RECEIPT_JSON_MAX_BYTES };
        record_print_json (&violation_receipt_record, &receipt->violations.items[i], &rules, &text);
        json_array_append_new (array, json_loadb ((const char *) text.ptr, text.len, 0, NULL));
    }
    return array;
}

static json_t *cache_json (const struct slice_receipt *receipt, const struct run_header *header)
{
    static const struct field uids = { .kind = FIELD_LIST, .item = FIELD_U32 };
    const struct generation_receipt *generation = receipt_newest_generation (receipt, header->run);
    return json_pack ("{s:o, s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "mode", text_or_null_json (header->cache_mode),
                      "holds", receipt_cache_holds (header->cache_mode), "generation",
                      generation ? text_json (generation->bundle) : json_null (), "token",
                      generation ? json_integer ((json_int_t) generation->token) : json_null (), "writer",
                      generation
                          ? text_or_null_json (generation->writer.len ? generation->writer : header->cache_writer)
                          : json_null (),
                      "digest", generation ? text_json (generation->sha256) : json_null (), "enforcement",
                      enforcement_json (receipt, header->run), "trust", record_field_json (&uids, &header->cache_trust),
                      "violations", violations_json (receipt, header->run));
}

/* ---- conflicts ---- */

static json_t *conflicts_json (const struct slice_receipt *receipt)
{
    json_t *array = json_array ();
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        if (merge_host_has_conflict (receipt, i) &&
            (i == 0 || !text_equal (receipt->hosts.items[i].host, receipt->hosts.items[i - 1].host)))
            json_array_append_new (array,
                                   json_pack ("{s:o, s:o, s:s}", "run", text_json (receipt->hosts.items[i].run), "host",
                                              text_json (receipt->hosts.items[i].host), "what",
                                              "the host has several receipts for this run that differ; all are kept"));
    return array;
}

/* ---- hosts ---- */

static const struct run_header *header_of (const struct slice_receipt *receipt, struct text run)
{
    static const struct run_header none;
    const struct run_header *header = LIST_FIND (receipt->headers, struct run_header, run, run);
    return header ? header : &none;
}

/* ---- members beside the fields of the tables, by name ---- */

/* For people, beside the milliseconds. A run that has not ended has no exit status. */
static json_t *more_of_header (const struct run_header *header)
{
    json_t *more = json_pack ("{s:o, s:o}", "began", time_json (header->began_wall_ms), "ended",
                              time_json (header->ended_wall_ms));
    if (header->ended_wall_ms == 0)
        json_object_set_new (more, "exit_status", json_null ());
    return more;
}

/* `durability`: how long a part may be believed: until code, or model or runtime, changes; never unchecked. */
static json_t *more_of_host (const struct slice_receipt *receipt, const struct host_receipt *host)
{
    const struct run_header *header = header_of (receipt, host->run);
    bool conflict = merge_host_has_conflict (receipt, (uint32_t) (host - receipt->hosts.items));
    return json_pack ("{s:b, s:{s:s, s:s, s:s, s:s, s:s, s:s, s:s}, s:o, s:o}", "conflict", (int) conflict,
                      "durability", "setup", "stable", "bundle", "stable", "policy", "stable", "backend", "rerun",
                      "rungs", "rerun", "facts", "recheck", "notes", "each says its own", "frontier",
                      host_frontier (header, host), "outcome",
                      outcome_json (header, frontier_host_outcome (header, host)));
}

static json_t *more_of_slice (const struct slice_receipt *receipt)
{
    static const struct run_header none;
    const struct run_header *header = receipt->headers.n ? &receipt->headers.items[0] : &none;
    return json_pack ("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o}", "cache", cache_json (receipt, header),
                      "conflicts", conflicts_json (receipt), "drift", json_null (), "frontier",
                      slice_frontier (receipt, header), "ladder", ladder_json (receipt, header), "mesh",
                      mesh_json (header), "outcome", outcome_json (header, frontier_slice_outcome (header, receipt)),
                      "run", text_or_null_json (header->run), "schema", schema, "sentence",
                      text_or_null_json (header->sentence), "slice", text_or_null_json (header->slice));
}

static json_t *more_of (const void *owner, const struct record *record, const void *value)
{
    if (record == &slice_receipt_record)
        return more_of_slice (owner);
    if (record == &host_receipt_record)
        return more_of_host (owner, value);
    return record == slice_receipt_record.fields[0].of ? more_of_header (value) : NULL;
}

void receipt_json (const struct slice_receipt *receipt, const struct drift_query *drift, struct buf *out)
{
    struct drift_query all = *drift; /* also what is no finding */
    struct drift compared;
    LOCAL_ARENA arena = { 0 };
    all.all = true;
    drift_compare_hosts (receipt, &all, &arena, &compared);
    record_print_json (&slice_receipt_record, receipt,
                       &(const struct json_rules){ is_unknown, more_of, receipt, "drift", drift_json_next, &compared },
                       out);
    buf_byte (out, '\n');
}

static const char *const stored[] = { "headers",     "hosts",      "times",     "reductions",
                                      "generations", "recoveries", "violations" };

/* ---- back ---- */

static void drop_derived (json_t *receipt)
{
    static const char *const derived[] = { "outcome", "frontier", "durability", "conflict" };
    size_t i;
    json_t *host, *header;
    json_array_foreach (json_object_get (receipt, "headers"), i, header) {
        json_object_del (header, "began");
        json_object_del (header, "ended");
    }
    json_array_foreach (json_object_get (receipt, "hosts"), i, host)
        for (size_t k = 0; k < sizeof (derived) / sizeof (derived[0]); k++)
            json_object_del (host, derived[k]);
}

static int receipt_json_check_name (struct text name, struct err *err)
{
    if (host_name_valid (name))
        return 0;
    LOCAL_BUF shown = { .max = ERR_TEXT_BYTES };
    buf_escaped (&shown, name, 40);
    err_set (err, ERR_PARSE, "names a host '%s': expected up to %d letters, digits, '.', '_' and '-'", buf_c (&shown),
             HOST_NAME_MAX_BYTES);
    return -1;
}

int receipt_check_names (const struct slice_receipt *receipt, struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < receipt->headers.n; i++)
        for (uint32_t k = 0; k < receipt->headers.items[i].hosts.n && rc == 0; k++)
            rc = receipt_json_check_name (receipt->headers.items[i].hosts.items[k], err);
    for (uint32_t i = 0; i < receipt->hosts.n && rc == 0; i++)
        rc = receipt_json_check_name (receipt->hosts.items[i].host, err);
    return rc;
}

int receipt_from_json (struct text text, struct slice_receipt *out, struct arena *arena, struct err *err)
{
    json_error_t where;
    json_auto_t *json = text.len <= RECEIPT_JSON_MAX_BYTES
                            ? json_loadb (text.len ? text.ptr : "", text.len, JSON_REJECT_DUPLICATES, &where)
                            : NULL;
    if (json == NULL)
        return err_set (err, ERR_PARSE, "line %d, column %d: %s", where.line, where.column, where.text);
    const char *found = json_string_value (json_object_get (json, "schema"));
    json_auto_t *sets = json_object ();
    if (found == NULL || strcmp (found, schema) != 0)
        return err_set (err, ERR_PARSE, "not a receipt: expected \"schema\": \"%s\"", schema);
    drop_derived (json);
    for (size_t i = 0; i < sizeof (stored) / sizeof (stored[0]); i++)
        if (json_object_get (json, stored[i]))
            json_object_set (sets, stored[i], json_object_get (json, stored[i]));
    if (record_from_json (&slice_receipt_record, sets, out, arena, err) != 0 || receipt_check_names (out, err) != 0)
        return -1;
    merge_normalise (out);
    return 0;
}
