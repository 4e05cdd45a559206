#include "coordinator/cli/cache.h"

#include "common/cache/storage.h"
#include "common/io/atomic_file.h"
#include "coordinator/cli/planning.h"
#include "coordinator/journal/run_begun.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct text cache_writer_name (const char *home, const struct catalogue_entry *entry, struct arena *arena)
{
    struct run_dir dir = { 0 };
    struct plan plan;
    struct err err = { 0 };
    if (!entry->published.token)
        return TEXT_LIT ("");
    if (run_dir_name (&dir, text_of (home), entry->published.from_run) &&
        run_facts_read_plan (&dir, arena, &plan, &err) == 0 && entry->published.writer < plan.hosts.n)
        return plan.hosts.items[entry->published.writer].name;
    return text_format (arena, "rank %u", entry->published.writer);
}

/* ---- the root ---- */

static int cache_target_take_text (struct text root, const char *whose, struct cache_location *target, struct err *err)
{
    if (root.len == 0)
        return err_set (err, ERR_STATE, "%s uses no compile cache (cache: {mode: off}); --root DIR names a cache root",
                        whose);
    if (!text_to_c (root, target->root, sizeof target->root))
        return err_set (err, ERR_LIMIT, "the path of the cache root of %s is longer than %d bytes", whose,
                        PATH_MAX_BYTES);
    return 0;
}

/* The path is checked as given, too: a link in it may be anybody's. */
static int take_folder (const char *root, bool make, struct cache_location *target, struct err *err)
{
    if (root[0] == '\0')
        return err_set (err, ERR_USAGE, "--root: expected a directory");
    if (owners_check_root (root, &target->trust, err) != 0)
        return -1;
    if (make && folder_make (root, 0755, err) != 0)
        return -1;
    LOCAL_MEM char *real = realpath (root, NULL);
    if (!real)
        return err_errno (err, errno == ENOENT ? ERR_STATE : ERR_IO, "cannot find cache root %s", root);
    return cache_target_take_text (text_of (real), "the machine", target, err);
}

/* Does a rung of it use the cache? */
static bool has_cache (const struct plan *plan)
{
    bool warms = false;
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        warms |= plan->rungs.items[i].warm != WARM_NONE;
    return warms && plan->cache.mode != CACHE_OFF && plan->cache.root.len > 0;
}

struct cached_run {
    struct run_dir dir;
    bool found;
};

static int cache_target_look_at (void *owner, const struct run_dir *dir, uint64_t created_ms)
{
    struct cached_run *search = owner;
    LOCAL_ARENA arena = { 0 };
    struct plan plan;
    (void) created_ms;
    search->found = run_dir_check (dir, NULL) == 0 && run_facts_read_plan (dir, &arena, &plan, NULL) == 0 &&
                    has_cache (&plan);
    search->dir = *dir;
    return search->found ? 1 : 0;
}

/* The last run had no cache, and none was asked for by name: the newest that had one is meant. */
static int take_cached_run (struct cli *cli, struct run_dir *dir, struct arena *arena, struct plan *plan,
                            struct err *err)
{
    struct cached_run search = { .found = false };
    if (run_dir_each (cli->home, cache_target_look_at, &search, err) < 0)
        return -1;
    if (!search.found)
        return 0; /* it may have a root of its own, which runs of other homes use */
    fprintf (cli->log.to, "sliceup cache: run %.8s used no compile cache; this is of run %.8s, the newest that did\n",
             dir->id, search.dir.id);
    *dir = search.dir;
    return run_facts_read_plan (dir, arena, plan, err);
}

int cache_find_run (struct cli *cli, const char *run, struct run_dir *dir, struct arena *arena, struct plan *plan,
                    struct err *err)
{
    if (run_begun_find_checked (dir, cli->home, run ? run : "last", err) != 0 ||
        run_facts_read_plan (dir, arena, plan, err) != 0)
        return -1;
    return run || has_cache (plan) ? 0 : take_cached_run (cli, dir, arena, plan, err);
}

static int cache_target_take_run (struct cli *cli, const char *run, struct cache_location *target, struct err *err)
{
    char whose[64];
    if (cache_find_run (cli, run, &target->dir, &target->arena, &target->plan, err) != 0)
        return run || err->code != ERR_USAGE
                   ? -1
                   : err_prefix (err, "no cache root was given (--root DIR, --slice SLICE.yaml), and");
    if (!run && target->plan.cache.mode == CACHE_OFF)
        return err_set (err, ERR_STATE,
                        "no run of this home used a compile cache: name a cache root with --root DIR, or a slice with "
                        "--slice SLICE.yaml");
    snprintf (whose, sizeof whose, "run %.8s", target->dir.id);
    return cache_target_take_text (target->plan.cache.mode == CACHE_OFF ? TEXT_LIT ("") : target->plan.cache.root,
                                   whose, target, err);
}

