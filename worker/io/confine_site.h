/* confine_site.h - the cache as this host has it: real paths, and every other name by which it can be reached.
 *
 * Found before anything is taken away. It changes nothing. Texts live in the arena given. */
#ifndef SLICEUP_WORKER_CONFINE_SITE_H
#define SLICEUP_WORKER_CONFINE_SITE_H

#include "worker/io/confine_plan.h"

enum { ALIASES_MAX = 64 };

struct confine_site {
    const char *root, *scratch; /* links resolved, as all of these */
    const char *bundle;         /* or the nearest folder above it that is there */
    const char *generation;
    const char *own;            /* the generation, of a writer or a host's own; NULL: it only reads */
    const char *base;           /* NULL: none */
    const char *place, *directory; /* the folder of the constant path, and that of the worker; NULL: none */
    const char *aliases[ALIASES_MAX]; /* other mounts of the same storage that show the root, or a part of it */
    uint32_t aliases_n;
    char mount[NAME_MAX_BYTES + 1]; /* common/cache/storage.h */
    bool read_only;             /* the storage itself is, outside of any sandbox */
};

int confine_site_find (const struct confine_plan *plan, struct arena *arena, struct confine_site *out, struct err *err);
bool confine_is_below (const char *path, const char *folder); /* also when they are the same */

#endif
