/* frontend_row.h - what the table knows of one frontend; private to common/frontend. Sources stand beside the rows. */
#ifndef SLICEUP_COMMON_FRONTEND_FRONTEND_ROW_H
#define SLICEUP_COMMON_FRONTEND_FRONTEND_ROW_H

#include "common/frontend/frontend.h"

/* OWN has no column: it writes as the WRITER does. */
enum {
    FRONTEND_ROLES = CACHE_ROLE_WRITER + 1,
    CACHE_VARS_MAX = 8,
    BASE_VARS_MAX = 2,
    SPOILERS_MAX = 4,
    ALONE_VARS_MAX = 32
};
enum { BROKEN_MAX = 3 };

struct cache_var {
    const char *name;
    const char *by_role[FRONTEND_ROLES]; /* NULL: not set for this role */
};
struct base_var {
    const char *name, *value;
};

/* Releases whose persistent cache lacks what we rely on. */
struct broken_release {
    const char *package;      /* as PEP 503 normalises package names */
    const char *from, *until; /* first broken release, and the first mended one; NULL: no bound */
    const char *backend;      /* NULL: on all of them */
    const char *what, *next;  /* "<package> <version> <what>: <next>" */
};

struct frontend {
    const char *name;
    struct cache_var cache[CACHE_VARS_MAX];
    struct base_var base[BASE_VARS_MAX];
    const char *why_base;                  /* why base variables are set: "so that the frontend <why_base>" */
    struct base_var alone[ALONE_VARS_MAX]; /* of one host of a TPU slice; value NULL: not set, not inherited */
    const char *modules;                   /* that its programs import, which make no client: preload.h; NULL: none */
    const char *requests, *hits;
    const char *spoilers[SPOILERS_MAX];
    bool writer_is_rank_0;
    struct broken_release broken[BROKEN_MAX];
};

#endif
