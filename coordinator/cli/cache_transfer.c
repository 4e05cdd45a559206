/* cache_transfer.c - export and import: the text of generation.json, and what a person is told. */
#include "coordinator/cli/cache.h"

#include "common/base/digest.h"
#include "common/frontend/frontend.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { TRANSFER_FORMAT = 1 };

/* ---- export ---- */

static const struct catalogue_entry *cache_transfer_choose (const struct catalogue_list *all, const char *which,
                                                            struct err *err)
{
    const struct catalogue_entry *chosen = NULL;
    uint64_t token = 0;
    bool number = text_to_u64 (text_of (which), &token);
    for (uint32_t i = 0; i < all->n; i++)
        if (number ? all->items[i].token == token
                   : all->items[i].state == GENERATION_PUBLISHED && text_is (all->items[i].bundle, which))
            chosen = &all->items[i]; /* of a bundle: the newest, which is listed last */
    if (!chosen)
        err_set (err, ERR_STATE,
                 "'%.100s' is neither the token of a generation nor a bundle that has a published generation; sliceup "
                 "cache ls lists them",
                 which);
    else if (chosen->state != GENERATION_PUBLISHED) {
        err_set (err, ERR_REFUSED, "generation %" PRIu64 " is %s: only published generations are exported",
                 chosen->token, enum_name_of (&generation_state_names, chosen->state));
        return NULL;
    }
    return chosen;
}

static int cache_transfer_describe (const struct cli *cli, const struct catalogue_entry *entry, struct arena *arena,
                                    struct text *out, struct err *err)
{
    struct buf json = { .max = TRANSFER_JSON_MAX_BYTES };
    json_print_release (json_pack ("{s:i, s:o, s:I, s:o}", "format", TRANSFER_FORMAT, "writer_host",
                                   escaped_json (cache_writer_name (cli->home, entry, arena)), "exported_wall_ms",
                                   (json_int_t) clock_wall_ms (), "generation",
                                   record_to_json (fact_record_of_kind (FACT_GENERATION_PUBLISHED), &entry->published)),
                        JSON_INDENT (2), &json);
    bool fits = !json.overflow;
    *out = buf_finish (&json, arena);
    return fits ? 0 : err_set (err, ERR_LIMIT, TRANSFER_JSON " would be larger than %d bytes", TRANSFER_JSON_MAX_BYTES);
}

static int say_exported (const struct cli *cli, const struct cache_request *request,
                         const struct fact_generation *generation)
{
    struct text folder = text_of (request->operands[1]);
    if (request->json)
        return cli_print_json (cli, "sliceup.cache-export/1",
                               json_pack ("{s:I, s:o, s:o, s:i, s:I, s:o}", "generation",
                                          (json_int_t) generation->token, "bundle", escaped_json (generation->bundle),
                                          "sha256", escaped_json (generation->sha256), "entries",
                                          (int) generation->entries, "bytes", (json_int_t) generation->bytes, "folder",
                                          escaped_json (folder)));
    struct buf out = { .max = CLI_ANSWER_MAX_BYTES };
    buf_printf (&out, "exported generation %" PRIu64 " of %.*s", generation->token, TEXT_ARG (generation->bundle));
    buf_escaped_after (&out, " to ", folder, 0);
    buf_printf (&out, ": %u entries, %s, manifest sha256 %.*s\n", generation->entries, SIZE_TEXT (generation->bytes),
                TEXT_ARG (generation->sha256));
    return cli_write_stdout (cli, &out);
}

/* ERR_DAMAGE here is damage of the cache; opening the catalogue reports the catalogue's own. */
static int transfer_failed (const struct cli *cli, const struct err *err)
{
    int status = cli_fail (cli, err);
    return err->code == ERR_DAMAGE ? EXIT_CACHE : status;
}

/* A gc may run meanwhile: what it removed is no damage. */
static int export_failed (const struct cli *cli, struct catalogue *catalogue, uint64_t token, struct err *err)
{
    enum generation_state state = GENERATION_PUBLISHED;
    if (catalogue_generation_state (catalogue, token, &state, NULL) == 0 && state != GENERATION_PUBLISHED)
        err_set (err, ERR_STATE, "generation %" PRIu64 " became %s during the export: nothing was exported", token,
                 state == GENERATION_DROPPED ? "quarantined" : "collected");
    return transfer_failed (cli, err);
}

