/* cache_audit.h - compares a cache root with its catalogue: foreign tokens, abandoned generations that changed since they
 * were first seen abandoned, published ones that are not what was sealed.
 *
 * It changes only what it remembers of abandoned generations in the catalogue. One thread. */
#ifndef SLICEUP_COORDINATOR_CATALOGUE_CACHE_AUDIT_H
#define SLICEUP_COORDINATOR_CATALOGUE_CACHE_AUDIT_H

#include "coordinator/catalogue/catalogue.h"

struct cache_audit_progress {
    struct text bundle;
    uint64_t token;
    uint32_t done, all;
};
struct cache_audit_options {
    struct catalogue *catalogue;
    const char *root;
    const uid_list *trust;  /* who may own a generation (storage.h); others' are not read; NULL: anybody */
    bool every_byte;        /* else: names, kinds, sizes, modes */
    const uint64_t *tokens; /* only these; none: all */
    uint32_t tokens_n;
    void (*progress) (void *owner,
                      const struct cache_audit_progress *progress); /* before each generation; NULL is fine */
    void *owner;
};
struct cache_audit_problem {
    struct text bundle;
    uint64_t token;
    struct text why;
}; /* token 0: of the whole bundle */
struct cache_audit_result {
    uint32_t generations; /* published ones that were compared with their manifest */
    uint64_t bytes;       /* their size */
    LIST_OF (struct cache_root_finding) found;
    LIST_OF (struct cache_audit_problem) problems;
};

/* Every gen-<token> of one bundle; of published ones names, kinds, sizes and modes. */
int catalogue_audit_generations (struct catalogue *catalogue, struct text bundle, struct arena *arena,
                                 struct cache_root_finding **out, uint32_t *n, struct err *err);
/* Every bundle of the root. What cannot be read is a problem, and the audit continues. Slow: may read every byte.
 * ERR_USAGE: one of `tokens` is not in the catalogue. */
int cache_audit (const struct cache_audit_options *audit, struct arena *arena, struct cache_audit_result *out,
                 struct err *err);
/* <frontend>/<bundle> of every folder that may hold generations, sorted, also those unknown to the catalogue. */
int cache_list_families (const char *root, struct arena *arena, struct text **out, uint32_t *n, struct err *err);

/* host-<host> of a bundle, the cache that one host has for itself (mode per-host). */
struct host_cache {
    struct text host;
    uint64_t bytes;
    uint32_t entries;
    bool closed;
}; /* closed: it could not be read */
/* Sorted by name. They are in no catalogue. None if there is no folder, or it cannot be opened. */
int cache_list_per_host (const char *root, struct text bundle, struct arena *arena, struct host_cache **out,
                         uint32_t *n, struct err *err);

#endif
