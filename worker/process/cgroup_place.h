/* cgroup_place.h - finds the control group of a process in the file system, and its limits: cgroups(7). */
#ifndef SLICEUP_WORKER_PROCESS_CGROUP_PLACE_H
#define SLICEUP_WORKER_PROCESS_CGROUP_PLACE_H

#include "common/io/proc.h"
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup_place {
    char path[PATH_MAX]; /* its folder; empty: none found */
    uint32_t mount_len;  /* length of the mount point in `path`; folders below are groups */
    bool v1;
};
/* Parses the text of /proc/PID/cgroup. `controller` of v1, such as "memory"; empty: the group of v2. False: no such
 * group, not mounted here, or outside the mounted part. */
bool cgroup_place_find (struct text cgroup, const struct proc_mounts *mounts, const char *controller,
                        struct cgroup_place *out);
/* The group of a process, by its folder in /proc; `self` is this process's folder. In the hierarchy of v1 with
 * `controller`, else in v2. Empty `controller`: only v2. */
bool cgroup_place_read (const char *process, const char *self, const char *controller, struct cgroup_place *out);
/* Goes to the parent group; false: none is visible. */
bool cgroup_place_go_up (struct cgroup_place *place);
/* Parses a limit file; 0: no limit, which v1 writes as 63 bits rounded to whole pages. */
uint64_t cgroup_limit (struct text value);

/* Counts the processes that the kernel killed for lack of memory while a program ran.
 *
 * The kernel counts them: for each memory cgroup (cgroup v2: `oom_kill` of memory.events; v1: of memory.oom_control)
 * and for the whole machine (`oom_kill` of /proc/vmstat, which includes those of cgroups). An unreadable counter counts
 * as unchanged. */
/* Reads a value from lines "name value"; false: no such name. Pure. */
bool memory_counter_read (struct text lines, const char *name, uint64_t *value);

struct memory_kills {
    uint64_t of_group, of_machine;
    uint64_t limit_bytes; /* after kills the least of the group and its parents; 0: none, or not visible */
    uint32_t counted_len; /* length of the path of the counted group; 0: no group has a counter */
    bool shared;          /* the counted group is a parent of the program's: others may be in it */
};
struct memory_watch {
    struct cgroup_place group;
    struct memory_kills before;
};
void memory_watch_begin (pid_t program, struct memory_watch *out);
/* Kills since the watch began. The program may be gone, but its group must exist. */
struct memory_kills memory_watch_end (const struct memory_watch *watch);

#endif
