/* cache_task.h - the work of a task on the shared compile cache: prepare, seal and audit.
 *
 * Functions fill `answer` and handle whole generations: call them only in the task's process. Texts live in `arena`. */
#ifndef SLICEUP_WORKER_ATTEMPT_CACHE_TASK_H
#define SLICEUP_WORKER_ATTEMPT_CACHE_TASK_H

#include "worker/attempt/task.h"

#include "common/model/msg.h"

struct task_context {
    const char *directory; /* of the worker */
    struct text host;
};

/* Prepares the generation of the RUN and links <directory>/cache/generation, the one path that programs see, to it. */
int cache_task_prepare (const struct task_context *context, const struct cache_access *access, struct arena *arena,
                        struct task_answer *answer);
void cache_task_seal (const struct cache_access *access, struct arena *arena, struct task_answer *answer);
void cache_task_audit (const struct cache_access *access, struct arena *arena, struct task_answer *answer);

/* Remembers which generations this worker has verified byte by byte since the host booted.
 *
 * <directory>/verified: one digest a line, of host boot, cache, token and manifest. It avoids reading large entries
 * again. A lost, damaged or forged record changes only how much is read again. */
bool verified_contains (const char *directory, const struct cache_access *access);
/* Keeps the newest; replaces the file atomically. */
int verified_note (const char *directory, const struct cache_access *access, struct err *err);

#endif
