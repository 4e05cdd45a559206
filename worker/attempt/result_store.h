/* result_store.h - results on disk until they are acknowledged: <directory>/results/<rung>.<pass>.<attempt>.mp, in wire
 * format.
 *
 * They outlive this process, not this run. Main thread only. */
#ifndef SLICEUP_WORKER_ATTEMPT_RESULT_STORE_H
#define SLICEUP_WORKER_ATTEMPT_RESULT_STORE_H

#include "common/base/err.h"
#include "common/model/result.h"

/* `result` lives until the call returns. */
typedef void result_store_fn (void *owner, const struct result *result);

int result_store_save (const char *directory, const struct result *result, struct err *err);
int result_store_forget (const char *directory, const struct attempt_key *key, struct err *err); /* missing is fine */
/* Hands every kept result to `fn`. An unreadable one is renamed to *.damaged; the first such is the error, after all
 * others were handed over. */
int result_store_recall (const char *directory, result_store_fn *fn, void *owner, struct err *err);

#endif
