/* confine_cache_paths.h - the cache as this host has it: real paths, and every other name by which it can be reached.
 *
 * Found before anything is taken away. It changes nothing. Texts live in the arena given. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_CACHE_PATHS_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_CACHE_PATHS_H

#include "worker/sandbox/confine_paths.h"

struct confine_cache_paths {
    const char *root, *scratch;    /* links resolved, as all of these */
    const char *bundle;            /* or the nearest folder above it that is there */
    const char *generation;        /* NULL: the program has no part in the cache */
    const char *own;               /* the generation, of a writer or a host's own; NULL: it only reads */
    const char *base;              /* NULL: none */
    const char *place, *directory; /* the folder of the constant path, and that of the worker; NULL: none */
    const char *hidden[CONFINE_HIDDEN_MAX + 3]; /* of those in the plan, and of the catalogue, what is there */
    uint32_t hidden_n;
    struct confine_paths paths;
    char mount[NAME_MAX_BYTES + 1]; /* common/cache/storage.h */
    bool read_only;                 /* the storage itself is, outside of any sandbox */
};

int confine_cache_paths_resolve (const struct confine_args *args, struct arena *arena, struct confine_cache_paths *out,
                                 struct err *err);

#endif
