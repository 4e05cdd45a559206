#include <stdlib.h>
#include <string.h>

#include "common/base/digest.h"
#include "coordinator/receipt/merge.h"
#include "coordinator/view/drift_view.h"
#include "coordinator/view/receipt_text.h"
#include "coordinator/view/record_json.h"

enum { FOLDED_BYTES_MAX = 1 << 20 };
static const char schema[] = "sliceup.drift/1";
static const struct drift_sentence_limits whole = { 0 };

static json_t *hosts_json (const struct drift *drift, const uint32_t *hosts, uint32_t n)
{
    struct text *names = mem_array (n, sizeof (*names));
    for (uint32_t i = 0; i < n; i++)
        names[i] = drift->names[hosts[i]];
    json_t *json = folded_hosts_json (names, n);
    mem_free (names);
    return json;
}

static json_t *drift_json_group_json (const struct drift *drift, const struct drift_item *item,
                                      const struct drift_group *group)
{
    json_t *json = json_pack ("{s:o, s:o, s:i, s:b}", "value", group->absent ? json_null () : text_json (group->value),
                              "hosts", hosts_json (drift, group->hosts, group->hosts_n), "count", (int) group->hosts_n,
                              "reference", group->reference);
    if (item->verdict == DRIFT_CHANGED)
        json_object_set_new (json, "before", group->before_absent ? json_null () : text_json (group->before));
    return json;
}

static json_t *sentences_json (const struct drift *drift, const struct drift_item *item)
{
    json_t *array = json_array ();
    const struct drift_group *group;
    struct buf sentence;
    buf_init (&sentence, FOLDED_BYTES_MAX);
    for (uint32_t at = 0; (group = drift_minority_next (item, &at));) {
        buf_clear (&sentence);
        drift_sentence (drift, item, group, &whole, &sentence);
        json_array_append_new (array, text_json (buf_as_text (&sentence)));
    }
    buf_release (&sentence);
    return array;
}

json_t *drift_json_of_item (const struct drift *drift, const struct drift_item *item)
{
    json_t *groups = json_array ();
    for (uint32_t i = 0; i < item->groups_n; i++)
        json_array_append_new (groups, drift_json_group_json (drift, item, &item->groups[i]));
    bool finding = item < drift->items + drift->findings;
    json_t *json = json_pack ("{s:o, s:s, s:s, s:s, s:o, s:o}", "fact", text_json (item->fact), "compared",
                              enum_name_of (&drift_kind_names, item->kind), "verdict",
                              enum_name_of (&drift_verdict_names, item->verdict), "severity",
                              enum_name_of (&drift_severity_names, item->severity), "groups", groups, "why",
                              text_json (item->why));
    if (finding)
        json_object_set_new (json, "sentences", sentences_json (drift, item));
    if (item->pinned.len)
        json_object_set_new (json, "pinned", text_json (item->pinned));
    if (item->next.len)
        json_object_set_new (json, "next", text_json (item->next));
    if (item->measured && item->verdict != DRIFT_CHANGED) {
        json_object_set_new (json, "median", json_real (item->median));
        json_object_set_new (json, "mad", json_real (item->spread));
        json_object_set_new (json, "measured", json_integer (item->measured));
    }
    return json;
}

static json_t *silences_json (const struct drift *drift)
{
    json_t *array = json_array ();
    if (drift->silent_n)
        json_array_append_new (array, json_pack ("{s:s, s:o}", "what", "everything", "hosts",
                                                 hosts_json (drift, drift->silent, drift->silent_n)));
    if (drift->no_facts)
        json_array_append_new (array, json_pack ("{s:s, s:o}", "what", "facts", "hosts",
                                                 folded_hosts_json (drift->names, drift->hosts_n)));
    for (uint32_t i = 0; i < drift->silences_n; i++)
        json_array_append_new (array,
                               json_pack ("{s:s, s:o}", "what", drift->silences[i].what, "hosts",
                                          hosts_json (drift, drift->silences[i].hosts, drift->silences[i].hosts_n)));
    return array;
}

static json_t *first_sentence (const struct drift *drift)
{
    struct buf sentence;
    buf_init (&sentence, FOLDED_BYTES_MAX);
    drift_sentence_summary (drift, &whole, &sentence);
    return buf_take_json (&sentence);
}

