#include "worker/io/confine_alias.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "common/io/atomic_file.h"
#include "worker/io/confine_site.h"

enum { TABLE_BYTES_MAX = 4 * 1024 * 1024 };

struct mount { uint64_t id; unsigned major, minor; char *within, *point; }; /* `within`: what of its file system */

/* Blanks, tabs, newlines and backslashes stand as three octal digits. */
static void decode (char *text)
{
    char *to = text;
    for (; *text; text++) {
        unsigned code;
        if (text[0] == '\\' && sscanf (text, "\\%3o", &code) == 1 && code < 256) {
            *to++ = (char) code;
            text += 3;
        } else {
            *to++ = *text;
        }
    }
    *to = '\0';
}

static bool parse (char *line, struct mount *mount)
{
    char *save = NULL, *fields[5] = { NULL };
    for (int i = 0; i < 5; i++)
        if (!(fields[i] = strtok_r (i ? NULL : line, " ", &save)))
            return false;
    if (sscanf (fields[0], "%" SCNu64, &mount->id) != 1
        || sscanf (fields[2], "%u:%u", &mount->major, &mount->minor) != 2)
        return false;
    mount->within = fields[3];
    mount->point = fields[4];
    decode (mount->within);
    decode (mount->point);
    return true;
}

static const char *rest (const char *path, const char *folder)
{
    return strcmp (folder, "/") == 0 ? path : path + strlen (folder);
}

static bool covers (const char *folder, const char *path)
{
    return strcmp (folder, "/") == 0 || confine_is_below (path, folder);
}

/* The name of `inner` (a path within the file system) below the mount, when it shows that or a part of it. */
static const char *name_of (const struct mount *mount, const char *inner, struct arena *arena)
{
    if (covers (mount->within, inner)) {
        const char *below = rest (inner, mount->within), *point = strcmp (mount->point, "/") ? mount->point : "";
        return text_format (arena, "%s%s%s", point, below[0] && below[0] != '/' ? "/" : "", below).ptr;
    }
    return covers (inner, mount->within) ? text_copy (arena, text_of (mount->point)).ptr : NULL;
}

/* Another mount may lie over it. */
static bool shows (const char *path, const struct stat *of)
{
    struct stat at;
    return path[0] && lstat (path, &at) == 0 && S_ISDIR (at.st_mode) && at.st_dev == of->st_dev;
}

struct search { const char *folder, *inner; struct mount own; struct stat at; const char **out; uint32_t n; };

static int consider (struct search *search, const struct mount *mount, struct arena *arena, struct err *err)
{
    if (mount->id == search->own.id || mount->major != search->own.major || mount->minor != search->own.minor)
        return 0;
    const char *name = name_of (mount, search->inner, arena);
    if (!name || confine_is_below (name, search->folder) || !shows (name, &search->at))
        return 0;
    if (search->n == ALIASES_MAX)
        return err_set (err, ERR_LIMIT, "%.200s has more than %d other names, by other mounts of its storage",
                        search->folder, ALIASES_MAX);
    search->out[search->n++] = name;
    return 0;
}

static uint32_t parse_all (char *table, struct mount **out, struct arena *arena)
{
    uint32_t lines = 1, n = 0;
    for (const char *at = table; (at = strchr (at, '\n')); at++)
        lines++;
    *out = arena_array (arena, lines, sizeof **out);
    char *save = NULL;
    for (char *line = strtok_r (table, "\n", &save); line; line = strtok_r (NULL, "\n", &save))
        n += parse (line, &(*out)[n]);
    return n;
}

static int find (struct search *search, struct mount *mounts, uint32_t n, struct arena *arena, struct err *err)
{
    struct statx st;
    if (statx (AT_FDCWD, search->folder, 0, STATX_MNT_ID, &st) < 0 || stat (search->folder, &search->at) < 0)
        return err_errno (err, ERR_IO, "cannot look at %.300s", search->folder);
    for (uint32_t i = 0; i < n; i++)
        if (mounts[i].id == st.stx_mnt_id)
            search->own = mounts[i];
    if (!(st.stx_mask & STATX_MNT_ID) || !search->own.point || !covers (search->own.point, search->folder))
        return err_set (err, ERR_STATE, "/proc/self/mountinfo does not tell the mount of %.300s", search->folder);
    const char *below = rest (search->folder, search->own.point);
    const char *within = strcmp (search->own.within, "/") ? search->own.within : "";
    search->inner = text_format (arena, "%s%s%s", within, below[0] && below[0] != '/' ? "/" : "", below).ptr;
    if (!search->inner[0])
        search->inner = "/";
    for (uint32_t i = 0; i < n; i++)
        if (consider (search, &mounts[i], arena, err) < 0)
            return -1;
    return 0;
}

int confine_alias_find (const char *folder, struct arena *arena, const char **out, uint32_t *n, struct err *err)
{
    struct buf table;
    struct mount *mounts;
    struct search search = { .folder = folder, .out = out };
    buf_init (&table, TABLE_BYTES_MAX);
    int rc = file_read ("/proc/self/mountinfo", &table, err);
    if (rc == 0) {
        char *text = (char *) text_copy (arena, buf_as_text (&table)).ptr;
        uint32_t mounts_n = parse_all (text, &mounts, arena);
        rc = find (&search, mounts, mounts_n, arena, err);
    }
    *n = rc == 0 ? search.n : 0;
    buf_release (&table);
    return rc;
}
