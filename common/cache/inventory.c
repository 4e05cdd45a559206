/* inventory.c - what generations lie in a bundle's folder, whoever made them; see audit.h. */
#include "common/cache/audit.h"

#include "common/base/buf.h"
#include "common/cache/generation.h"
#include "common/io/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STORED_MAX = 65536, LINES_BYTES_MAX = 256 * 1024 * 1024 };

#define GENERATION_PREFIX "gen-"

/* One line for everything met, in the order of the walk; sorted before they are digested. */
struct lines {
    struct buf bytes;
    uint32_t *starts;
    uint32_t n, capacity;
    struct generation_stat *stored;
};

static void inventory_add_line (struct lines *lines, const struct tree_walk_item *seen)
{
    static const struct stat unknown;
    const struct stat *st = seen->st ? seen->st : &unknown;
    lines->starts = mem_room (lines->starts, lines->n, &lines->capacity, 64, sizeof *lines->starts);
    lines->starts[lines->n++] = (uint32_t) lines->bytes.len;
    /* A path holds no NUL, so no two lists give the same lines. Without the ctime: chown, backups and links change it
     * without writing. */
    buf_add (&lines->bytes, seen->at.path.ptr, seen->at.path.len);
    buf_byte (&lines->bytes, 0);
    buf_printf (&lines->bytes, "%o %lld %lld.%09ld \n", (unsigned) st->st_mode, (long long) st->st_size,
                (long long) st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

static int inventory_note (void *owner, const struct tree_walk_item *seen, struct err *err)
{
    struct lines *lines = owner;
    (void) err;
    inventory_add_line (lines, seen);
    if (seen->at.kind != TREE_FILE)
        return 0;
    if (text_is (seen->at.path, MANIFEST_NAME)) {
        lines->stored->sealed = !seen->problem;
    } else if (!text_is (seen->at.path, WITNESS_NAME)) {
        lines->stored->entries++;
        lines->stored->bytes += seen->at.bytes;
    }
    return 0;
}

static int by_line (const void *a, const void *b, void *owner)
{
    const struct lines *lines = owner;
    return strcmp ((const char *) lines->bytes.ptr + *(const uint32_t *) a,
                   (const char *) lines->bytes.ptr + *(const uint32_t *) b);
}

static void sort_lines (struct lines *lines)
{
    if (lines->n)
        qsort_r (lines->starts, lines->n, sizeof *lines->starts, by_line, lines);
}

static struct digest digest_lines (const struct lines *lines)
{
    struct digest_state *state = digest_begin ();
    for (uint32_t i = 0; i < lines->n; i++) {
        const char *line = (const char *) lines->bytes.ptr + lines->starts[i];
        const char *end = strchr (line + strlen (line) + 1, '\n');
        digest_add (state, line, (size_t) (end - line));
    }
    return digest_end (state);
}

/* Something that is not a folder has one line. */
static int list_other (struct lines *lines, int root, const char *name, struct err *err)
{
    struct stat st;
    struct tree_walk_item seen = { .at.path = TEXT_LIT (""), .st = &st };
    if (fstatat (root, name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 1 : err_errno (err, ERR_IO, "cannot examine %s", name);
    inventory_add_line (lines, &seen);
    return 0;
}

/* 1: it went away meanwhile. */
static int list_lines (struct lines *lines, int root, const char *name, struct err *err)
{
    LOCAL_FD fd = tree_open_below (root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP || errno == EXDEV || errno == ENOENT))
        return list_other (lines, root, name, err);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot open %s", name);
    int rc = tree_walk (fd, NULL, false, inventory_note, lines, err);
    if (rc == 0 && lines->bytes.overflow)
        rc = err_set (err, ERR_LIMIT, "the names of this generation's files take more than %d bytes, the limit",
                      LINES_BYTES_MAX);
    return rc ? err_prefix (err, "%s", name) : 0;
}

static int inventory_look_at (int root, const char *name, struct generation_stat *out, struct err *err)
{
    struct lines lines = { .stored = out };
    buf_init (&lines.bytes, LINES_BYTES_MAX);
    int rc = list_lines (&lines, root, name, err);
    if (rc == 0) {
        sort_lines (&lines);
        out->listing = digest_lines (&lines);
    }
    buf_release (&lines.bytes);
    mem_free (lines.starts);
    return rc;
}

static bool token_of (const char *name, uint64_t *token)
{
    char again[GENERATION_NAME_BYTES];
    if (strncmp (name, GENERATION_PREFIX, sizeof GENERATION_PREFIX - 1) ||
        !text_to_u64 (text_of (name + sizeof GENERATION_PREFIX - 1), token))
        return false;
    snprintf (again, sizeof again, GENERATION_PREFIX "%" PRIu64, *token);
    return !strcmp (name, again) && *token; /* one way to write each */
}

struct found {
    struct generation_stat *items;
    uint32_t n;
};

static int find_each (DIR *stream, struct found *found, struct err *err)
{
    struct dirent *entry;
    for (errno = 0; (entry = readdir (stream)) != NULL; errno = 0) {
        struct generation_stat stored = { 0 };
        if (!token_of (entry->d_name, &stored.token))
            continue;
        int rc = inventory_look_at (dirfd (stream), entry->d_name, &stored, err);
        if (rc < 0)
            return -1;
        if (rc == 0 && found->n == STORED_MAX)
            return err_set (err, ERR_LIMIT, "this cache family holds more than %d generations, the limit", STORED_MAX);
        if (rc == 0) {
            found->items = mem_grow (found->items, found->n + 1, sizeof *found->items);
            found->items[found->n++] = stored;
        }
    }
    return errno ? err_errno (err, ERR_IO, "cannot list the generations of this cache family") : 0;
}

int audit_list_generations (struct text bundle_root, struct arena *arena, struct generation_stat **out, uint32_t *n,
                            struct err *err)
{
    char path[PATH_MAX_BYTES + 1];
    struct found found = { 0 };
    *out = NULL;
    *n = 0;
    if (!text_to_c (bundle_root, path, sizeof path))
        return err_set (err, ERR_LIMIT, "the path of the cache family is longer than %d bytes", PATH_MAX_BYTES);
    LOCAL_DIR stream = opendir (path);
    if (!stream && errno == ENOENT)
        return 0;
    if (!stream)
        return err_errno (err, ERR_IO, "cannot open the folder %.200s of a cache family", path);
    int rc = find_each (stream, &found, err);
    if (rc == 0) {
        sort_items (found.items, found.n, sizeof *found.items, u64_order);
        *out = arena_copy (arena, found.items, found.n * sizeof *found.items);
        *n = found.n;
    } else {
        err_prefix (err, "cache family %.200s", path);
    }
    mem_free (found.items);
    return rc;
}
