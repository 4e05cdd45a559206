/* confine_paths.h - where a confined program may write and where not: one answer for mounts and for Landlock.
 *
 * A program may write in the places that every program finds writable (/tmp, /var/tmp, those of /dev), in those
 * that the slice file names, and in its own: scratch, and the generation of a writer. It may write nowhere else, and
 * nowhere in what is closed: the cache, and what sliceup itself executes, imports, reads as configuration or trusts
 * ("protected"). Real paths of what is there, under every name that its storage has here, and the links that lead to
 * what is closed, where a program could replace them. Everything lives in the arena given; it changes nothing. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_PATHS_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_PATHS_H

#include "common/base/err.h"
#include "worker/sandbox/confine_args.h"

enum { PLACES_OPEN_MAX = 8 + WRITABLE_MAX, PLACES_CLOSED_MAX = 256, PLACES_OWN_MAX = 2, PLACES_LINKS_MAX = 64 };

struct confine_paths {
    const char *open[PLACES_OPEN_MAX], *own[PLACES_OWN_MAX];
    const char *closed[PLACES_CLOSED_MAX], *closed_files[PLACES_CLOSED_MAX]; /* folders; and single files */
    const char *links[PLACES_LINKS_MAX]; /* in open places, on the way to what is closed */
    uint32_t open_n, own_n, closed_n, closed_files_n, links_n;
    /* Those of `closed` that are sliceup's own, under their first names, and `links`. */
    const char *protected[CONFINE_PROTECTED_MAX + 1 + PLACES_LINKS_MAX];
    uint32_t protected_n;
};

/* The other names of the site: `directory` is the worker's, `own` the generation that may be written; NULL: none.
 * ERR_STATE: a program could choose what one of the plan's writable paths names, or it is the whole file system. */
int confine_paths_find (const struct confine_args *args, const char *root, const char *directory, const char *scratch,
                        const char *own, struct arena *arena, struct confine_paths *out, struct err *err);
/* Of the places that every program finds writable: `path` is one, or lies in one. */
bool confine_paths_is_usual (const char *path);
bool confine_paths_below_usual (const char *path);
bool confine_paths_is_open (const struct confine_paths *paths, const char *path); /* in one of `open` */
/* The place in `open` that holds `path`; NULL: none does. */
const char *confine_paths_open_holding (const struct confine_paths *paths, const char *path);

/* Lists the symbolic links of a path, as the kernel resolves them.
 *
 * A user who may replace such a link chooses what the path names. It changes nothing and checks no permissions. */
enum { PATH_LINKS_MAX = 40 }; /* as the kernel's own, path_resolution(7) */

/* -1 stops. `link` lives until it returns. */
typedef int path_link_fn (void *owner, const char *link, struct err *err);
/* Calls `fn` for each link on the way and at the end, with its own place: the real folder that it lies in, and its
 * name. A relative path is one of this process's folder. What is not there, or cannot be reached, ends the way: 0.
 * ERR_LIMIT: more than PATH_LINKS_MAX links, or a path that is too long. */
int path_links_each (const char *path, path_link_fn *fn, void *owner, struct err *err);

/* ---- confine cache paths ---- */

/* The cache as this host has it: real paths, and every other name by which it can be reached.
 *
 * Found before anything is taken away. It changes nothing. Texts live in the arena given. */

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
