/* write_probe.h - tries every way to write a cache, from inside the sandbox that a program gets.
 *
 * Those here are tried in one folder of the cache. The names and what they mean are those of docs/spec/cache.md.
 * Nothing stays changed: what worked is taken back, contents are only ever touched of WITNESS, which is there for it. A
 * way counts as refused whatever the reason. It knows nothing of how a sandbox is made. It starts short-lived children;
 * call it while this process has no thread but one. */
#ifndef SLICEUP_WORKER_SANDBOX_WRITE_PROBE_H
#define SLICEUP_WORKER_SANDBOX_WRITE_PROBE_H

#include "common/model/plan.h"
#include <stdbool.h>
#include <stdint.h>

#define WITNESS_NAME "WITNESS"

enum probe {
    PROBE_CREATE,
    PROBE_TMPFILE,
    PROBE_APPEND,
    PROBE_OVERWRITE,
    PROBE_TRUNCATE,
    PROBE_RENAME,
    PROBE_UNLINK,
    PROBE_CHMOD,
    PROBE_UTIMES,
    PROBE_SETXATTR,
    PROBE_SYMLINK,
    PROBE_LINK,
    PROBE_MKDIR,
    PROBE_MKFIFO,
    PROBE_PROC_ROOT,
    PROBE_WORKER_ROOT,
    PROBE_REMOUNT,
    PROBE_UMOUNT,
    PROBE_SETFLAGS,
    PROBE_IO_URING,
    PROBE_CATALOGUE_LOCK,
    PROBE_OWN_CREATE,
    PROBE_OWN_WRITE,
    PROBE_OWN_RENAME,
    PROBE_PATH_SOCKET,
    PROBE_ABSTRACT_SOCKET,
    PROBES_N
};
#define PROBE_BIT(probe) (UINT32_C (1) << (probe))

struct write_probe_target {
    const char *folder;    /* absolute: things are made in it, and in its WITNESS */
    bool witness;          /* there is one */
    const char *mounts[2]; /* read-only mounts that must stay; NULL: none */
    bool own_mounts;       /* this process has mounts of its own: they may be attacked without harm */
};

const char *write_probe_name (enum probe probe);
bool write_probe_find (struct text name, enum probe *probe);
/* Open ones as bits; none of other files' (sliceup_files_probe.h, socket_probe.h, PROBE_CATALOGUE_LOCK). */
uint32_t write_probe_try_all (const struct write_probe_target *target);
/* <root>/catalogue.db and what belongs to it: may be locked, so that nobody can write it? */
bool write_probe_catalogue_lock (const char *root);

/* Does the level promise that the way is closed? Landlock knows nothing of modes, times and attributes. */
bool write_probe_level_closes (enum enforcement level, enum probe probe);
/* The best of the levels in `set` (bits 1 << level), none of whose promises is broken; COOPERATIVE promises nothing. */
enum enforcement write_probe_best_level (uint32_t set, uint32_t open_ways);

#endif
