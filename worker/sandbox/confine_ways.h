/* confine_ways.h - every way to write a cache, tried from inside the sandbox that a program gets.
 *
 * Those here are tried in one folder of the cache. The names and what they mean are those of docs/spec/cache.md. Nothing stays changed: what worked is taken back,
 * contents are only ever touched of WITNESS, which is there for it. A way counts as refused whatever the reason. It
 * knows nothing of how a sandbox is made. It starts short-lived children; call it while this process has no thread but
 * one. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_WAYS_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_WAYS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/model/plan.h"

#define WITNESS_NAME "WITNESS"

enum way { WAY_CREATE, WAY_TMPFILE, WAY_APPEND, WAY_OVERWRITE, WAY_TRUNCATE, WAY_RENAME, WAY_UNLINK, WAY_CHMOD,
           WAY_UTIMES, WAY_SETXATTR, WAY_SYMLINK, WAY_LINK, WAY_MKDIR, WAY_MKFIFO, WAY_PROC_ROOT, WAY_WORKER_ROOT,
           WAY_REMOUNT, WAY_UMOUNT, WAY_SETFLAGS, WAY_IO_URING, WAY_CATALOGUE_LOCK, WAY_OWN_CREATE, WAY_OWN_WRITE,
           WAY_OWN_RENAME, WAY_PATH_SOCKET, WAY_ABSTRACT_SOCKET, WAYS_N };
#define WAY_BIT(way) (UINT32_C (1) << (way))

struct ways_target {
    const char *folder;         /* absolute: things are made in it, and in its WITNESS */
    bool witness;               /* there is one */
    const char *mounts[2];      /* read-only mounts that must stay; NULL: none */
    bool own_mounts;            /* this process has mounts of its own: they may be attacked without harm */
};

const char *way_name (enum way way);
bool way_find (struct text name, enum way *way);
/* Bits of those that are open. Of those in other files (confine_own.h, confine_deputy.h, WAY_CATALOGUE_LOCK) none. */
uint32_t ways_try (const struct ways_target *target);
/* <root>/catalogue.db and what belongs to it: may be locked, so that nobody can write it? */
bool ways_lock_catalogue (const char *root);

/* Does the level promise that the way is closed? Landlock knows nothing of modes, times and attributes. */
bool way_is_promised (enum enforcement level, enum way way);
/* The best of the levels in `set` (bits 1 << level), none of whose promises is broken; COOPERATIVE promises nothing. */
enum enforcement ways_level (uint32_t set, uint32_t open_ways);

#endif
