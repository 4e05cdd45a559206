/* confine_mounts.h - a mount namespace in which only what the places allow can be written (confine_paths.h), and which
 * the program cannot undo.
 *
 * Every mount becomes read-only but for the open places; what is closed in those does as well, and no folder above it
 * can be moved away; scratch and the own generation of a writer stay writable. At the constant path lies the generation
 * itself, or an overlay above it. Out of sight are the catalogue, on which a lock would be as good as a write, and what
 * the plan hides. /dev is its own: confine_devices.h.
 *
 * With CAP_SYS_ADMIN the namespace is made as it is and rests on capabilities that are given up afterwards
 * (confine_caps.h); without it, inside a user namespace, and the program gets a second one inside that, in which mounts
 * of the first are locked (mount_namespaces(7)). What the host mounts later, outside of what is closed, is seen in it
 * as the host has it. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_MOUNTS_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_MOUNTS_H

#include "worker/sandbox/confine_cache_paths.h"

/* On -1 all mounts are as they were, though perhaps in a namespace of their own. One thread only. */
int confine_mounts_enter (const struct confine_cache_paths *cache_paths, bool overlay, struct err *err);

#endif
