#include "coordinator/cli/cache.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/duration.h"
#include "common/cache/audit.h"
#include "common/cache/storage.h"
#include "common/io/clock.h"
#include "coordinator/cli/terminal.h"
#include "coordinator/view/size.h"

enum { TOKEN_COLUMNS = 10, STATE_COLUMNS = 11, SIZE_COLUMNS = 11, ENTRIES_COLUMNS = 9, RUNGS_COLUMNS = 26, WRITER_COLUMNS = 14,
       RUN_COLUMNS = 10, WHEN_COLUMNS = 13 };

/* One generation, as the catalogue and the folder have it. */
struct row {
    const struct catalogue_entry *entry;
    bool lies;              /* a folder of it is there */
    uint64_t bytes;
    uint32_t entries;
};

struct listing {
    const struct cli *cli;
    const char *root;
    char storage[STORAGE_ID_BYTES];
    struct catalogue_list all;
    struct row *rows;       /* as `all` */
    struct arena arena;
    uint64_t now_ms;
};

/* ---- looking ---- */

static void take_lying (struct listing *list, uint32_t first, const struct lying *lying, uint32_t n)
{
    for (uint32_t i = first, k = 0; i < list->all.n && text_equal (list->all.items[i].bundle, list->all.items[first].bundle); i++) {
        struct row *row = &list->rows[i];
        row->entry = &list->all.items[i];
        while (k < n && lying[k].token < row->entry->token)
            k++;
        row->lies = k < n && lying[k].token == row->entry->token;
        row->bytes = row->lies ? lying[k].bytes : 0;
        row->entries = row->lies ? lying[k].entries : 0;
        if (row->entry->published.token) {
            row->bytes = row->entry->published.bytes;
            row->entries = row->entry->published.entries;
        }
    }
}

static int look (struct listing *list, struct err *err)
{
    list->rows = arena_array (&list->arena, list->all.n, sizeof *list->rows);
    for (uint32_t i = 0; i < list->all.n; i++) {
        struct text bundle = list->all.items[i].bundle;
        struct lying *lying = NULL;
        uint32_t n = 0;
        if (i > 0 && text_equal (bundle, list->all.items[i - 1].bundle))
            continue;
        if (audit_lying (text_format (&list->arena, "%s/%.*s", list->root, TEXT_ARG (bundle)), &list->arena, &lying, &n, err) != 0)
            return -1;
        take_lying (list, i, lying, n);
    }
    return 0;
}

/* ---- JSON ---- */

static json_t *texts_json (const struct text *items, uint32_t n)
{
    json_t *array = json_array ();
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new (array, cache_json_text (items[i]));
    return array;
}

static json_t *users_json (const struct catalogue_entry *entry)
{
    json_t *array = json_array ();
    for (uint32_t i = 0; i < entry->users.n; i++) {
        const struct catalogue_user *user = &entry->users.items[i];
        json_array_append_new (array, json_pack ("{s:o, s:o, s:o}", "run", cache_json_text (user->run), "home",
                                                 cache_json_text (user->home), "machine", cache_json_text (user->machine)));
    }
    return array;
}

static json_t *row_json (struct listing *list, const struct row *row)
{
    const struct catalogue_entry *entry = row->entry;
    const struct fact_generation *published = &entry->published;
    bool sealed = published->token != 0;
    return json_pack (
        "{s:I, s:s, s:b, s:o, s:o, s:I, s:I, s:b, s:I, s:o, s:o, s:o, s:o, s:o, s:I}", "generation", (json_int_t) entry->token,
        "state", names_of (&generation_state_names, entry->state), "leased", entry->leased, "why",
        entry->why.len ? cache_json_text (entry->why) : json_null (), "run", cache_json_text (entry->run), "handed_out_wall_ms",
        (json_int_t) entry->wall_ms, "bytes", (json_int_t) row->bytes, "lies_there", row->lies, "entries", (json_int_t) row->entries,
        "sha256", sealed ? cache_json_text (published->sha256) : json_null (), "from_run",
        sealed ? cache_json_text (published->from_run) : json_null (), "writer",
        sealed ? cache_json_text (cache_writer (list->cli->home, entry, &list->arena)) : json_null (), "covers",
        texts_json (published->covers.items, published->covers.n), "users", users_json (entry), "compile_ms",
        (json_int_t) published->compile_ms);
}

