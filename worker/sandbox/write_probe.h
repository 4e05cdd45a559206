/* write_probe.h - tries every way to write a cache, from inside the sandbox that a program gets.
 *
 * It tries them in one folder of the cache. docs/spec/cache.md explains their names. Nothing stays changed: it undoes
 * what worked, and writes only the content of WITNESS, which is there for that. A way counts as refused for any reason.
 * It knows nothing of how a sandbox is made. It starts short-lived children; call it while this process has only one
 * thread. */
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
    const char *folder;    /* absolute: it makes files here, and writes its WITNESS */
    bool witness;          /* WITNESS exists */
    const char *mounts[2]; /* read-only mounts that must stay; NULL: none */
    bool own_mounts;       /* this process has its own mounts, which may be attacked without harm */
};

const char *write_probe_name (enum probe probe);
bool write_probe_find (struct text name, enum probe *probe);
/* Open ways as bits, without those of other files (sliceup_files_probe.h, socket_probe.h, PROBE_CATALOGUE_LOCK). */
uint32_t write_probe_try_all (const struct write_probe_target *target);
/* Can a file of this name be made? Nothing may lie there; it is removed again. O_RDONLY: making a name and writing are
 * different rights (landlock(7)), and each is a way of its own. */
bool write_probe_creates (const char *path);
/* Can <root>/catalogue.db or its companion files be locked, so that nobody can write it? */
bool write_probe_catalogue_lock (const char *root);

/* Should the level close this way? Landlock does not close modes, times and attributes. */
bool write_probe_level_closes (enum enforcement level, enum probe probe);
/* The best level in `set` (bits 1 << level) with all its ways closed; COOPERATIVE closes none. */
enum enforcement write_probe_best_level (uint32_t set, uint32_t open_ways);

#endif
