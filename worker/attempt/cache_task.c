#include "worker/attempt/task.h"

#include "common/base/digest.h"
#include "common/cache/audit.h"
#include "common/cache/storage.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/proc.h"
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* The root of a cache is two folders above its bundle's: <root>/<frontend>/<bundle>. */
static int root_of (struct text frontend_root, char root[PATH_MAX_BYTES + 1], struct err *err)
{
    char *slash = NULL;
    if (!text_to_c (frontend_root, root, PATH_MAX_BYTES + 1))
        return err_set (err, ERR_REFUSED, "the path of the cache is longer than %d bytes", PATH_MAX_BYTES);
    for (int i = 0; i < 2; i++) {
        slash = strrchr (root, '/');
        if (!slash || slash == root)
            return err_set (err, ERR_REFUSED, "cache path \"%.*s\": expected an absolute <root>/<frontend>/<bundle>",
                            TEXT_ARG (frontend_root));
        *slash = '\0';
    }
    return 0;
}

/* Each host checks, since it may see other owners than the coordinator. A writer's own generation is not there yet. */
static int check_owners (const struct cache_access *access, struct err *err)
{
    uint64_t given = access->role == CACHE_ROLE_WRITER ? access->base : access->token;
    return owners_check_generation (access->frontend_root, given, &access->trust, err);
}

/* A reader makes nothing: without a storage file the answer has no id. */
static int name_storage (const struct cache_access *access, struct arena *arena, struct task_answer *answer,
                         struct err *err)
{
    char root[PATH_MAX_BYTES + 1], id[STORAGE_ID_BYTES];
    if (root_of (access->frontend_root, root, err) || check_owners (access, err))
        return -1;
    if (storage_id (root, access->role != CACHE_ROLE_READER, id, err) == 0)
        answer->cache.storage = text_copy (arena, text_of (id));
    else if (access->role != CACHE_ROLE_READER || err->code != ERR_STATE)
        return -1;
    return 0;
}

/* Makes a folder, on which a program's own mounts may show the generation. */
static int make_place (const char *path, struct err *err)
{
    struct stat st;
    /* Older workers had the link itself here, whose target must not be written. */
    if (lstat (path, &st) == 0 && S_ISLNK (st.st_mode) && unlink (path))
        return err_errno (err, ERR_IO, "cannot remove the symbolic link %s", path);
    return folder_make (path, 0755, err);
}

/* Random, so that nobody can foresee which large entries are read. */
static uint64_t draw_seed (void)
{
    uint64_t seed;
    return getrandom (&seed, sizeof seed, 0) == sizeof seed ? seed : clock_boot_ns ();
}

/* Reads every byte once; later small entries, and a sample of large ones. */
static int prepare_reader (const struct task_context *context, const struct cache_access *access, char dir[PATH_MAX],
                           struct arena *arena, struct err *err)
{
    struct text empty = text_format (arena, "%s/empty-cache", context->directory);
    bool known = access->token && verified_contains (context->directory, access);
    struct err why = { 0 };
    if (cache_prepare_reader (access, known ? AUDIT_SAMPLE : AUDIT_FULL, draw_seed (), empty.ptr, dir, PATH_MAX, err))
        return -1;
    if (access->token && !known && verified_note (context->directory, access, &why))
        fprintf (stderr,
                 "sliceup-worker: cannot record that the cache was verified; the next attempt reads every byte of it "
                 "again: %s\n",
                 why.text);
    return 0;
}

static int prepare (const struct task_context *context, const struct cache_access *access, char dir[PATH_MAX],
                    struct arena *arena, struct err *err)
{
    switch (access->role) {
    case CACHE_ROLE_READER: return prepare_reader (context, access, dir, arena, err);
    case CACHE_ROLE_WRITER: return cache_prepare_writer (access, dir, PATH_MAX, err);
    case CACHE_ROLE_OWN: return cache_prepare_host_cache (access, context->host, dir, PATH_MAX, err);
    case CACHE_ROLE_NONE: break;
    }
    return err_set (err, ERR_REFUSED, "the coordinator did not say whether this host reads or writes the cache");
}

static void take_findings (const struct finding_list *found, struct arena *arena, struct task_answer *answer)
{
    answer->findings.items = found->items;
    answer->findings.n = found->n;
    if (!found->more)
        return;
    struct text *first = &found->items[0].detail; /* a full result drops the last ones */
    *first = text_format (arena, "%.*s (and %u more differences, not listed)", TEXT_ARG (*first), found->more);
}

/* The first difference refused it; this lists all for the coordinator, which drops it. `made`: the generation that the
 * writer's program filled; else its base, or a reader's. */
static void find_all (const struct cache_access *access, bool made, struct arena *arena, struct task_answer *answer)
{
    struct finding_list found = { 0 };
    struct err err = { 0 };
    bool writer = access->role == CACHE_ROLE_WRITER;
    int rc =
        made ? audit_base (access->frontend_root, access->token, access->base, access->base_sha256, arena, &found, &err)
             : audit_generation (access->frontend_root, writer ? access->base : access->token,
                                 writer ? access->base_sha256 : access->sha256, AUDIT_FULL, 0, arena, &found, &err);
    if (rc)
        fprintf (stderr, "sliceup-worker: cannot list all differences of the generation: %s\n", err.text);
    else
        take_findings (&found, arena, answer);
}

