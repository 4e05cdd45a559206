#include "coordinator/cli/cache.h"

#include "common/cache/audit.h"
#include "common/cache/storage.h"
#include "common/io/clock.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { OF_TOKEN, OF_STATE, OF_SIZE, OF_ENTRIES, OF_RUNGS, OF_WRITER, OF_RUN, OF_TIME, COLUMNS_N };
static const struct line_column columns[COLUMNS_N] = {
    [OF_TOKEN] = { "number", 10 },   [OF_STATE] = { "state", 11 },    [OF_SIZE] = { "size", 11 },
    [OF_ENTRIES] = { "entries", 9 }, [OF_RUNGS] = { "covers", 26 },   [OF_WRITER] = { "writer", 14 },
    [OF_RUN] = { "run", 10 },        [OF_TIME] = { "handed out", 0 },
};

/* One generation, as the catalogue and the folder have it. */
struct row {
    const struct catalogue_entry *entry;
    bool lies; /* a folder of it is there */
    uint64_t bytes;
    uint32_t entries;
};

/* What lies in one bundle: generations, as `all` has them from `first` on, and folders of single hosts. */
struct ls_family {
    struct text bundle;
    uint32_t first, n;
    struct host_cache *own;
    uint32_t own_n;
};

struct listing {
    const struct cli *cli;
    const char *root;
    char storage[STORAGE_ID_BYTES];
    struct catalogue_list all;
    struct row *rows;           /* as `all` */
    struct ls_family *families; /* by bundle */
    uint32_t families_n;
    uint32_t nameless; /* generations that lie there, and no catalogue knows of their bundle */
    struct arena *arena;
    uint64_t now_ms;
};

/* ---- looking ---- */

static void take_stored (struct listing *list, uint32_t first, const struct generation_stat *stored, uint32_t n)
{
    for (uint32_t i = first, k = 0;
         i < list->all.n && text_equal (list->all.items[i].bundle, list->all.items[first].bundle); i++) {
        struct row *row = &list->rows[i];
        row->entry = &list->all.items[i];
        while (k < n && stored[k].token < row->entry->token)
            k++;
        row->lies = k < n && stored[k].token == row->entry->token;
        row->bytes = row->lies ? stored[k].bytes : 0;
        row->entries = row->lies ? stored[k].entries : 0;
        if (row->entry->published.token) {
            row->bytes = row->entry->published.bytes;
            row->entries = row->entry->published.entries;
        }
    }
}

static struct ls_family *add_ls_family (struct listing *list, struct text bundle, uint32_t first)
{
    struct ls_family *family = &list->families[list->families_n++];
    *family = (struct ls_family){ .bundle = bundle, .first = first };
    return family;
}

/* The catalogue's first, then those of which only folders are there. */
static void take_folders (struct listing *list, const struct text *bundles, uint32_t n)
{
    list->families_n = 0;
    list->families = arena_array (list->arena, list->all.n + n, sizeof *list->families);
    for (uint32_t i = 0; i < list->all.n; i++) {
        struct text bundle = list->all.items[i].bundle;
        bool same = i > 0 && text_equal (bundle, list->all.items[i - 1].bundle);
        struct ls_family *family = same ? &list->families[list->families_n - 1] : add_ls_family (list, bundle, i);
        family->n++;
    }
    uint32_t known = list->families_n;
    for (uint32_t i = 0; i < n; i++) {
        struct ls_family asked = { .bundle = bundles[i] };
        if (!known || !bsearch (&asked, list->families, known, sizeof asked, text_order))
            add_ls_family (list, bundles[i], 0);
    }
    sort_items (list->families, list->families_n, sizeof *list->families, text_order);
}

static int cache_ls_look_at (struct listing *list, struct ls_family *family, struct err *err)
{
    struct generation_stat *stored = NULL;
    uint32_t n = 0;
    struct text path = text_format (list->arena, "%s/%.*s", list->root, TEXT_ARG (family->bundle));
    if ((family->n || !list->all.n) && audit_list_generations (path, list->arena, &stored, &n, err) != 0)
        return -1;
    if (family->n)
        take_stored (list, family->first, stored, n);
    list->nameless += family->n ? 0 : n;
    return cache_list_per_host (list->root, family->bundle, list->arena, &family->own, &family->own_n, err);
}