static int export_from (struct cli *cli, const struct cache_request *request, const struct cache_location *target,
                        struct catalogue *catalogue, struct arena *arena)
{
    struct catalogue_list all;
    struct err err = { 0 };
    struct text json;
    if (catalogue_list (catalogue, TEXT_LIT (""), arena, &all, &err) != 0)
        return cli_fail (cli, &err);
    const struct catalogue_entry *entry = cache_transfer_choose (&all, request->operands[0], &err);
    if (!entry || cache_location_check_owners (target, entry->bundle, entry->token, &err) != 0 ||
        cache_transfer_describe (cli, entry, arena, &json, &err) != 0)
        return cli_fail (cli, &err);
    if (transfer_export (target->root, &entry->published, request->operands[1], json, &err) != 0)
        return export_failed (cli, catalogue, entry->token, &err);
    return say_exported (cli, request, &entry->published);
}

int cache_export (struct cli *cli, const struct cache_request *request, struct cache_location *target)
{
    struct err err = { 0 };
    struct catalogue *catalogue = catalogue_open_read_only (target->root, &err);
    if (!catalogue)
        return cli_fail (cli, &err);
    int status = export_from (cli, request, target, catalogue, &target->arena);
    catalogue_close (catalogue);
    return status;
}

/* ---- import ---- */

/* Rungs of `newest` that `claim` does not cover, each once; empty: none. */
static struct text uncovered (const struct fact_generation *newest, const struct fact_generation *claim,
                              struct arena *arena)
{
    struct fact_generation rest = { 0 };
    rest.covers.items = arena_array (arena, newest->covers.n, sizeof *rest.covers.items);
    for (uint32_t i = 0; i < newest->covers.n; i++)
        if (!text_is_among (newest->covers.items[i], claim->covers.items, claim->covers.n))
            rest.covers.items[rest.covers.n++] = newest->covers.items[i];
    return cache_covered_rungs (&rest, arena);
}

/* Runs use the newest generation only: say what the import changes for them. */
static void say_newest (const struct cli *cli, const struct fact_generation *newest,
                        const struct fact_generation *claim, uint64_t token, bool before, struct arena *arena)
{
    if (before && newest->token > token)
        log_print (&cli->log, "generation %" PRIu64 " is newer: runs use that one, not %" PRIu64, newest->token, token);
    struct text rest = before ? TEXT_LIT ("") : uncovered (newest, claim, arena);
    if (rest.len)
        log_print (&cli->log,
                   "generation %" PRIu64 ", the newest until now, also covers %.*s; runs now use generation %" PRIu64
                   ", and compile those rungs again",
                   newest->token, TEXT_ARG (text_clip (rest, 200)), token);
}

static int bad_claim (struct err *err, const char *what)
{
    return err_set (err, ERR_DAMAGE, TRANSFER_JSON " is refused: %s", what);
}

/* The bundle becomes a folder below the cache root: a known frontend, a fingerprint as core/state.c makes it. */
static int check_bundle (struct text bundle, struct err *err)
{
    uint32_t slash;
    if (!text_find (bundle, TEXT_LIT ("/"), &slash) || !frontend_find ((struct text){ bundle.ptr, slash }))
        return bad_claim (err, "its cache family (bundle) does not begin with the name of a frontend and '/'");
    struct text print = { bundle.ptr + slash + 1, bundle.len - slash - 1 };
    bool hex = print.len >= 8 && print.len <= 64;
    for (uint32_t i = 0; i < print.len && hex; i++)
        hex = strchr ("0123456789abcdef", print.ptr[i]) && print.ptr[i];
    return hex ? 0
               : bad_claim (err,
                            "its cache family (bundle) does not end with '/' and a fingerprint of 8 to 64 hex digits");
}

static int check_claim (const struct fact_generation *claim, struct err *err)
{
    struct digest digest;
    if (!digest_parse (claim->sha256, &digest))
        return bad_claim (err, "its sha256 is not valid");
    if (!run_id_valid (claim->from_run))
        return bad_claim (err, "the run that made it (from_run) is not a run id");
    return claim->token == 0 ? bad_claim (err, "its generation has no token") : check_bundle (claim->bundle, err);
}

