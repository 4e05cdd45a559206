/* builtin.h - the programs that are the worker's executable started again. */
#ifndef SLICEUP_WORKER_BUILTIN_BUILTIN_H
#define SLICEUP_WORKER_BUILTIN_BUILTIN_H

#include "common/model/result.h"
#include "worker/probe/probe_run.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

/* ---- preflight.c ---- */

/* `sliceup-worker preflight`: checks whether this host has what a worker needs, before one is started.
 *
 * One line a check, or JSON; with --brief only one line if something is missing. A note does
 * not prevent a start. Judging is pure: a test can give it any host. Exit status: 0 nothing is missing, 1 could not
 * print, 2 usage, 3 something is missing. */

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
    char namespace_problem[ERR_TEXT_BYTES]; /* why programs get no pid namespace (pid_namespace.c), or empty */

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
    struct arena arena; /* owns the texts; its user releases it */
    struct preflight_check checks[PREFLIGHT_MAX];
    uint32_t n;
};

/* `python_needed`: an unusable python is MISSING; else it is a NOTE. */
void preflight_judge (struct preflight *preflight, const struct host_check_results *host, bool python_needed);
bool preflight_is_ready (const struct preflight *preflight);
/* Empty if nothing is missing. */
void preflight_sentence (const struct preflight *preflight, struct buf *out);

int preflight_main (int argc, char **argv);
/* In the worker itself, before it joins. The error is the sentence; `directory` and `python` may be NULL. */
int preflight_demand (const char *directory, const char *python, struct err *err);

/* ---- probe.c, probe_rung.c ---- */

/* The builtin program `probe`: checks whether a PJRT plugin works here, without Python, in a process of
 * its own.
 *
 * Speaks the canary protocol with the arguments plugin, options and client of the rung, and limit_ms and env_folder of
 * the worker; by hand:
 *
 *     sliceup-worker probe --plugin PATH [--option NAME=VALUE]... [--timeout DURATION] [--no-client] [--json]
 *
 * Exit status: 0 it works, 1 it does not, 2 usage, 3 it could not try. docs/spec/probe.md. */

/* argv[0] is the builtin's name. */
int probe_main (int argc, char **argv);

/* probe_rung.c: as a rung: takes its arguments from the worker and reports as evidence. SLICEUP_FD is in the
 * environment. Exit status as above. */
int probe_rung (void);

/* What one step found, in words; empty: nothing. */
struct text probe_step_text (const struct probe_report *report, enum probe_stage stage, struct arena *arena);

/* ---- cache_builtin.c ---- */

/* The builtin program `cache`: checks that all hosts see one shared cache, that it has room, and how this
 * host protects it.
 *
 * Speaks the canary protocol, before anything is compiled, so that an unusable cache is found on every host at once. It
 * makes the root if it can, and leaves nothing else in it. By hand: --root DIR [--least LEVEL]. It tries the level in
 * the same sandbox (confine.h), in the same place, as later programs. Exit status: 0 usable, 1 not (the failure line
 * says why), 2 usage. argv[0] is the builtin's name. */

int cache_builtin_main (int argc, char **argv);
/* Makes a result's cache view from its facts. Texts alias or live in the arena. */
void cache_builtin_view_of_facts (const struct var *facts, uint32_t n, struct arena *arena, struct cache_view *out);

/* ---- ways.c: the builtin program `ways`: tries the network between the hosts of a rung, before a program hangs in it ----
 *
 * Each host listens at the ports of the job; at a gate all wait until all listen, then each connects to every other.
 * A listener says its run and rank, so that another machine at a host's address is noticed. A host tells whom it did not
 * reach as facts, `way.RANK`: "10.0.0.5:8476 (no answer)"; the coordinator judges all together (verdict/ways.c). Hosts
 * with one address, or addresses of loopback, have no network between them. */

/* argv[0] is the name of the builtin. Exit status: 0 all was tried, 1 it cannot listen or was stopped. */
int ways_main (int argc, char **argv);

#endif
