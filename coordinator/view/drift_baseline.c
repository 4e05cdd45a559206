/* drift_baseline.c - a receipt kept to be compared with: what no comparison looks at is left out, and a digest over the
 * rest shows a file that was cut, edited or merged by a version control. */
#include "coordinator/view/drift_json.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/digest.h"
#include "coordinator/receipt/merge.h"
#include "coordinator/view/receipt_text.h"
#include "coordinator/view/record_json.h"

static const char schema[] = "sliceup.drift-baseline/2";
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
    json_t *file = json_pack ("{s:s, s:s, s:o}", "schema", schema, "sha256", hex, "receipt", body);
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
    if (found && strcmp (found, schema) == 0)
        rc = read_baseline (json, out, arena, err);
    else if (found && strncmp (found, "sliceup.drift-baseline/", 23) == 0)
        rc = err_set (err, ERR_PARSE,
                      "the baseline is of another version (%.60s), expected %s; save it again with --save", found,
                      schema);
    else
        rc = receipt_from_json (bytes, out, arena, err);
    json_decref (json);
    return rc;
}