static json_t *counts_json (const struct drift *drift)
{
    return json_pack ("{s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "hosts", (int) drift->hosts_n, "compared",
                      (int) drift->compared, "findings", (int) drift->findings, "left_out", (int) drift->left_out,
                      "expected", (int) drift->expected, "ignored", (int) drift->ignored, "too_few",
                      (int) drift->too_few);
}

void drift_json (const struct drift *drift, const struct drift_subject *subject, struct buf *out)
{
    json_t *findings = json_array (), *others = json_array ();
    for (uint32_t i = 0; i < drift->n; i++)
        json_array_append_new (i < drift->findings ? findings : others, drift_json_of_item (drift, &drift->items[i]));
    const char *verdict = drift->findings ? "drift" : drift_is_incomplete (drift) ? "incomplete" : "none";
    json_t *json = json_pack ("{s:s, s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "schema", schema, "run",
                              text_json (subject->name), "slice", text_json (subject->slice), "policy", subject->policy,
                              "verdict", verdict, "sentence", first_sentence (drift), "counts", counts_json (drift),
                              "findings", findings, "not_findings", others, "unreported", silences_json (drift));
    json_object_set_new (json, "against", subject->against ? json_string (subject->against) : json_null ());
    json_object_set_new (json, "reference",
                         drift->reference_n ? hosts_json (drift, drift->reference, drift->reference_n) : json_null ());
    json_object_set_new (json, "reference_tie", json_boolean (drift->tie));
    json_object_set_new (json, "by_group", json_boolean (drift->by_group));
    json_object_set_new (json, "pins_missing", json_boolean (subject->pins_missing));
    json_object_set_new (json, "only_here", hosts_json (drift, drift->only_now, drift->only_now_n));
    json_object_set_new (json, "only_before", folded_hosts_json (drift->only_before, drift->only_before_n));
    json_print_release (json, JSON_INDENT (1) | JSON_SORT_KEYS | JSON_REAL_PRECISION (15) | JSON_ENSURE_ASCII, out);
}

json_t *drift_json_of_receipt (const struct slice_receipt *receipt, const struct drift_query *asked)
{
    struct drift_query query = *asked;
    query.all = true;
    struct arena arena = { 0 };
    struct drift drift;
    json_t *array = json_array ();
    drift_compare_hosts (receipt, &query, &arena, &drift);
    for (uint32_t i = 0; i < drift.n; i++) {
        const struct drift_item *item = &drift.items[i];
        if (item->verdict == DRIFT_TOO_FEW)
            continue;
        json_t *groups = json_array ();
        for (uint32_t g = 0; g < item->groups_n; g++)
            json_array_append_new (
                groups, json_pack ("{s:o, s:o}", "value",
                                   item->groups[g].absent ? json_null () : text_json (item->groups[g].value), "hosts",
                                   hosts_json (&drift, item->groups[g].hosts, item->groups[g].hosts_n)));
        json_array_append_new (array, json_pack ("{s:o, s:o, s:s}", "fact", text_json (item->fact), "groups", groups,
                                                 "verdict", enum_name_of (&drift_verdict_names, item->verdict)));
    }
    arena_release (&arena);
    return array;
}

/* ---- the baseline ---- */

/* A receipt kept to be compared with: what no comparison looks at is left out, and a digest over the rest shows a file
 * that was cut, edited or merged by a version control. */

static const char baseline_schema[] = "sliceup.drift-baseline/2";
enum { CANONICAL = JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION (17) | JSON_ENSURE_ASCII };

static struct rung_receipt kept_rung (const struct rung_receipt *rung)
{
    struct rung_receipt kept = { .rung = rung->rung,
                                 .pass = rung->pass,
                                 .attempt = rung->attempt,
                                 .outcome = rung->outcome,
                                 .duration_ms = rung->duration_ms,
                                 .cache = rung->cache,
                                 .memory = rung->memory,
                                 .backend = rung->backend,
                                 .purpose = rung->purpose };
    kept.counters = rung->counters;
    kept.programs = rung->programs;
    kept.phases = rung->phases;
    return kept;
}