static int cache_ls_look (struct listing *list, struct err *err)
{
    struct text *bundles = NULL;
    uint32_t n = 0, kept = 0;
    list->rows = arena_array (list->arena, list->all.n, sizeof *list->rows);
    if (cache_list_families (list->root, list->arena, &bundles, &n, err) != 0)
        return -1;
    take_folders (list, bundles, n);
    for (uint32_t i = 0; i < list->families_n; i++) {
        if (cache_ls_look_at (list, &list->families[i], err) != 0)
            return -1;
        if (list->families[i].n || list->families[i].own_n)
            list->families[kept++] = list->families[i];
    }
    list->families_n = kept;
    return 0;
}

/* ---- JSON ---- */

static json_t *users_json (const struct catalogue_entry *entry)
{
    json_t *array = json_array ();
    for (uint32_t i = 0; i < entry->users.n; i++) {
        const struct generation_user *user = &entry->users.items[i];
        json_array_append_new (array, json_pack ("{s:o, s:o, s:o}", "run", escaped_json (user->run), "home",
                                                 escaped_json (user->home), "machine", escaped_json (user->machine)));
    }
    return array;
}

static json_t *row_json (struct listing *list, const struct row *row)
{
    const struct catalogue_entry *entry = row->entry;
    const struct fact_generation *published = &entry->published;
    bool sealed = published->token != 0;
    return json_pack ("{s:I, s:s, s:b, s:o, s:o, s:o, s:o, s:I, s:b, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "generation",
                      (json_int_t) entry->token, "state", enum_name_of (&generation_state_names, entry->state),
                      "leased", entry->leased, "why", text_or_null_json (entry->why), "run",
                      text_or_null_json (entry->run), "handed_out_wall_ms", number_or_null_json (entry->wall_ms),
                      "handed_out", time_json (entry->wall_ms), "bytes", (json_int_t) row->bytes, "lies_there",
                      row->lies, "entries", (json_int_t) row->entries, "sha256", text_or_null_json (published->sha256),
                      "from_run", text_or_null_json (published->from_run), "writer",
                      sealed ? escaped_json (cache_writer_name (list->cli->home, entry, list->arena)) : json_null (),
                      "covers", texts_json (published->covers.items, published->covers.n), "users", users_json (entry),
                      "compile_ms", number_or_null_json (published->compile_ms));
}

static json_t *ls_family_json (struct listing *list, const struct ls_family *family)
{
    json_t *generations = json_array (), *own = json_array ();
    for (uint32_t i = 0; i < family->n; i++)
        json_array_append_new (generations, row_json (list, &list->rows[family->first + i]));
    for (uint32_t i = 0; i < family->own_n; i++) {
        const struct host_cache *one = &family->own[i];
        json_array_append_new (own, json_pack ("{s:o, s:I, s:I, s:b}", "host", escaped_json (one->host), "bytes",
                                               (json_int_t) one->bytes, "entries", (json_int_t) one->entries,
                                               "looked_into", !one->closed));
    }
    return json_pack ("{s:o, s:o, s:o}", "bundle", escaped_json (family->bundle), "generations", generations, "hosts",
                      own);
}

static int cache_ls_show_json (struct listing *list)
{
    json_t *bundles = json_array ();
    for (uint32_t i = 0; i < list->families_n; i++)
        json_array_append_new (bundles, ls_family_json (list, &list->families[i]));
    return cli_print_json (
        list->cli, "sliceup.cache-ls/1",
        json_pack ("{s:s, s:s, s:o}", "root", list->root, "storage", list->storage, "bundles", bundles));
}

/* ---- text ---- */

static enum paint paint_of (const struct catalogue_entry *entry)
{
    switch (entry->state) {
    case GENERATION_PUBLISHED: return PAINT_GOOD;
    case GENERATION_DROPPED: return PAINT_BAD;
    case GENERATION_GRANTED: return PAINT_STRONG;
    default: return PAINT_FAINT;
    }
}

