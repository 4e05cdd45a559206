/* remount_probe.h - tries whether a process in this sandbox can undo read-only mounts, directly or from a user
 * namespace of its own.
 *
 * What could be undone is made read-only again, or was undone in a child's own mount namespace. */
#ifndef SLICEUP_WORKER_SANDBOX_REMOUNT_PROBE_H
#define SLICEUP_WORKER_SANDBOX_REMOUNT_PROBE_H

#include <stdbool.h>

enum { REMOUNT_BY_REMOUNT = 1, REMOUNT_BY_UMOUNT = 2 };

/* Bits of those that are open. `mounts`: two, NULL for none. `own_mounts`: this process has a mount namespace of its
 * own, so that it is also tried here and now; else only in namespaces that are made for it. */
int remount_probe (const char *const mounts[2], bool own_mounts);

#endif
