/* cgroup_place.h - where the control group of a process lies in the file system: cgroups(7). Pure. */
#ifndef SLICEUP_WORKER_PROCESS_CGROUP_PLACE_H
#define SLICEUP_WORKER_PROCESS_CGROUP_PLACE_H

#include "common/base/text.h"
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct cgroup_place {
    char path[PATH_MAX]; /* its folder; empty: none was found */
    uint32_t mount_len;  /* of `path`: the folders below are groups */
};
/* Of the texts of /proc/PID/cgroup and mountinfo. `controller` of v1, such as "memory"; empty: the group of v2. False: no
 * such group, it is not mounted here, or it lies outside of what is. */
bool cgroup_place_find (struct text cgroup, struct text mountinfo, const char *controller, struct cgroup_place *out);

#endif
