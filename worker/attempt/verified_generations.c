#include "worker/attempt/verified_generations.h"

#include "common/base/digest.h"
#include "common/io/atomic_file.h"
#include "common/io/proc.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = DIGEST_HEX_BYTES, LINES_MAX = 64, PATH_BYTES = PATH_MAX_BYTES + 16 };

static int path_of (const char *directory, char path[PATH_BYTES], struct err *err)
{
    int len = snprintf (path, PATH_BYTES, "%s/verified", directory);
    return len < 0 || len >= PATH_BYTES ? err_set (err, ERR_LIMIT, "the path of the worker's directory is too long")
                                        : 0;
}

static int line_of (const struct cache_access *access, char line[LINE_BYTES + 1], struct err *err)
{
    char boot[PROC_BOOT_ID_BYTES];
    struct buf key;
    if (proc_boot_id (boot, err) < 0)
        return -1;
    buf_init (&key, 2 * PATH_MAX_BYTES);
    buf_printf (&key, "%s %" PRIu64 " %.*s ", boot, access->token, TEXT_ARG (access->sha256));
    buf_add_text (&key, access->frontend_root);
    struct digest digest = digest_of (key.ptr, key.len);
    digest_hex (&digest, line);
    memcpy (line + LINE_BYTES - 1, "\n", 2);
    buf_release (&key);
    return 0;
}

static bool holds (struct text lines, const char *line)
{
    for (; lines.len >= LINE_BYTES; lines.ptr += LINE_BYTES, lines.len -= LINE_BYTES)
        if (!memcmp (lines.ptr, line, LINE_BYTES))
            return true;
    return false;
}

bool verified_contains (const char *directory, const struct cache_access *access)
{
    char path[PATH_BYTES], line[LINE_BYTES + 1];
    struct buf lines;
    buf_init (&lines, LINES_MAX * LINE_BYTES);
    bool before = path_of (directory, path, NULL) == 0 && line_of (access, line, NULL) == 0 &&
                  file_read (path, &lines, NULL) == 0 && holds (buf_as_text (&lines), line);
    buf_release (&lines);
    return before;
}

int verified_note (const char *directory, const struct cache_access *access, struct err *err)
{
    char path[PATH_BYTES], line[LINE_BYTES + 1];
    struct buf lines, kept;
    if (path_of (directory, path, err) || line_of (access, line, err))
        return -1;
    buf_init (&lines, LINES_MAX * LINE_BYTES);
    buf_init (&kept, LINES_MAX * LINE_BYTES);
    struct text old = { 0 };
    if (file_read (path, &lines, NULL) == 0) /* there may be none */
        old = text_clip (buf_as_text (&lines), (LINES_MAX - 1) * LINE_BYTES);
    buf_add (&kept, line, LINE_BYTES);
    buf_add_text (&kept, old);
    int rc = atomic_file_write (path, kept.ptr, kept.len, 0600, err);
    buf_release (&kept);
    buf_release (&lines);
    return rc;
}
