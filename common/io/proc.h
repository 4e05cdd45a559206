/* proc.h - reads processes, the boot and mounts from /proc: proc(5). Any thread; most of it also in a child of fork. */
#ifndef SLICEUP_IO_PROC_H
#define SLICEUP_IO_PROC_H

#include "common/base/err.h"
#include "common/base/text.h"
#include <sys/types.h>

/* Writes the whole text into an existing file, in one write, as files of /proc require. -1: `errno` has the reason. */
int proc_file_write (const char *path, const char *text);
/* When the process began, from /proc/PID/stat, in ticks since the boot. */
bool proc_start_time (const char *stat_path, uint64_t *ticks);
/* The children of one thread of a process, at most `max`; returns how many. `out` may be NULL. */
uint32_t proc_children (const char *pid, const char *thread, pid_t *out, uint32_t max);

enum { PROC_BOOT_ID_BYTES = 40 };
/* Unique for each boot of a kernel (random(4), boot_id). */
int proc_boot_id (char id[PROC_BOOT_ID_BYTES], struct err *err);

struct proc_mount {
    uint64_t id;
    unsigned major, minor;
    const char *within, *point; /* `within`: the part of its file system that it shows; "": cut off */
    struct text options;        /* of the mount, as written in mountinfo */
    struct text type, source, system_options;
};
struct proc_mounts {
    struct proc_mount *items;
    uint32_t n;
}; /* in the order in which they were made */

/* The mounts that a process sees; `process` is its folder in /proc. All of it lives in the arena. */
int proc_mounts_read (const char *process, struct arena *arena, struct proc_mounts *out, struct err *err);
void proc_mounts_parse (struct text mountinfo, struct arena *arena,
                        struct proc_mounts *out); /* `mountinfo` is borrowed */
/* The mount of this process that `path` lies on. NULL: an error. */
const struct proc_mount *proc_mounts_find (const struct proc_mounts *mounts, const char *path, struct err *err);

#endif