static int take_slice (struct cli *cli, const char *slice, struct cache_location *target)
{
    struct err err = { 0 };
    int status = planning_load_slice_only (cli, slice, &target->arena, &target->plan);
    if (status != EXIT_HOLDS)
        return status;
    bool off = target->plan.cache.mode == CACHE_OFF;
    return cache_target_take_text (off ? TEXT_LIT ("") : target->plan.cache.root, slice, target, &err) == 0
               ? EXIT_HOLDS
               : cli_fail (cli, &err);
}

static void trust_planned (struct cache_location *target)
{
    const uid_list asked = target->trust, *planned = &target->plan.cache.trust;
    uid_list *both = &target->trust;
    *both = (uid_list){ arena_array (&target->arena, planned->n + asked.n, sizeof *both->items), 0 };
    for (uint32_t i = 0; i < planned->n; i++)
        both->items[both->n++] = planned->items[i];
    for (uint32_t i = 0; i < asked.n; i++)
        both->items[both->n++] = asked.items[i];
}

/* The root is refused once, not each file in it. The catalogue reports a root that is missing. */
static int check_root (struct cache_location *target, struct err *err)
{
    const char *root = target->root;
    struct stat st;
    trust_planned (target);
    if (owners_check_root (root, &target->trust, err) < 0)
        return -1;
    if (stat (root, &st) != 0 && errno == ENOENT)
        return 0;
    if (stat (root, &st) == 0 && !S_ISDIR (st.st_mode))
        return err_set (err, ERR_STATE, "%s is not a folder, expected a cache root (--root DIR)", root);
    if (access (root, R_OK | X_OK) == 0)
        return 0;
    return err_errno (err, ERR_IO, "user %u may not read cache root %s: run this as its owner, or as root",
                      (unsigned) geteuid (), root);
}

int cache_location_find (struct cli *cli, const struct cache_request *request, bool make, struct cache_location *target)
{
    struct err err = { 0 };
    *target = (struct cache_location){ 0 };
    if (request->trust && !request->trust[0])
        err_set (&err, ERR_USAGE, "trusted users '': expected numbers of users (uid), like 1000,1001");
    if (err.code ||
        owners_parse_trust (text_of (request->trust ? request->trust : ""), &target->arena, &target->trust, &err) < 0)
        return cli_fail (cli, &err);
    if (request->slice) {
        int status = take_slice (cli, request->slice, target);
        return status != EXIT_HOLDS || check_root (target, &err) == 0 ? status : cli_fail (cli, &err);
    }
    int rc = request->root ? take_folder (request->root, make, target, &err)
                           : cache_target_take_run (cli, request->run, target, &err);
    return rc == 0 && check_root (target, &err) == 0 ? EXIT_HOLDS : cli_fail (cli, &err);
}

int cache_location_check_owners (const struct cache_location *target, struct text bundle, uint64_t token,
                                 struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct text bundle_root = text_format (&arena, "%s/%.*s", target->root, TEXT_ARG (bundle));
    return owners_check_entries (bundle_root, token, &target->trust, err);
}

/* ---- words ---- */

/* "tiny:5f2a...": the rung's id ends at the last ':' (core/state.c). */
static struct text rung_of (struct text cover)
{
    for (uint32_t i = cover.len; i > 0; i--)
        if (cover.ptr[i - 1] == ':')
            return (struct text){ cover.ptr, i - 1 };
    return cover;
}

struct text cache_covered_rungs (const struct fact_generation *generation, struct arena *arena)
{
    struct buf out = { .max = 1 << 20 };
    for (uint32_t i = 0; i < generation->covers.n; i++) {
        struct text rung = rung_of (generation->covers.items[i]);
        bool before = false;
        for (uint32_t k = 0; k < i && !before; k++)
            before = text_equal (rung_of (generation->covers.items[k]), rung);
        if (!before)
            buf_printf (&out, "%s%.*s", out.len ? ", " : "", TEXT_ARG (rung));
    }
    return buf_finish (&out, arena);
}
