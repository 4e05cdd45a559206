/* mount_table.h - what is mounted where, as this process sees it: /proc/self/mountinfo (proc_pid_mountinfo(5)).
 *
 * Everything lives in the arena given. */
#ifndef SLICEUP_WORKER_SANDBOX_MOUNT_TABLE_H
#define SLICEUP_WORKER_SANDBOX_MOUNT_TABLE_H

#include "common/base/err.h"
#include "common/base/mem.h"
#include <stdbool.h>
#include <stdint.h>

struct mount {
    uint64_t id;
    unsigned major, minor;
    const char *within, *point; /* `within`: the part of its file system that it shows */
};
struct mount_table {
    struct mount *items;
    uint32_t n;
}; /* in the order in which they were made */

int mount_table_read (struct arena *arena, struct mount_table *out, struct err *err);
/* One storage can be mounted at several places; what is below `folder` then has several names. Adds the other reachable
 * ones to `out` (`*n` of `max` used). It cannot know mounts of one server with different device numbers. */
int mount_table_aliases (const struct mount_table *table, const char *folder, struct arena *arena, const char **out,
                         uint32_t max, uint32_t *n, struct err *err);

#endif
