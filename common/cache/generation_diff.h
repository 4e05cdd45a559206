/* generation_diff.h - reports the differences between one generation and its manifest, one at a time.
 *
 * Prepare refuses at the first difference, an audit collects all of them. It writes nothing. Any thread. */
#ifndef SLICEUP_COMMON_CACHE_GENERATION_DIFF_H
#define SLICEUP_COMMON_CACHE_GENERATION_DIFF_H

#include "common/cache/audit.h"
#include "common/cache/generation.h"

struct generation_difference {
    enum finding_kind kind; /* EXTRA, MISSING or CHANGED */
    struct text path;       /* below the generation, as it was found: not safe to print; ".": all of it */
    const char *how;        /* in words that follow the path */
};
/* Not 0: enough, the look ends with -1; `err` is the caller's own then. The texts live until it returns. */
typedef int generation_diff_fn (void *owner, const struct generation_difference *difference, struct err *err);

/* The generation is open. -1 also when it could not be looked at. */
int generation_diff (const struct generation *generation, struct text sha256, enum audit_depth depth, uint64_t seed,
                     generation_diff_fn *each, void *owner, struct err *err);
/* A generation_diff_fn: the first one is the error, ERR_DAMAGE, by name. */
int generation_diff_refuse (void *owner, const struct generation_difference *difference, struct err *err);

#endif
