/* kept.h - results on disk until they are acknowledged: <directory>/results/<rung>.<pass>.<attempt>.mp, as on the wire.
 *
 * They outlive this process, not this run. Main thread only. */
#ifndef SLICEUP_WORKER_ATTEMPT_KEPT_H
#define SLICEUP_WORKER_ATTEMPT_KEPT_H

#include "common/base/err.h"
#include "common/model/result.h"

/* `result` lives until the call returns. */
typedef void kept_fn (void *owner, const struct result *result);

int kept_save (const char *directory, const struct result *result, struct err *err);
int kept_forget (const char *directory, const struct attempt_key *key, struct err *err); /* missing is fine */
/* Hands every kept result to `fn`. One that cannot be read is put aside as *.damaged; the first such is the error,
 * after all others were handed over. */
int kept_recall (const char *directory, kept_fn *fn, void *owner, struct err *err);

#endif