static int point_at (const struct task_context *context, const char *dir, struct arena *arena, struct err *err)
{
    struct text folder = text_format (arena, "%s/cache", context->directory);
    struct text link = text_format (arena, "%s/generation", folder.ptr);
    return make_place (folder.ptr, err) ? -1 : cache_set_symlink (link.ptr, dir, err);
}

int cache_task_prepare (const struct task_context *context, const struct cache_access *access, struct arena *arena,
                        struct task_answer *answer)
{
    char dir[PATH_MAX];
    struct err err = { 0 };
    bool reader = access->role == CACHE_ROLE_READER;
    bool given = reader ? access->token != 0 : access->role == CACHE_ROLE_WRITER && access->base != 0;
    int rc = name_storage (access, arena, answer, &err);
    if (rc == 0 && (rc = prepare (context, access, dir, arena, &err)) < 0 && given &&
        (err.code == ERR_DAMAGE || err.code == ERR_LIMIT))
        find_all (access, false, arena, answer);
    if (rc == 0)
        rc = point_at (context, dir, arena, &err);
    if (rc < 0)
        task_answer_set_failure (answer, arena, OWNER_CACHE, &err);
    if (reader && (rc < 0 || access->token))
        answer->cache_state = rc < 0 ? answer->problem : TEXT_LIT ("verified");
    return rc;
}

void cache_task_seal (const struct cache_access *access, struct arena *arena, struct task_answer *answer)
{
    struct err err = { 0 };
    answer->done = cache_seal (access, &answer->seal, arena, &err) == 0;
    if (answer->done)
        return;
    if (access->base)
        find_all (access, true, arena, answer);
    task_answer_set_failure (answer, arena, OWNER_CACHE, &err);
}

void cache_task_audit (const struct cache_access *access, struct arena *arena, struct task_answer *answer)
{
    struct err err = { 0 };
    struct finding_list found = { 0 };
    if (name_storage (access, arena, answer, &err) ||
        audit_generation (access->frontend_root, access->token, access->sha256, AUDIT_SAMPLE, draw_seed (), arena,
                          &found, &err)) {
        task_answer_set_failure (answer, arena, OWNER_CACHE, &err);
        return;
    }
    take_findings (&found, arena, answer);
    answer->done = true;
}

/* ---- generations that were verified ---- */

enum { LINE_BYTES = DIGEST_HEX_BYTES, LINES_MAX = 64, PATH_BYTES = PATH_MAX_BYTES + 16 };

static int cache_task_path_of (const char *directory, char path[PATH_BYTES], struct err *err)
{
    int len = snprintf (path, PATH_BYTES, "%s/verified", directory);
    return len < 0 || len >= PATH_BYTES ? err_set (err, ERR_LIMIT, "the path of the worker's directory is too long")
                                        : 0;
}

static int cache_task_line_of (const struct cache_access *access, char line[LINE_BYTES + 1], struct err *err)
{
    char boot[PROC_BOOT_ID_BYTES];
    if (proc_boot_id (boot, err) < 0)
        return -1;
    LOCAL_BUF key = { .max = 2 * PATH_MAX_BYTES };
    buf_printf (&key, "%s %" PRIu64 " %.*s ", boot, access->token, TEXT_ARG (access->sha256));
    buf_add_text (&key, access->frontend_root);
    struct digest digest = digest_of (key.ptr, key.len);
    digest_hex (&digest, line);
    memcpy (line + LINE_BYTES - 1, "\n", 2);
    return 0;
}

static bool cache_task_holds (struct text lines, const char *line)
{
    for (; lines.len >= LINE_BYTES; lines.ptr += LINE_BYTES, lines.len -= LINE_BYTES)
        if (!memcmp (lines.ptr, line, LINE_BYTES))
            return true;
    return false;
}

bool verified_contains (const char *directory, const struct cache_access *access)
{
    char path[PATH_BYTES], line[LINE_BYTES + 1];
    LOCAL_BUF lines = { .max = LINES_MAX * LINE_BYTES };
    return cache_task_path_of (directory, path, NULL) == 0 && cache_task_line_of (access, line, NULL) == 0 &&
           file_read (path, &lines, NULL) == 0 && cache_task_holds (buf_as_text (&lines), line);
}

int verified_note (const char *directory, const struct cache_access *access, struct err *err)
{
    char path[PATH_BYTES], line[LINE_BYTES + 1];
    if (cache_task_path_of (directory, path, err) || cache_task_line_of (access, line, err))
        return -1;
    LOCAL_BUF lines = { .max = LINES_MAX * LINE_BYTES };
    LOCAL_BUF kept = { .max = LINES_MAX * LINE_BYTES };
    struct text old = { 0 };
    if (file_read (path, &lines, NULL) == 0) /* there may be none */
        old = text_clip (buf_as_text (&lines), (LINES_MAX - 1) * LINE_BYTES);
    buf_add (&kept, line, LINE_BYTES);
    buf_add_text (&kept, old);
    return atomic_file_write (path, kept.ptr, kept.len, 0600, err);
}
