/* manifest_mismatch.h - reports the differences between one generation and its manifest, one at a time.
 *
 * Prepare refuses at the first difference, an audit collects all of them. It writes nothing. Any thread. */
#ifndef SLICEUP_COMMON_CACHE_MANIFEST_MISMATCH_H
#define SLICEUP_COMMON_CACHE_MANIFEST_MISMATCH_H

#include "common/cache/audit.h"
#include "common/cache/generation.h"

struct manifest_mismatch {
    enum finding_kind kind; /* EXTRA, MISSING or CHANGED */
    struct text path;       /* below the generation, as it was found: not safe to print; ".": all of it */
    const char *how;        /* in words that follow the path */
};
/* Not 0 stops the search, which then returns -1 with the `err` that was set here. The texts live until it returns. */
typedef int manifest_mismatch_fn (void *owner, const struct manifest_mismatch *difference, struct err *err);

/* The generation is open. -1 also if it could not be read. */
int manifest_find_mismatches (const struct generation *generation, struct text sha256, enum audit_depth depth,
                              uint64_t seed, manifest_mismatch_fn *each, void *owner, struct err *err);
/* The same for a generation that began as a copy of `base`, whose manifest has that digest: reports what it lacks of
 * base's bytes. It may hold more, and its owner may still write it. */
int manifest_find_base_mismatches (const struct generation *generation, const struct generation *base,
                                   struct text sha256, manifest_mismatch_fn *each, void *owner, struct err *err);
/* A manifest_mismatch_fn: the first one is the error, ERR_DAMAGE, by name. */
int manifest_refuse_mismatch (void *owner, const struct manifest_mismatch *difference, struct err *err);

#endif
