/* cgroup_place.h - where the control group of a process lies in the file system, and what limits it: cgroups(7). */
#ifndef SLICEUP_WORKER_PROCESS_CGROUP_PLACE_H
#define SLICEUP_WORKER_PROCESS_CGROUP_PLACE_H

#include "common/io/proc.h"
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup_place {
    char path[PATH_MAX]; /* its folder; empty: none was found */
    uint32_t mount_len;  /* of `path`: the folders below are groups */
    bool v1;
};
/* Of the text of /proc/PID/cgroup. `controller` of v1, such as "memory"; empty: the group of v2. False: no
 * such group, it is not mounted here, or it lies outside of what is. */
bool cgroup_place_find (struct text cgroup, const struct proc_mounts *mounts, const char *controller,
                        struct cgroup_place *out);
/* Of a process, by its folder in proc, as this process reaches it, whose folder is `self`. In the hierarchy of v1 that has
 * `controller`, and else in that of v2, which does not have it then. Empty: only v2. */
bool cgroup_place_read (const char *process, const char *self, const char *controller, struct cgroup_place *out);
/* To the group above; false: there is none in sight. */
bool cgroup_place_go_up (struct cgroup_place *place);
/* What a file of a limit holds; 0: no limit, which v1 writes as what fits 63 bits in whole pages. */
uint64_t cgroup_limit (struct text value);

/* How many processes the kernel killed because memory ran out, while a program ran.
 *
 * The kernel counts them: for each memory cgroup (cgroup v2: `oom_kill` of memory.events; v1: of memory.oom_control) and
 * for the whole machine (`oom_kill` of /proc/vmstat, from which those of cgroups are not left out). A counter that cannot
 * be read counts as one that did not grow. */
/* Of lines "name value"; false: none has this name. Pure. */
bool memory_counter_read (struct text lines, const char *name, uint64_t *value);

struct memory_kills {
    uint64_t of_group, of_machine;
    uint64_t limit_bytes; /* the least of the group and those above it; 0: none, or not visible */
    uint32_t counted_len; /* of the path of the group that was counted; 0: none has a counter */
    bool shared;          /* that is one above the program's own: others may be in it */
};
struct memory_watch {
    struct cgroup_place group;
    struct memory_kills before;
};
void memory_watch_begin (pid_t program, struct memory_watch *out);
/* Since then. The program may be gone; its group is not. */
struct memory_kills memory_watch_end (const struct memory_watch *watch);

#endif