static int show_json (struct listing *list)
{
    json_t *bundles = json_array (), *generations = NULL;
    for (uint32_t i = 0; i < list->all.n; i++) {
        struct text bundle = list->all.items[i].bundle;
        if (i == 0 || !text_equal (bundle, list->all.items[i - 1].bundle)) {
            generations = json_array ();
            json_array_append_new (bundles, json_pack ("{s:o, s:o}", "bundle", cache_json_text (bundle), "generations", generations));
        }
        json_array_append_new (generations, row_json (list, &list->rows[i]));
    }
    return cache_print_json (list->cli, json_pack ("{s:s, s:s, s:o}", "root", list->root, "storage", list->storage, "bundles", bundles));
}

/* ---- text ---- */

static void add_cell (struct line *line, struct text text, uint32_t columns)
{
    struct style cell_style = { .unicode = line->style->unicode, .columns = columns > STYLE_COLUMNS_MIN ? columns - 1 : 0 };
    struct buf cell;
    uint32_t to = line->columns + columns;
    buf_init (&cell, 4096);
    struct line inner = line_begin (&cell, &cell_style);
    line_text (&inner, text);
    line_text (line, buf_as_text (&cell));
    line_pad (line, to);
    buf_release (&cell);
}

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
    struct buf out;
    buf_init (&out, 4096);
    for (uint32_t i = 0; i < entry->users.n && i < SHOWN; i++)
        buf_printf (&out, "%s%.8s on %.*s", i ? ", " : "used by ", entry->users.items[i].run.ptr,
                    TEXT_ARG (entry->users.items[i].machine));
    if (entry->users.n > SHOWN)
        buf_printf (&out, " and %u more", entry->users.n - SHOWN);
    if (entry->leased)
        buf_printf (&out, "%sleased by %.8s", out.len ? "; " : "", entry->run.ptr);
    if (entry->why.len)
        buf_printf (&out, "%s%.*s", out.len ? "; " : "", TEXT_ARG (entry->why));
    struct text words = text_copy (arena, buf_as_text (&out));
    buf_release (&out);
    return words;
}

/* Abandoned ones that left nothing say the same, one after the other. */
static uint32_t alike (const struct listing *list, uint32_t first)
{
    uint32_t n = 1;
    const struct row *row = &list->rows[first];
    if (row->entry->state != GENERATION_ABANDONED || row->lies)
        return 1;
    while (first + n < list->all.n && list->rows[first + n].entry->state == GENERATION_ABANDONED && !list->rows[first + n].lies &&
           text_equal (list->rows[first + n].entry->bundle, row->entry->bundle))
        n++;
    return n;
}

static void add_numbers (struct listing *list, struct line *line, const struct row *row)
{
    char size[SIZE_TEXT_BYTES], span[DURATION_TEXT_BYTES];
    const struct catalogue_entry *entry = row->entry;
    bool sealed = entry->published.token != 0;
    uint64_t age_ms = list->now_ms > entry->wall_ms ? list->now_ms - entry->wall_ms : 0;
    struct text rungs = sealed ? cache_rungs (&entry->published, &list->arena) : TEXT_LIT ("-");
    struct text writer = sealed ? cache_writer (list->cli->home, entry, &list->arena) : TEXT_LIT ("-");
    add_cell (line, text_of (size_print (row->bytes, size)), SIZE_COLUMNS);
    add_cell (line, text_format (&list->arena, "%u", row->entries), ENTRIES_COLUMNS);
    add_cell (line, rungs, RUNGS_COLUMNS);
    add_cell (line, writer, WRITER_COLUMNS);
    add_cell (line, text_clip (sealed ? entry->published.from_run : entry->run, 8), RUN_COLUMNS);
    add_cell (line, text_format (&list->arena, "%s ago", duration_print (age_ms, span)), WHEN_COLUMNS);
    line_text (line, used_by (entry, &list->arena));
}

