/* preload.h - an interpreter that has imported what a frontend's programs import, and waits: an attempt of a canary is a
 * copy of it (fork), which spares the import, most of a small program's time (docs/benchmarks.md).
 *
 * There is one for each launch policy, at most two (those of a cache's writer and reader): it is made anew if a variable
 * differs that imports may read. It has no client of a device, lives in the worker's own namespaces and dies with the
 * worker. A copy goes through what an executed program goes through, by the same functions (inside.c), before a line of
 * its program runs. Only in a pid namespace, since other containments would end the interpreter with the first program.
 * Main thread only. */
#ifndef SLICEUP_WORKER_PRELOAD_PRELOAD_H
#define SLICEUP_WORKER_PRELOAD_PRELOAD_H

#include "common/io/loop.h"
#include "worker/process/spawn.h"
#include <stdint.h>

enum preload_state { PRELOAD_NONE, PRELOAD_STARTING, PRELOAD_READY, PRELOAD_REFUSED };

/* Of a program that is to be copied. */
struct preload_need {
    const char *python;  /* its path */
    const char *modules; /* "jax,numpy" */
    char *const *envp;
};

struct preload;
/* `directory`: of the worker, where the interpreter's program is put; borrowed. */
struct preload *preload_make (struct loop *loop, const char *directory);
void preload_destroy (struct preload *preload); /* kills the interpreter; NULL is fine */
/* Starts such an interpreter unless there is one. */
enum preload_state preload_want (struct preload *preload, const struct preload_need *need, uint64_t now_ms);
/* Call it at every pass of the loop while it is STARTING. */
enum preload_state preload_poll (struct preload *preload, uint64_t now_ms);
uint64_t preload_deadline_ms (const struct preload *preload);
const char *preload_why (const struct preload *preload); /* REFUSED: a sentence without full stop */

struct preload_copy {
    char *const *words;   /* the program's file and its arguments */
    char *const *confine; /* argv of confine.h, whose program is not executed; NULL: no sandbox */
};
/* Only if READY. As spawn_start, of a request whose program and argv are not used. -1: there is no copy, and none follows
 * later. Waits at most COPY_MAX_MS. */
enum { COPY_MAX_MS = 5000 };
int preload_copy (struct preload *preload, const struct spawn_request *request, const struct preload_copy *copy,
                  const struct spawn_target *target, pid_t *pid, struct err *err);

#endif
