#include "coordinator/cli/env_ls.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/base/duration.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/model/environment_markers.h"
#include "coordinator/cli/cache.h"
#include "coordinator/home/run_dir.h"
#include "coordinator/view/line.h"
#include "coordinator/view/record_json.h"

enum {
    ENVIRONMENTS_MAX = 4096,
    OUT_MAX_BYTES = 8 << 20,
    SMALL_FILE_BYTES = 64 * 1024,
    PYTHON_COLUMNS = 9,
    PINS_COLUMNS = 26,
    STATE_COLUMNS = 12,
    SIZE_COLUMNS = 11,
    USED_COLUMNS = 26
};

struct environment {
    const char *path;
    char python[32], sha256[SHA256_HEX_BYTES + 1]; /* of its pins, as it says itself; empty: it is not complete */
    struct text pins;             /* their name, by the run that used it last; empty: no run did, or with others */
    uint64_t bytes, used_wall_ms; /* 0: by no run that is still here */
    char run[RUN_ID_HEX_BYTES];
};

struct listing {
    const struct cli *cli;
    struct arena arena;
    struct environment items[ENVIRONMENTS_MAX];
    uint32_t n;
};

/* ---- one environment ---- */

static bool read_small (const char *folder, const char *name, struct arena *arena, struct text *out)
{
    struct buf bytes;
    buf_init (&bytes, SMALL_FILE_BYTES);
    bool good = file_read (text_format (arena, "%s/%s", folder, name).ptr, &bytes, NULL) == 0;
    *out = buf_finish (&bytes, arena);
    return good;
}

/* venv writes "version = 3.11.7" into pyvenv.cfg. */
static void read_python (struct environment *environment, struct arena *arena)
{
    struct text cfg;
    uint32_t at, len = 0;
    if (!read_small (environment->path, "pyvenv.cfg", arena, &cfg) || !text_find (cfg, TEXT_LIT ("version = "), &at))
        return;
    struct text rest = { cfg.ptr + at + 10, cfg.len - at - 10 };
    while (len < rest.len && strchr ("0123456789.", rest.ptr[len]))
        len++;
    if (!text_to_c ((struct text){ rest.ptr, len }, environment->python, sizeof environment->python))
        environment->python[0] = '\0';
}

static void read_marker (struct environment *environment, struct arena *arena)
{
    struct text marker;
    struct digest digest;
    if (!read_small (environment->path, ENVIRONMENT_COMPLETE, arena, &marker))
        return;
    marker.len = marker.len < SHA256_HEX_BYTES ? marker.len : SHA256_HEX_BYTES;
    if (!digest_parse (marker, &digest) || !text_to_c (marker, environment->sha256, sizeof environment->sha256))
        environment->sha256[0] = '\0';
}

/* NULL: it is none of ours, or there are too many. */
static struct environment *take (struct listing *list, const char *path)
{
    struct text mark = text_format (&list->arena, "%s/" ENVIRONMENT_OURS, path);
    for (uint32_t i = 0; i < list->n; i++)
        if (strcmp (list->items[i].path, path) == 0)
            return &list->items[i];
    if (list->n == ENVIRONMENTS_MAX || access (mark.ptr, F_OK) != 0)
        return NULL;
    struct environment *environment = &list->items[list->n++];
    environment->path = text_copy (&list->arena, text_of (path)).ptr;
    environment->bytes = folder_count_bytes (path);
    read_python (environment, &list->arena);
    read_marker (environment, &list->arena);
    return environment;
}

/* ---- where they are looked for ---- */

struct use {
    const struct plan *plan;
    const char *run;
    uint64_t wall_ms;
}; /* plan NULL: by nobody */

/* Runs come newest first: the first that names an environment used it last. */
static void note_use (struct listing *list, struct environment *environment, const struct use *use)
{
    if (!environment || !use->plan || environment->used_wall_ms)
        return;
    environment->used_wall_ms = use->wall_ms;
    snprintf (environment->run, sizeof environment->run, "%s", use->run);
    if (text_is (use->plan->pins.file.sha256, environment->sha256))
        environment->pins = text_copy (&list->arena, use->plan->pins.name);
}

/* Every folder of `parent` that begins with `name`. */
static void look_in (struct listing *list, const char *parent, const char *name, const struct use *use)
{
    DIR *folder = opendir (parent);
    struct dirent *entry;
    while (folder && (entry = readdir (folder)))
        if (entry->d_name[0] != '.' && strncmp (entry->d_name, name, strlen (name)) == 0)
            note_use (list, take (list, text_format (&list->arena, "%s/%s", parent, entry->d_name).ptr), use);
    if (folder)
        closedir (folder);
}

/* Environments stand beside each other as <env_dir>-py<version>. */
static void look_beside (struct listing *list, struct text env_dir, const struct use *use)
{
    char path[PATH_MAX_BYTES + 8], *slash;
    if (!env_dir.len || !text_to_c (env_dir, path, sizeof path - 4) || !(slash = strrchr (path, '/')))
        return;
    strcat (path, "-py");
    *slash = '\0';
    look_in (list, slash == path ? "/" : path, slash + 1, use);
}

