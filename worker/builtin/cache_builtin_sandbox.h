/* cache_builtin_sandbox.h - sets up the sandbox of programs (confine.h) once, only for its report. */
#ifndef SLICEUP_WORKER_BUILTIN_CACHE_BUILTIN_SANDBOX_H
#define SLICEUP_WORKER_BUILTIN_CACHE_BUILTIN_SANDBOX_H

#include "worker/sandbox/confine_args.h"
#include "worker/sandbox/confine_report.h"

enum { SURVEY_PROTECTED_MAX = CONFINE_PROTECTED_MAX };
struct cache_builtin_protected {
    const char *items[SURVEY_PROTECTED_MAX];
    uint32_t n;
};

/* `folder` is what ways to write are tried in: the root, or below it. A refusal is a report that is not ready, no
 * error. Works in the current folder, which is the program's own. Bounded; texts live in the arena. */
int cache_builtin_try_sandbox (const char *root, const char *folder, const char *least,
                               const struct cache_builtin_protected *protected, struct arena *arena,
                               struct confine_report *report, struct err *err);

#endif
