#include "worker/sandbox/mount_table.h"

#include "common/base/path.h"
#include "common/base/text.h"
#include "common/io/atomic_file.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { TABLE_BYTES_MAX = 4 * 1024 * 1024, FIELDS = 5 };

/* ---- reading ---- */

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
    char *save = NULL, *fields[FIELDS] = { NULL };
    for (int i = 0; i < FIELDS; i++)
        if (!(fields[i] = strtok_r (i ? NULL : line, " ", &save)))
            return false;
    if (sscanf (fields[0], "%" SCNu64, &mount->id) != 1 ||
        sscanf (fields[2], "%u:%u", &mount->major, &mount->minor) != 2)
        return false;
    decode (fields[3]);
    decode (fields[4]);
    mount->within = fields[3];
    mount->point = fields[4];
    return true;
}

static void parse_all (char *text, struct arena *arena, struct mount_table *out)
{
    uint32_t lines = 1;
    for (const char *at = text; (at = strchr (at, '\n')); at++)
        lines++;
    *out = (struct mount_table){ .items = arena_array (arena, lines, sizeof *out->items) };
    char *save = NULL;
    for (char *line = strtok_r (text, "\n", &save); line; line = strtok_r (NULL, "\n", &save))
        out->n += parse (line, &out->items[out->n]);
}

int mount_table_read (struct arena *arena, struct mount_table *out, struct err *err)
{
    struct buf bytes;
    buf_init (&bytes, TABLE_BYTES_MAX);
    int rc = file_read ("/proc/self/mountinfo", &bytes, err);
    if (rc == 0)
        parse_all ((char *) text_copy (arena, buf_as_text (&bytes)).ptr, arena, out);
    buf_release (&bytes);
    return rc;
}

/* ---- other names ---- */

static const char *rest (const char *path, const char *folder)
{
    return strcmp (folder, "/") == 0 ? path : path + strlen (folder);
}

/* The name of `inner` (a path within the file system) below the mount, when it shows that or a part of it. */
static const char *name_of (const struct mount *mount, const char *inner, struct arena *arena)
{
    if (path_is_below (inner, mount->within)) {
        const char *below = rest (inner, mount->within), *point = strcmp (mount->point, "/") ? mount->point : "";
        return text_format (arena, "%s%s%s", point, below[0] && below[0] != '/' ? "/" : "", below).ptr;
    }
    return path_is_below (mount->within, inner) ? mount->point : NULL;
}

/* Another mount may lie over it. */
static bool shows (const char *path, const struct stat *of)
{
    struct stat at;
    return path[0] && lstat (path, &at) == 0 && S_ISDIR (at.st_mode) && at.st_dev == of->st_dev;
}

/* Which mount `folder` lies on, and its path within the file system. */
static const struct mount *mount_of (const struct mount_table *table, const char *folder, struct arena *arena,
                                     const char **inner, struct err *err)
{
    struct statx st;
    const struct mount *own = NULL;
    if (statx (AT_FDCWD, folder, 0, STATX_MNT_ID, &st) < 0) {
        err_errno (err, ERR_IO, "cannot inspect %.300s", folder);
        return NULL;
    }
    for (uint32_t i = 0; i < table->n && st.stx_mask & STATX_MNT_ID; i++)
        if (table->items[i].id == st.stx_mnt_id)
            own = &table->items[i];
    if (!own || !path_is_below (folder, own->point)) {
        err_set (err, ERR_STATE, "/proc/self/mountinfo does not list the mount of %.300s", folder);
        return NULL;
    }
    const char *below = rest (folder, own->point), *within = strcmp (own->within, "/") ? own->within : "";
    *inner = text_format (arena, "%s%s%s", within, below[0] && below[0] != '/' ? "/" : "", below).ptr;
    if (!(*inner)[0])
        *inner = "/";
    return own;
}

int mount_table_aliases (const struct mount_table *table, const char *folder, struct arena *arena, const char **out,
                         uint32_t max, uint32_t *n, struct err *err)
{
    struct stat at;
    const char *inner;
    const struct mount *own = mount_of (table, folder, arena, &inner, err);
    if (!own)
        return -1;
    if (stat (folder, &at) < 0)
        return err_errno (err, ERR_IO, "cannot inspect %.300s", folder);
    for (uint32_t i = 0; i < table->n; i++) {
        const struct mount *mount = &table->items[i];
        if (mount == own || mount->major != own->major || mount->minor != own->minor)
            continue;
        const char *name = name_of (mount, inner, arena);
        if (!name || path_is_below (name, folder) || !shows (name, &at))
            continue;
        if (*n == max)
            return err_set (err, ERR_LIMIT,
                            "%.200s and the other protected paths are mounted in more than %u other places", folder,
                            max);
        out[(*n)++] = name;
    }
    return 0;
}
