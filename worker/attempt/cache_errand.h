/* cache_errand.h - the part of an errand that has to do with the shared compile cache.
 *
 * Each fills `answer` and reads or writes whole generations: only in the errand's own process. Texts of the answer live
 * in `arena`. */
#ifndef SLICEUP_WORKER_ATTEMPT_CACHE_ERRAND_H
#define SLICEUP_WORKER_ATTEMPT_CACHE_ERRAND_H

#include "worker/attempt/errand.h"

struct errand_place {
    const char *directory;      /* of the worker */
    struct text host;
};

/* Makes what the order names ready and points <directory>/cache/generation at it: the one path that programs see. */
int cache_errand_prepare (const struct errand_place *place, const struct cache_order *order, struct arena *arena,
                          struct errand_answer *answer);
void cache_errand_seal (const struct cache_order *order, struct arena *arena, struct errand_answer *answer);
void cache_errand_audit (const struct cache_order *order, struct arena *arena, struct errand_answer *answer);
/* errand.c: puts a failure into the answer; always -1. */
int errand_fail (struct errand_answer *answer, struct arena *arena, enum layer layer, const struct err *err);

#endif
