/* host_check.h - tries on this host what a worker needs: system calls, /proc, a pid namespace, a folder, an
 * interpreter.
 *
 * Asks by trying, because a version number tells neither what was taken out of a kernel nor what a container forbids.
 * Judges nothing (preflight.h does). Borrows the paths it is given. Main thread only. */
#ifndef SLICEUP_WORKER_BUILTIN_HOST_CHECK_H
#define SLICEUP_WORKER_BUILTIN_HOST_CHECK_H

#include "common/base/err.h"
#include "common/model/plan.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

enum host_call { HOST_CALL_CLOSE_RANGE, HOST_CALL_PIDFD_OPEN, HOST_CALL_OPENAT2, HOST_CALLS_N };
extern const char *const host_call_names[HOST_CALLS_N];

struct host_check_results {
    struct utsname kernel;
    int call_errors[HOST_CALLS_N];  /* errno of each; 0: it works */
    int proc_error, children_error; /* /proc/self; its list of children */
    int null_error;                 /* opening /dev/null for reading and writing */
    uint64_t wall_ms;

    bool namespace_asked;
    char namespace_problem[ERR_TEXT_BYTES]; /* why programs get no pid namespace (pid_namespace.h), or empty */

    const char *directory; /* NULL: not asked for */
    int directory_error;   /* making a file in it */
    bool directory_noexec;
    uint64_t directory_free_bytes;

    const char *python;                      /* NULL: not asked for */
    char python_version[WORD_MAX_BYTES + 1]; /* as it says itself; empty when it said none */
    bool python_venv;
    char python_problem[TEXT_MAX_BYTES + 1]; /* why it said none */
};

void host_check_run (struct host_check_results *host, const char *directory, const char *python);
/* Makes a pid namespace as a worker does, and ends it. */
void host_check_pid_namespace (struct host_check_results *host);

#endif