static int read_claim (const json_t *json, struct fact_generation *claim, struct arena *arena, struct err *err)
{
    struct err own = { 0 };
    json_int_t format = json_integer_value (json_object_get (json, "format"));
    const json_t *generation = json_object_get (json, "generation");
    if (!json_is_object (json) || !json_is_object (generation))
        return bad_claim (err, "sliceup cache export did not write it");
    if (format != TRANSFER_FORMAT)
        return err_set (err, ERR_STATE, TRANSFER_JSON " has format %lld, but this sliceup reads format %d",
                        (long long) format, TRANSFER_FORMAT);
    if (record_from_json (fact_record_of_kind (FACT_GENERATION_PUBLISHED), generation, claim, arena, &own) != 0)
        return bad_claim (err, own.text);
    return check_claim (claim, err);
}

static int load_claim (const char *folder, struct fact_generation *claim, struct arena *arena, struct err *err)
{
    json_error_t where;
    int rc = -1;
    const char *path = text_format (arena, "%s/" TRANSFER_JSON, folder).ptr;
    LOCAL_BUF text = { .max = TRANSFER_JSON_MAX_BYTES };
    if (access (path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        err_set (err, ERR_STATE, "there is no %s, expected a folder that sliceup cache export made", path);
    } else if (file_read (path, &text, err) == 0) {
        json_t *json = json_loadb ((const char *) text.ptr, text.len, JSON_REJECT_DUPLICATES, &where);
        if (json)
            rc = read_claim (json, claim, arena, err);
        else
            bad_claim (err, where.text);
        json_decref (json);
    }
    return rc;
}

static int say_imported (const struct cli *cli, const struct cache_request *request,
                         const struct cache_location *target, const struct fact_generation *claim, uint64_t token,
                         bool before)
{
    if (request->json)
        return cli_print_json (cli, "sliceup.cache-import/1",
                               json_pack ("{s:I, s:b, s:o, s:o, s:i, s:I, s:s}", "generation", (json_int_t) token,
                                          "was_here_before", before, "bundle", escaped_json (claim->bundle), "sha256",
                                          escaped_json (claim->sha256), "entries", (int) claim->entries, "bytes",
                                          (json_int_t) claim->bytes, "root", target->root));
    struct buf out = { .max = CLI_ANSWER_MAX_BYTES };
    buf_escaped_after (&out, before ? "" : "imported into ", text_of (target->root), 0);
    buf_puts (&out, before ? " already has this generation, as" : " as");
    buf_printf (&out, " generation %" PRIu64 " of %.*s: ", token, TEXT_ARG (claim->bundle));
    if (before)
        buf_puts (&out, "nothing was imported\n");
    else
        buf_printf (&out, "%u entries, %s, every byte verified\n", claim->entries, SIZE_TEXT (claim->bytes));
    return cli_write_stdout (cli, &out);
}

int cache_import (struct cli *cli, const struct cache_request *request, struct cache_location *target)
{
    struct arena *arena = &target->arena;
    struct fact_generation claim = { 0 }, newest = { 0 };
    struct err err = { 0 };
    uint64_t token = 0;
    bool before = false;
    if (load_claim (request->operands[0], &claim, arena, &err) != 0)
        return transfer_failed (cli, &err);
    struct catalogue *catalogue = catalogue_open (target->root, &err);
    if (!catalogue)
        return cli_fail (cli, &err);
    struct import_request wanted = {
        .root = target->root, .from = request->operands[0], .claim = &claim, .log = &cli->log
    };
    bool known = cache_location_check_owners (target, claim.bundle, 0, &err) == 0 &&
                 catalogue_find_newest (catalogue, claim.bundle, &newest, arena, &err) == 0;
    int rc = known ? transfer_import (catalogue, &wanted, &token, &before, &err) : -1;
    catalogue_close (catalogue);
    if (rc != 0)
        return known ? transfer_failed (cli, &err) : cli_fail (cli, &err);
    say_newest (cli, &newest, &claim, token, before, arena);
    return say_imported (cli, request, target, &claim, token, before);
}