static void add_row (struct listing *list, uint32_t at, uint32_t n, const struct style *style, struct buf *out)
{
    struct line line = line_begin (out, style);
    const struct row *row = &list->rows[at];
    struct text last = n > 1 ? text_format (&list->arena, "-%" PRIu64, list->rows[at + n - 1].entry->token) : TEXT_LIT ("");
    line_puts (&line, "  ");
    add_cell (&line, text_format (&list->arena, "%" PRIu64 "%.*s", row->entry->token, TEXT_ARG (last)), TOKEN_COLUMNS);
    line_paint (&line, paint_of (row->entry));
    add_cell (&line, text_of (names_of (&generation_state_names, row->entry->state)), STATE_COLUMNS);
    line_paint (&line, PAINT_NONE);
    if (!row->lies && row->entry->state == GENERATION_ABANDONED)
        line_puts (&line, n > 1 ? "nothing of them lies there" : "nothing of it lies there");
    else if (!row->lies && row->entry->published.token)
        line_puts (&line, "its folder is gone: sliceup cache verify");
    else
        add_numbers (list, &line, row);
    line_end (&line);
}

static void add_head (const struct style *style, struct buf *out)
{
    static const struct { const char *word; uint32_t columns; } heads[] = {
        { "number", TOKEN_COLUMNS }, { "state", STATE_COLUMNS }, { "size", SIZE_COLUMNS }, { "entries", ENTRIES_COLUMNS },
        { "covers", RUNGS_COLUMNS }, { "writer", WRITER_COLUMNS }, { "run", RUN_COLUMNS }, { "handed out", WHEN_COLUMNS } };
    struct line line = line_begin (out, style);
    line_paint (&line, PAINT_FAINT);
    line_puts (&line, "  ");
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        add_cell (&line, text_of (heads[i].word), heads[i].columns);
    line_end (&line);
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
        line_printf (&line, "   frontend %.*s, fingerprint %.*s", (int) slash, bundle.ptr, (int) (bundle.len - slash - 1),
                     bundle.ptr + slash + 1);
    line_end (&line);
}

static void add_title (const struct listing *list, const struct style *style, struct buf *out)
{
    char size[SIZE_TEXT_BYTES];
    uint64_t bytes = 0;
    uint32_t published = 0;
    struct line line = line_begin (out, style);
    for (uint32_t i = 0; i < list->all.n; i++) {
        bytes += list->rows[i].lies ? list->rows[i].bytes : 0;
        published += list->all.items[i].state == GENERATION_PUBLISHED;
    }
    line_printf (&line, "%s (storage %s): %u published, %s in all", list->root, list->storage, published, size_print (bytes, size));
    line_end (&line);
}

static int show_text (struct listing *list)
{
    struct style style = terminal_style (list->cli);
    struct buf out;
    buf_init (&out, CACHE_ANSWER_MAX_BYTES);
    add_title (list, &style, &out);
    if (list->all.n == 0)
        buf_puts (&out, "nothing was cached here yet\n");
    for (uint32_t i = 0, n; i < list->all.n; i += n) {
        if (i == 0 || !text_equal (list->all.items[i].bundle, list->all.items[i - 1].bundle)) {
            add_bundle (list->all.items[i].bundle, &style, &out);
            add_head (&style, &out);
        }
        n = alike (list, i);
        add_row (list, i, n, &style, &out);
    }
    int status = terminal_write (list->cli, &out);
    buf_release (&out);
    return status;
}

/* ---- both ---- */

static int list_root (struct listing *list, struct err *err)
{
    struct catalogue *catalogue = catalogue_look (list->root, err);
    if (!catalogue)
        return -1;
    int rc = catalogue_list (catalogue, TEXT_LIT (""), &list->arena, &list->all, err);
    catalogue_close (catalogue);
    if (rc == 0)
        rc = storage_id (list->root, false, list->storage, err);
    return rc == 0 ? look (list, err) : -1;
}

int cache_ls (struct cli *cli, const struct cache_request *request)
{
    struct cache_place place;
    struct err err = { 0 };
    int status = cache_place_find (cli, request, false, &place);
    if (status == EXIT_HOLDS) {
        struct listing list = { .cli = cli, .root = place.root, .now_ms = clock_wall_ms () };
        status = list_root (&list, &err) != 0 ? cli_fail (cli, &err) : request->json ? show_json (&list) : show_text (&list);
        arena_release (&list.arena);
    }
    cache_place_release (&place);
    return status;
}
