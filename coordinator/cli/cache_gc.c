#include "coordinator/cli/cache.h"

#include <inttypes.h>
#include <string.h>

struct verdict_line {
    const struct catalogue_entry *entry;
    bool removed;
    const char *because;
    struct text stays;
    struct collect_result freed;
};

struct collection {
    struct cli *cli;
    const struct cache_request *request;
    const char *root;
    struct catalogue *catalogue;
    struct catalogue_list all;
    struct verdict_line *lines;
    uint32_t n, removed, leftovers, failed;
    uint64_t bytes;
    struct arena *arena;
};

/* ---- which may go ---- */

static uint32_t newer_published (const struct collection *gc, uint32_t at)
{
    uint32_t newer = 0;
    for (uint32_t i = at + 1; i < gc->all.n && text_equal (gc->all.items[i].bundle, gc->all.items[at].bundle); i++)
        newer += gc->all.items[i].state == GENERATION_PUBLISHED;
    return newer;
}

/* NULL: it is not to go. */
static const char *why_it_goes (const struct collection *gc, uint32_t at)
{
    switch (gc->all.items[at].state) {
    case GENERATION_PUBLISHED:
        return newer_published (gc, at) >= gc->request->keep ? "replaced by newer generations" : NULL;
    case GENERATION_DROPPED: return gc->request->dropped ? "quarantined" : NULL;
    case GENERATION_ABANDONED: return gc->request->abandoned ? "abandoned" : NULL;
    case GENERATION_REMOVING: return "an earlier gc of it was interrupted";
    default: return NULL;
    }
}

static bool forgotten (const struct cache_request *request, struct text run)
{
    for (uint32_t i = 0; i < request->forget_n; i++)
        if (text_starts (run, request->forget[i]))
            return true;
    return false;
}

/* The runs whose use of it does not count; -1: one counts, and `stays` says which. */
static int users_over (struct collection *gc, const struct catalogue_entry *entry, struct text *over,
                       struct text *stays)
{
    char why[STANDS_BYTES];
    for (uint32_t i = 0; i < entry->users.n; i++) {
        const struct generation_user *user = &entry->users.items[i];
        over[i] = user->run;
        if (forgotten (gc->request, user->run) || collect_user_has_ended (user, why))
            continue;
        *stays = text_format (gc->arena, "run %.*s uses it, and that run %s (if it has ended: --forget %.8s)",
                              TEXT_ARG (text_clip (user->run, 8)), why, user->run.len >= 8 ? user->run.ptr : "RUN");
        return -1;
    }
    return 0;
}

/* ---- collecting ---- */

static int cache_gc_measure (struct collection *gc, struct verdict_line *line, struct err *err)
{
    const struct catalogue_entry *entry = line->entry;
    line->freed = (struct collect_result){ .bytes = entry->published.bytes, .entries = entry->published.entries };
    return entry->published.token ? 0 : collect_count_bytes (gc->root, entry->bundle, entry->token, &line->freed, err);
}

static void cache_gc_collect (struct collection *gc, const struct catalogue_entry *entry, const char *because)
{
    struct verdict_line *line = &gc->lines[gc->n++];
    struct err err = { 0 };
    struct text *over = arena_array (gc->arena, entry->users.n, sizeof *over);
    *line = (struct verdict_line){ .entry = entry, .because = because };
    if (users_over (gc, entry, over, &line->stays) != 0)
        return;
    if (entry->leased) {
        line->stays = text_format (gc->arena, "run %.*s holds the lease to write it",
                                   TEXT_ARG (text_clip (entry->run, 8)));
        return;
    }
    int rc = gc->request->dry_run ? cache_gc_measure (gc, line, &err)
                                  : collect_generation (gc->catalogue, gc->root, entry->bundle, entry->token, over,
                                                        entry->users.n, &line->freed, &err);
    line->removed = rc == 0;
    if (rc != 0) {
        line->stays = text_copy (gc->arena, text_of (err.text));
        gc->failed += err.code != ERR_STATE; /* a run began to use it just now: as it should be */
        return;
    }
    gc->removed++;
    gc->bytes += line->freed.bytes;
}

static int collect_left (struct collection *gc, struct err *err)
{
    struct text *bundles = NULL;
    uint32_t n = 0, removed = 0;
    if (gc->request->dry_run)
        return 0;
    if (cache_list_families (gc->root, gc->arena, &bundles, &n, err) != 0)
        return -1;
    for (uint32_t i = 0; i < n; i++, gc->leftovers += removed)
        if (collect_leftovers (gc->root, bundles[i], &removed, err) != 0)
            return -1;
    return 0;
}