static struct text used_by (const struct catalogue_entry *entry, struct arena *arena)
{
    enum { SHOWN = 3 };
    struct buf out = { .max = 4096 };
    for (uint32_t i = 0; i < entry->users.n && i < SHOWN; i++)
        buf_printf (&out, "%s%.8s on %.*s", i ? ", " : "used by ", entry->users.items[i].run.ptr,
                    TEXT_ARG (entry->users.items[i].machine));
    if (entry->users.n > SHOWN)
        buf_printf (&out, " and %u more", entry->users.n - SHOWN);
    if (entry->leased)
        buf_printf (&out, "%sleased by %.8s", out.len ? "; " : "", entry->run.ptr);
    if (entry->why.len)
        buf_printf (&out, "%s%.*s", out.len ? "; " : "", TEXT_ARG (entry->why));
    return buf_finish (&out, arena);
}

/* Abandoned generations in a row that have no files share a line. */
static uint32_t cache_ls_alike (const struct listing *list, uint32_t first)
{
    uint32_t n = 1;
    const struct row *row = &list->rows[first];
    if (row->entry->state != GENERATION_ABANDONED || row->lies)
        return 1;
    while (first + n < list->all.n && list->rows[first + n].entry->state == GENERATION_ABANDONED &&
           !list->rows[first + n].lies && text_equal (list->rows[first + n].entry->bundle, row->entry->bundle))
        n++;
    return n;
}

static void add_numbers (struct listing *list, struct line *line, const struct row *row)
{
    const struct catalogue_entry *entry = row->entry;
    bool sealed = entry->published.token != 0;
    uint64_t age_ms = list->now_ms > entry->wall_ms ? list->now_ms - entry->wall_ms : 0;
    struct text rungs = sealed ? cache_covered_rungs (&entry->published, list->arena) : TEXT_LIT ("-");
    struct text writer = sealed ? cache_writer_name (list->cli->home, entry, list->arena) : TEXT_LIT ("-");
    line_column (line, &columns[OF_SIZE], text_of (SIZE_TEXT (row->bytes)));
    line_column (line, &columns[OF_ENTRIES], text_format (list->arena, "%u", row->entries));
    line_column (line, &columns[OF_RUNGS], rungs);
    line_column (line, &columns[OF_WRITER], writer);
    line_column (line, &columns[OF_RUN], text_clip (sealed ? entry->published.from_run : entry->run, 8));
    line_printf (line, "%s ago", DURATION_TEXT (age_ms));
}

/* On a line of its own: a terminal's width is used up by then. */
static void add_users (struct listing *list, const struct row *row, const struct style *style, struct buf *out)
{
    struct text words = used_by (row->entry, list->arena);
    if (words.len == 0)
        return;
    struct line line = line_begin (out, style);
    line_pad (&line, 2 + columns[OF_TOKEN].columns);
    line_text (&line, words);
    line_end (&line);
}

static void cache_ls_add_row (struct listing *list, uint32_t at, uint32_t n, const struct style *style, struct buf *out)
{
    struct line line = line_begin (out, style);
    const struct row *row = &list->rows[at];
    struct text last = n > 1 ? text_format (list->arena, "-%" PRIu64, list->rows[at + n - 1].entry->token)
                             : TEXT_LIT ("");
    line_puts (&line, "  ");
    line_column (&line, &columns[OF_TOKEN],
                 text_format (list->arena, "%" PRIu64 "%.*s", row->entry->token, TEXT_ARG (last)));
    line_paint (&line, paint_of (row->entry));
    line_column (&line, &columns[OF_STATE], text_of (enum_name_of (&generation_state_names, row->entry->state)));
    line_paint (&line, PAINT_NONE);
    if (!row->lies && row->entry->state == GENERATION_ABANDONED)
        line_puts (&line, n > 1 ? "no files of these generations exist" : "no files of this generation exist");
    else if (!row->lies && row->entry->published.token)
        line_puts (&line, "its folder is missing: see sliceup cache verify");
    else
        add_numbers (list, &line, row);
    line_end (&line);
    if (n == 1)
        add_users (list, row, style, out);
}

static void add_bundle (struct text bundle, const struct style *style, struct buf *out)
{
    struct line line = line_begin (out, style);
    uint32_t slash = 0;
    bool two = text_find (bundle, TEXT_LIT ("/"), &slash);
    line_paint (&line, PAINT_STRONG);
    line_text (&line, bundle);
    line_paint (&line, PAINT_NONE);
    if (two)
        line_printf (&line, "   frontend %.*s, fingerprint %.*s", (int) slash, bundle.ptr,
                     (int) (bundle.len - slash - 1), bundle.ptr + slash + 1);
    line_end (&line);
}