static int look_at_run (void *owner, const struct run_dir *dir, uint64_t created_ms)
{
    struct listing *list = owner;
    struct arena arena = { 0 };
    struct plan plan;
    struct err err = { 0 };
    struct use use = { &plan, dir->id, created_ms };
    if (cache_plan_of_run (dir, &arena, &plan, &err) == 0) { /* one that cannot be read names nothing */
        look_beside (list, plan.pins.env_dir, &use);
        for (uint32_t i = 0; i < plan.hosts.n; i++)
            look_beside (list, plan.hosts.items[i].env_dir, &use);
    }
    arena_release (&arena);
    return 0;
}

static int look (struct listing *list, struct err *err)
{
    static const struct use nobody;
    if (home_folder_check (list->cli->home, "envs", true, err) < 0 ||
        run_dir_each (list->cli->home, look_at_run, list, err) < 0)
        return -1;
    look_in (list, text_format (&list->arena, "%s/envs", list->cli->home).ptr, "", &nobody);
    return 0;
}

/* ---- what is told ---- */

static int print_json (const struct listing *list)
{
    json_t *array = json_array ();
    for (uint32_t i = 0; i < list->n; i++) {
        const struct environment *one = &list->items[i];
        json_t *object = json_pack (
            "{s:o, s:o, s:b, s:o, s:o, s:I, s:o, s:o, s:o}", "path", escaped_json (text_of (one->path)), "python",
            one->python[0] ? json_string (one->python) : json_null (), "complete", one->sha256[0] != '\0', "pins",
            text_or_null_json (one->pins), "pins_sha256", one->sha256[0] ? json_string (one->sha256) : json_null (),
            "bytes", (json_int_t) one->bytes, "last_run", one->run[0] ? json_string (one->run) : json_null (),
            "last_used_wall_ms", number_or_null_json (one->run[0] ? one->used_wall_ms : 0), "last_used",
            time_json (one->run[0] ? one->used_wall_ms : 0));
        if (!object || json_array_append_new (array, object) != 0)
            mem_exit_exhausted (0);
    }
    return cache_print_json (list->cli, "sliceup.environments/1", json_pack ("{s:o}", "environments", array));
}

static void add_used (struct line *line, const struct environment *one, uint64_t now_ms)
{
    char span[DURATION_TEXT_BYTES];
    if (one->run[0])
        line_printf (line, "%.8s, %s ago", one->run,
                     duration_print (now_ms > one->used_wall_ms ? now_ms - one->used_wall_ms : 0, span));
    else
        line_puts (line, "no run of this home");
}

static void add_row (struct buf *out, const struct style *style, const struct environment *one, uint64_t now_ms)
{
    char size[SIZE_TEXT_BYTES];
    struct line line = line_begin (out, style);
    uint32_t at = PYTHON_COLUMNS;
    line_printf (&line, "%s", one->python[0] ? one->python : "?");
    line_pad (&line, at);
    if (one->sha256[0])
        line_printf (&line, "%.*s%s%.8s", TEXT_ARG (one->pins), one->pins.len ? " " : "", one->sha256);
    else
        line_puts (&line, "?");
    line_pad (&line, at += PINS_COLUMNS);
    line_painted (&line, one->sha256[0] ? PAINT_GOOD : PAINT_WARN, one->sha256[0] ? "complete" : "incomplete");
    line_pad (&line, at += STATE_COLUMNS);
    line_puts (&line, size_print (one->bytes, size));
    line_pad (&line, at += SIZE_COLUMNS);
    add_used (&line, one, now_ms);
    line_pad (&line, at += USED_COLUMNS);
    line_puts (&line, one->path);
    line_end (&line);
}

static int print_text (const struct listing *list)
{
    struct style style = cli_detect_style (list->cli);
    struct buf out;
    uint64_t now_ms = clock_wall_ms ();
    buf_init (&out, OUT_MAX_BYTES);
    if (list->n == 0)
        buf_puts (&out, "no environments here; build one with: sliceup env restore SLICE.yaml\n");
    else
        buf_printf (&out, "%-*s%-*s%-*s%-*s%-*s%s\n", PYTHON_COLUMNS, "python", PINS_COLUMNS, "pins", STATE_COLUMNS,
                    "state", SIZE_COLUMNS, "size", USED_COLUMNS, "last used by run", "path");
    for (uint32_t i = 0; i < list->n; i++)
        add_row (&out, &style, &list->items[i], now_ms);
    return cli_write_stdout (list->cli, &out);
}

static int by_path (const void *a, const void *b)
{
    return strcmp (((const struct environment *) a)->path, ((const struct environment *) b)->path);
}

int env_ls (struct cli *cli, bool json)
{
    struct err err = { 0 };
    struct listing *list = mem_alloc (sizeof *list);
    list->cli = cli;
    int rc = look (list, &err);
    if (list->n)
        qsort (list->items, list->n, sizeof list->items[0], by_path);
    int status = rc < 0 ? cli_fail (cli, &err) : json ? print_json (list) : print_text (list);
    arena_release (&list->arena);
    mem_free (list);
    return status;
}
