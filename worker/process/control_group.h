/* control_group.h - a leaf of cgroup v2 for everything that this worker starts: the second best way to end all of it.
 *
 * Whatever a program does, its processes stay in the leaf, and cgroup.kill ends them at once (Linux 5.14). Nothing ends
 * them when the worker is killed: a file in its directory names the leaf, and the next worker there empties it first.
 *
 * Main thread only. */
#ifndef SLICEUP_WORKER_PROCESS_CONTROL_GROUP_H
#define SLICEUP_WORKER_PROCESS_CONTROL_GROUP_H

#include "common/base/err.h"

struct control_group;
/* NULL: there is no cgroup v2 here in which this process may make groups; the error says what was missing. */
struct control_group *control_group_open (const char *directory, struct err *err);
void control_group_close (struct control_group *group);         /* kills what is in it, and removes it; NULL is fine */
int control_group_procs_fd (const struct control_group *group); /* for struct spawn_target */
void control_group_kill (const struct control_group *group);

/* Kills what an earlier worker of this directory left in its leaf; 1: there was one, 0: there was none. */
int control_group_empty_previous (const char *directory, struct err *err);

#endif
