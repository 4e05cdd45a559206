/* preflight.h - `sliceup-worker preflight`: checks whether this host has what a worker needs, before a worker is
 * started.
 *
 * One line a check, or JSON; with --brief only one line if something is missing (the bootstrap quotes it). A note does
 * not prevent a start. Judging is pure: a test can give it any host. Exit status: 0 nothing is missing, 1 could not
 * print, 2 usage, 3 something is missing. */
#ifndef SLICEUP_WORKER_BUILTIN_PREFLIGHT_H
#define SLICEUP_WORKER_BUILTIN_PREFLIGHT_H

#include "common/base/err.h"
#include "common/model/plan.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

/* Tries on this host what a worker needs: system calls, /proc, a pid namespace, a folder, an interpreter.
 *
 * It tries, because a version number shows neither what a kernel lacks nor what a container forbids. Judges nothing.
 * Borrows its paths. Main thread only. */
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
    char python_version[WORD_MAX_BYTES + 1]; /* as it prints it; empty: none */
    bool python_venv;
    char python_problem[TEXT_MAX_BYTES + 1]; /* why there is none */
};

void host_check_run (struct host_check_results *host, const char *directory, const char *python);
/* Tries to make a pid namespace as a worker does, and ends it. */
void host_check_pid_namespace (struct host_check_results *host);

enum { PREFLIGHT_MAX = 8 };
enum preflight_state { PREFLIGHT_NONE = 0, PREFLIGHT_OK, PREFLIGHT_NOTE, PREFLIGHT_MISSING };

struct preflight_check {
    const char *name; /* one word */
    enum preflight_state state;
    struct text found; /* escaped for a terminal */
    struct text next;  /* what to do about it; empty if ok */
};

struct preflight {
    struct arena arena; /* owns the texts */
    struct preflight_check checks[PREFLIGHT_MAX];
    uint32_t n;
};

/* `python_needed`: an unusable python is MISSING; else it is a NOTE. */
void preflight_judge (struct preflight *preflight, const struct host_check_results *host, bool python_needed);
bool preflight_is_ready (const struct preflight *preflight);
/* Empty if nothing is missing. */
void preflight_sentence (const struct preflight *preflight, struct buf *out);
void preflight_release (struct preflight *preflight);

int preflight_main (int argc, char **argv);

#endif
