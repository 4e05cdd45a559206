/* confine_mounts.h - a mount namespace in which the cache cannot be written, and which the program cannot undo.
 *
 * The root of the cache and its other names become read-only; the own generation of a writer stays writable; at the
 * constant path lies the generation itself, or an overlay above it. With CAP_SYS_ADMIN the namespace is made as it is
 * and rests on capabilities that are given up afterwards (confine_caps.h); without it, inside a user namespace, and
 * the program gets a second one inside that, in which mounts of the first are locked (mount_namespaces(7)). */
#ifndef SLICEUP_WORKER_CONFINE_MOUNTS_H
#define SLICEUP_WORKER_CONFINE_MOUNTS_H

#include "worker/io/confine_site.h"

/* On -1 all mounts are as they were, though perhaps in a namespace of their own. One thread only. */
int confine_mounts_enter (const struct confine_site *site, bool overlay, struct err *err);

#endif