static void add_own (const struct host_cache *own, struct arena *arena, const struct style *style, struct buf *out)
{
    struct line line = line_begin (out, style);
    line_puts (&line, "  ");
    line_column (&line, &columns[OF_TOKEN], TEXT_LIT ("-"));
    line_column (&line, &columns[OF_STATE], TEXT_LIT ("per-host"));
    line_column (&line, &columns[OF_SIZE], own->closed ? TEXT_LIT ("?") : text_of (SIZE_TEXT (own->bytes)));
    line_column (&line, &columns[OF_ENTRIES], own->closed ? TEXT_LIT ("?") : text_format (arena, "%u", own->entries));
    line_text (&line, text_format (arena, "host-%.*s: used by this host only%s", TEXT_ARG (own->host),
                                   own->closed ? "; this user may not read it" : ""));
    line_end (&line);
}

static void add_title (const struct listing *list, const struct style *style, struct buf *out)
{
    uint64_t bytes = 0;
    uint32_t published = 0, own = 0;
    struct line line = line_begin (out, style);
    for (uint32_t i = 0; i < list->all.n; i++) {
        bytes += list->rows[i].lies ? list->rows[i].bytes : 0;
        published += list->all.items[i].state == GENERATION_PUBLISHED;
    }
    for (uint32_t i = 0; i < list->families_n; i++)
        for (uint32_t k = 0; k < list->families[i].own_n; k++, own++)
            bytes += list->families[i].own[k].bytes;
    line_printf (&line, "%s (storage %s): generations published: %u, ", list->root, list->storage, published);
    if (own)
        line_printf (&line, "caches of single hosts: %u, ", own);
    line_printf (&line, "%s in all", SIZE_TEXT (bytes));
    line_end (&line);
}

static void add_ls_family_text (struct listing *list, const struct ls_family *family, const struct style *style,
                                struct buf *out)
{
    add_bundle (family->bundle, style, out);
    line_print_heads (out, style, "  ", columns, COLUMNS_N);
    for (uint32_t i = 0, n; i < family->n; i += n) {
        n = cache_ls_alike (list, family->first + i);
        cache_ls_add_row (list, family->first + i, n, style, out);
    }
    for (uint32_t i = 0; i < family->own_n; i++)
        add_own (&family->own[i], list->arena, style, out);
}

static int cache_ls_show_text (struct listing *list)
{
    struct style style = cli_detect_style (list->cli);
    struct buf out = { .max = CLI_ANSWER_MAX_BYTES };
    add_title (list, &style, &out);
    if (list->families_n == 0)
        buf_puts (&out, "this cache is empty\n");
    for (uint32_t i = 0; i < list->families_n; i++)
        add_ls_family_text (list, &list->families[i], &style, &out);
    return cli_write_stdout (list->cli, &out);
}

/* ---- both ---- */

/* Per-host caches need no catalogue; where generations are without one, it was lost. */
static bool needs_no_catalogue (struct listing *list)
{
    struct stat st;
    const char *path = text_format (list->arena, "%s/catalogue.db", list->root).ptr;
    return lstat (path, &st) != 0 && errno == ENOENT && storage_id (list->root, false, list->storage, NULL) == 0 &&
           cache_ls_look (list, NULL) == 0 && list->families_n && !list->nameless;
}

static int list_root (struct listing *list, struct err *err)
{
    if (needs_no_catalogue (list))
        return 0;
    struct catalogue *catalogue = catalogue_open_read_only (list->root, err);
    if (!catalogue)
        return -1;
    int rc = catalogue_list (catalogue, TEXT_LIT (""), list->arena, &list->all, err);
    catalogue_close (catalogue);
    if (rc == 0)
        rc = storage_id (list->root, false, list->storage, err);
    return rc == 0 ? cache_ls_look (list, err) : -1;
}

int cache_ls (struct cli *cli, const struct cache_request *request, struct cache_location *target)
{
    struct listing list = { .cli = cli, .root = target->root, .arena = &target->arena, .now_ms = clock_wall_ms () };
    struct err err = { 0 };
    if (list_root (&list, &err) != 0)
        return cli_fail (cli, &err);
    return request->json ? cache_ls_show_json (&list) : cache_ls_show_text (&list);
}
