/* confine_paths.h - where a confined program may write and where not, for both mounts and Landlock.
 *
 * A program may write in the usual places (/tmp, /var/tmp, those of /dev), in places of the slice file, and in its own:
 * scratch, and a writer's generation. All else is read-only, and so are closed paths within these: the cache, and what
 * sliceup itself executes, imports, reads as configuration or trusts ("protected"). Lists real paths that exist, under
 * every name of their storage here, and links to closed paths that a program could replace. Everything lives in the
 * arena given; it changes nothing. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_PATHS_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_PATHS_H

#include "common/base/err.h"
#include "worker/sandbox/confine.h"

enum { PLACES_OPEN_MAX = 8 + WRITABLE_MAX, PLACES_CLOSED_MAX = 256, PLACES_OWN_MAX = 2, PLACES_LINKS_MAX = 64 };

struct confine_paths {
    const char *open[PLACES_OPEN_MAX], *own[PLACES_OWN_MAX];
    const char *closed[PLACES_CLOSED_MAX], *closed_files[PLACES_CLOSED_MAX]; /* folders; and single files */
    const char *links[PLACES_LINKS_MAX]; /* in open places, on the way to closed paths */
    uint32_t open_n, own_n, closed_n, closed_files_n, links_n;
    /* Sliceup's own of `closed`, under their first names, and `links`. */
    const char *protected[CONFINE_PROTECTED_MAX + 1 + PLACES_LINKS_MAX];
    uint32_t protected_n;
};

/* Is `path` one of the usual writable places, or in one? */
bool confine_paths_is_usual (const char *path);
bool confine_paths_below_usual (const char *path);
bool confine_paths_is_open (const struct confine_paths *paths, const char *path); /* in one of `open` */
/* The place in `open` that holds `path`; NULL: none. */
const char *confine_paths_open_holding (const struct confine_paths *paths, const char *path);

/* ---- confine cache paths ---- */

/* The cache's paths on this host: real paths, and every other name by which it can be reached.
 *
 * Call it before rights are dropped. It changes nothing. Texts live in the arena given. */

struct confine_cache_paths {
    const char *root, *scratch;    /* all of these with links resolved */
    const char *bundle;            /* or its nearest existing parent */
    const char *generation;        /* NULL: the program does not use the cache */
    const char *own;               /* the generation that a writer or a host cache may write; NULL: read only */
    const char *base;              /* NULL: none */
    const char *place, *directory; /* the folder of the constant path, and that of the worker; NULL: none */
    const char *hidden[CONFINE_HIDDEN_MAX + 3]; /* existing ones of the plan's, and of the catalogue */
    uint32_t hidden_n;
    struct confine_paths paths;
    char mount[NAME_MAX_BYTES + 1]; /* common/cache/storage.h */
    bool read_only;                 /* the storage itself is read-only, outside of any sandbox */
};

int confine_cache_paths_resolve (const struct confine_args *args, struct arena *arena, struct confine_cache_paths *out,
                                 struct err *err);

#endif
