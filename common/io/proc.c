#include "common/io/proc.h"

#include "common/base/buf.h"
#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

int proc_file_write (const char *path, const char *text)
{
    LOCAL_FD fd = open (path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t bytes = strlen (text);
    return write (fd, text, bytes) == (ssize_t) bytes ? 0 : -1;
}

/* Field 2 is the program's name in parentheses, which may hold anything: fields are counted from the last ')'. */
bool proc_start_time (const char *stat_path, uint64_t *ticks)
{
    char stat[1024];
    char *field = file_read_start (stat_path, stat, sizeof stat) ? strrchr (stat, ')') : NULL;
    for (int i = 2; field && i < 22; i++)
        field = strchr (field + 1, ' ');
    return field && sscanf (field, " %" SCNu64, ticks) == 1;
}

uint32_t proc_children (const char *pid, const char *thread, pid_t *out, uint32_t max)
{
    char path[96];
    uint32_t n = 0;
    snprintf (path, sizeof path, "/proc/%.20s/task/%.20s/children", pid, thread);
    FILE *file = fopen (path, "re");
    for (int child; file && n < max && fscanf (file, "%d", &child) == 1; n++)
        if (out)
            out[n] = child;
    if (file)
        fclose (file);
    return n;
}

int proc_boot_id (char id[PROC_BOOT_ID_BYTES], struct err *err)
{
    if (file_read_start (BOOT_ID, id, PROC_BOOT_ID_BYTES) == 0)
        return err_errno (err, ERR_IO, BOOT_ID " cannot be read");
    id[strcspn (id, "\n")] = '\0';
    return 0;
}

/* ---- mounts ---- */

/* Blanks, tabs, newlines and backslashes stand as three octal digits. */
static const char *decoded (struct text raw, struct arena *arena)
{
    char *copy = (char *) text_format (arena, "%.*s", TEXT_ARG (raw)).ptr, *to = copy;
    for (const char *from = copy; *from; from++) {
        unsigned code;
        if (from[0] == '\\' && sscanf (from, "\\%3o", &code) == 1 && code < 256) {
            *to++ = (char) code;
            from += 3;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return copy;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"; any number of words before the "-". */
static bool parse_mount (struct text line, struct arena *arena, struct proc_mount *out)
{
    uint64_t major, minor;
    struct text id = text_take_until (&line, ' ');
    (void) text_take_until (&line, ' '); /* what it is mounted on */
    struct text device = text_take_until (&line, ' '), first = text_take_until (&device, ':');
    if (!text_to_u64 (id, &out->id) || !text_to_u64 (first, &major) || !text_to_u64 (device, &minor))
        return false;
    out->major = (unsigned) major;
    out->minor = (unsigned) minor;
    out->within = decoded (text_take_until (&line, ' '), arena);
    out->point = decoded (text_take_until (&line, ' '), arena);
    out->options = text_take_until (&line, ' ');
    while (line.len && !text_is (text_take_until (&line, ' '), "-"))
        continue;
    out->type = text_take_until (&line, ' ');
    out->source = text_take_until (&line, ' ');
    out->system_options = line;
    return true;
}

void proc_mounts_parse (struct text mountinfo, struct arena *arena, struct proc_mounts *out)
{
    uint32_t lines = 1;
    for (uint32_t i = 0; i < mountinfo.len; i++)
        lines += mountinfo.ptr[i] == '\n';
    *out = (struct proc_mounts){ .items = arena_array (arena, lines, sizeof *out->items) };
    while (mountinfo.len)
        out->n += parse_mount (text_take_until (&mountinfo, '\n'), arena, &out->items[out->n]);
}

int proc_mounts_read (const char *process, struct arena *arena, struct proc_mounts *out, struct err *err)
{
    enum { MOUNTS_BYTES_MAX = 4 * 1024 * 1024 };
    LOCAL_BUF bytes = { .max = MOUNTS_BYTES_MAX };
    int rc = file_read (text_format (arena, "%s/mountinfo", process).ptr, &bytes, err);
    if (rc == 0)
        proc_mounts_parse (text_copy (arena, buf_as_text (&bytes)), arena, out);
    return rc;
}

const struct proc_mount *proc_mounts_find (const struct proc_mounts *mounts, const char *path, struct err *err)
{
    struct statx st;
    if (statx (AT_FDCWD, path, 0, STATX_MNT_ID, &st) < 0) {
        err_errno (err, ERR_IO, "cannot examine %.200s to find its mount", path);
        return NULL;
    }
    if (!(st.stx_mask & STATX_MNT_ID)) {
        err_set (err, ERR_STATE, "this kernel does not report the mount of %.200s: that needs Linux 5.8 or later",
                 path);
        return NULL;
    }
    for (uint32_t i = 0; i < mounts->n; i++)
        if (mounts->items[i].id == st.stx_mnt_id)
            return &mounts->items[i];
    err_set (err, ERR_STATE, "/proc/self/mountinfo does not list the mount of %.200s", path);
    return NULL;
}
