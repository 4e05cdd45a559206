/* memory_kills.h - how many processes the kernel killed because memory ran out, while a program ran.
 *
 * The kernel counts them: for each memory cgroup (cgroup v2: `oom_kill` of memory.events; v1: of memory.oom_control) and
 * for the whole machine (`oom_kill` of /proc/vmstat, from which those of cgroups are not left out). A counter that cannot
 * be read counts as one that did not grow. */
#ifndef SLICEUP_WORKER_PROCESS_MEMORY_KILLS_H
#define SLICEUP_WORKER_PROCESS_MEMORY_KILLS_H

#include "worker/process/cgroup_place.h"
#include <sys/types.h>

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
