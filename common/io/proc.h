/* proc.h - what /proc tells of processes, of the boot and of mounts: proc(5). Any thread; most of it also in a child of
 * fork. */
#ifndef SLICEUP_IO_PROC_H
#define SLICEUP_IO_PROC_H

#include "common/base/err.h"
#include "common/base/text.h"
#include <sys/types.h>

/* The whole text into a file that exists, in one write, as files of /proc want it. -1: `errno` has the reason. */
int proc_file_write (const char *path, const char *text);
/* What /proc/PID/stat says of when the process began, in ticks since the start of the machine. */
bool proc_start_time (const char *stat_path, uint64_t *ticks);
/* The children of one thread of a process, at most `max`; how many. `out` may be NULL. */
uint32_t proc_children (const char *pid, const char *thread, pid_t *out, uint32_t max);

enum { PROC_BOOT_ID_BYTES = 40 };
/* No two boots of a kernel have the same (random(4), boot_id). */
int proc_boot_id (char id[PROC_BOOT_ID_BYTES], struct err *err);

struct proc_mount {
    uint64_t id;
    unsigned major, minor;
    const char *within, *point; /* `within`: the part of its file system that it shows; "": it was cut off */
    struct text options;        /* of the mount; these as they are written */
    struct text type, source, system_options;
};
struct proc_mounts {
    struct proc_mount *items;
    uint32_t n;
}; /* in the order in which they were made */

/* What is mounted where, as a process sees it; `process` is its folder in /proc. All of it lives in the arena. */
int proc_mounts_read (const char *process, struct arena *arena, struct proc_mounts *out, struct err *err);
void proc_mounts_parse (struct text mountinfo, struct arena *arena,
                        struct proc_mounts *out); /* `mountinfo` is borrowed */
/* The one that `path` lies on, of the mounts of this process. NULL: an error. */
const struct proc_mount *proc_mounts_find (const struct proc_mounts *mounts, const char *path, struct err *err);

#endif