static struct host_receipt kept_host (const struct host_receipt *host, struct arena *arena)
{
    struct host_receipt kept = *host;
    kept.notes.n = 0;
    kept.rungs.items = arena_array (arena, host->rungs.n, sizeof (*kept.rungs.items));
    for (uint32_t i = 0; i < host->rungs.n; i++)
        kept.rungs.items[i] = kept_rung (&host->rungs.items[i]);
    return kept;
}

static struct slice_receipt kept_receipt (const struct slice_receipt *receipt, struct arena *arena)
{
    struct slice_receipt kept = { 0 };
    kept.headers = receipt->headers;
    kept.generations = receipt->generations;
    kept.hosts.items = arena_array (arena, receipt->hosts.n, sizeof (*kept.hosts.items));
    kept.hosts.n = receipt->hosts.n;
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        kept.hosts.items[i] = kept_host (&receipt->hosts.items[i], arena);
    return kept;
}

/* Of the canonical text: spaces and line ends of the file do not count. */
static bool digest_of_json (const json_t *json, char hex[DIGEST_HEX_BYTES])
{
    char *text = json_dumps (json, CANONICAL);
    if (!text)
        return false;
    struct digest digest = digest_of (text, strlen (text));
    digest_hex (&digest, hex);
    free (text);
    return true;
}

void drift_baseline_print (const struct slice_receipt *receipt, struct buf *out)
{
    struct arena arena = { 0 };
    char hex[DIGEST_HEX_BYTES] = "";
    struct slice_receipt kept = kept_receipt (receipt, &arena);
    json_t *body = record_to_json (&slice_receipt_record, &kept);
    digest_of_json (body, hex);
    json_t *file = json_pack ("{s:s, s:s, s:o}", "schema", baseline_schema, "sha256", hex, "receipt", body);
    json_print_release (file, JSON_INDENT (1) | JSON_SORT_KEYS | JSON_REAL_PRECISION (17) | JSON_ENSURE_ASCII, out);
    arena_release (&arena);
}

static int read_baseline (const json_t *file, struct slice_receipt *out, struct arena *arena, struct err *err)
{
    char hex[DIGEST_HEX_BYTES] = "";
    const json_t *body = json_object_get (file, "receipt");
    const char *told = json_string_value (json_object_get (file, "sha256"));
    if (!json_is_object (body) || !told || json_object_size (file) != 3)
        return err_set (
            err, ERR_DAMAGE,
            "the baseline lacks its receipt or its sha256, or has a member too many; save it again with --save");
    if (!digest_of_json (body, hex) || strcmp (hex, told) != 0)
        return err_set (
            err, ERR_DAMAGE,
            "the baseline was changed after it was saved (sha256 %.12s, expected %.12s); save it again with --save",
            hex, strlen (told) >= 12 ? told : "?");
    if (record_from_json (&slice_receipt_record, body, out, arena, err) < 0 || receipt_check_names (out, err) < 0)
        return -1;
    merge_normalise (out);
    return 0;
}

int drift_baseline_read (struct text bytes, struct slice_receipt *out, struct arena *arena, struct err *err)
{
    json_error_t where;
    int rc;
    if (bytes.len > DRIFT_FILE_MAX_BYTES)
        return err_set (err, ERR_LIMIT, "larger than %d MiB", DRIFT_FILE_MAX_BYTES >> 20);
    json_t *json = json_loadb (bytes.len ? bytes.ptr : "", bytes.len, JSON_REJECT_DUPLICATES, &where);
    if (json == NULL)
        return err_set (err, ERR_PARSE, "neither a baseline nor a receipt: line %d, column %d: %s", where.line,
                        where.column, where.text);
    const char *found = json_string_value (json_object_get (json, "schema"));
    if (found && strcmp (found, baseline_schema) == 0)
        rc = read_baseline (json, out, arena, err);
    else if (found && strncmp (found, "sliceup.drift-baseline/", 23) == 0)
        rc = err_set (err, ERR_PARSE,
                      "the baseline is of another version (%.60s), expected %s; save it again with --save", found,
                      baseline_schema);
    else
        rc = receipt_from_json (bytes, out, arena, err);
    json_decref (json);
    return rc;
}