static int run_gc (struct collection *gc, struct err *err)
{
    /* Leftovers first: on a storage that is full they make the room in which the catalogue can be changed. */
    if (catalogue_list (gc->catalogue, TEXT_LIT (""), gc->arena, &gc->all, err) != 0 || collect_left (gc, err) != 0)
        return -1;
    gc->lines = arena_array (gc->arena, gc->all.n, sizeof *gc->lines);
    for (uint32_t i = 0; i < gc->all.n; i++) {
        const char *because = why_it_goes (gc, i);
        if (because)
            cache_gc_collect (gc, &gc->all.items[i], because);
    }
    return 0;
}

/* ---- saying it ---- */

static int cache_gc_show_json (const struct collection *gc)
{
    json_t *removed = json_array (), *kept = json_array ();
    for (uint32_t i = 0; i < gc->n; i++) {
        const struct verdict_line *line = &gc->lines[i];
        json_t *object = json_pack ("{s:o, s:I, s:s, s:s, s:I, s:I}", "bundle", escaped_json (line->entry->bundle),
                                    "generation", (json_int_t) line->entry->token, "state",
                                    enum_name_of (&generation_state_names, line->entry->state), "because",
                                    line->because, "bytes", (json_int_t) line->freed.bytes, "entries",
                                    (json_int_t) line->freed.entries);
        if (!line->removed)
            json_object_set_new (object, "stays", escaped_json (line->stays));
        json_array_append_new (line->removed ? removed : kept, object);
    }
    return cli_print_json (gc->cli, "sliceup.cache-gc/1",
                           json_pack ("{s:s, s:b, s:I, s:i, s:o, s:o}", "root", gc->root, "dry_run",
                                      gc->request->dry_run, "bytes", (json_int_t) gc->bytes, "leftovers",
                                      (int) gc->leftovers, "removed", removed, "kept", kept));
}

static void cache_gc_add_line (const struct collection *gc, const struct verdict_line *what, const struct style *style,
                               struct buf *out)
{
    struct line line = line_begin (out, style);
    line_puts (&line, !what->removed ? "kept" : gc->request->dry_run ? "would remove" : "removed");
    line_printf (&line, "  %.*s generation %" PRIu64 " (%s)", TEXT_ARG (what->entry->bundle), what->entry->token,
                 what->because);
    if (what->removed)
        line_printf (&line, ": %u entries, %s", what->freed.entries, SIZE_TEXT (what->freed.bytes));
    else {
        line_puts (&line, ": ");
        line_text (&line, what->stays);
    }
    line_end (&line);
}

static int cache_gc_show_text (const struct collection *gc)
{
    struct style style = cli_detect_style (gc->cli);
    struct buf out = { .max = CLI_ANSWER_MAX_BYTES };
    style.columns = 0;
    for (uint32_t i = 0; i < gc->n; i++)
        cache_gc_add_line (gc, &gc->lines[i], &style, &out);
    if (gc->leftovers)
        buf_printf (&out, "removed  %u folder%s left by an interrupted gc\n", gc->leftovers, plural (gc->leftovers));
    buf_escaped (&out, text_of (gc->root), 0);
    buf_printf (&out, ": %s %s in %u generation%s\n", gc->request->dry_run ? "would free" : "freed",
                SIZE_TEXT (gc->bytes), gc->removed, plural (gc->removed));
    return cli_write_stdout (gc->cli, &out);
}

static int check_forget (const struct cache_request *request, struct err *err)
{
    for (uint32_t i = 0; i < request->forget_n; i++)
        if (strlen (request->forget[i]) < 8 ||
            strspn (request->forget[i], "0123456789abcdef") != strlen (request->forget[i]))
            return err_set (err, ERR_USAGE, "--forget '%.60s': expected a run id, at least its first 8 digits",
                            request->forget[i]);
    return 0;
}

int cache_gc (struct cli *cli, const struct cache_request *request, struct cache_location *target)
{
    struct collection gc = { .cli = cli, .request = request, .root = target->root, .arena = &target->arena };
    struct err err = { 0 };
    if (check_forget (request, &err) != 0)
        return cli_fail (cli, &err);
    /* Looked first: collecting must not make a catalogue where none is. */
    struct catalogue *there = catalogue_open_read_only (gc.root, &err);
    if (!there)
        return cli_fail (cli, &err);
    catalogue_close (there);
    gc.catalogue = catalogue_open (gc.root, &err);
    if (!gc.catalogue)
        return cli_fail (cli, &err);
    int rc = run_gc (&gc, &err);
    catalogue_close (gc.catalogue);
    int status = request->json ? cache_gc_show_json (&gc) : cache_gc_show_text (&gc);
    if (rc != 0)
        status = cli_fail (cli, &err);
    return status == EXIT_HOLDS && gc.failed ? EXIT_COULD_NOT : status;
}
