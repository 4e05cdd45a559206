/* exec.h - runs a program and all that it starts, until none of its processes is left.
 *
 * Its own session, a parent-death signal, and this process's containment keep it together; without a containment this
 * process is the subreaper that inherits what the program leaves behind. An exec reaps every child of this process, so
 * there is at most one at a time and nobody else may wait for children.
 *
 * Stopping: SIGINT, after `stop_ms` SIGTERM and SIGCONT, after another `stop_ms` SIGKILL; `hard` begins with SIGKILL.
 * After the program's end, in any way, the remaining processes are killed and counted.
 *
 * It knows nothing of channels, output or results. Main thread only. */
#ifndef SLICEUP_WORKER_PROCESS_EXEC_H
#define SLICEUP_WORKER_PROCESS_EXEC_H

#include "common/base/buf.h"
#include "common/io/log.h"
#include "worker/process/spawn.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- containment.c ---- */

/* Contains the processes of programs, in the best way that this host allows.
 *
 *   pid-namespace  all end after the program, and with the worker, even if that is killed with SIGKILL
 *   cgroup         all end after the program; the next worker of the directory ends what a killed one left
 *   subreaper      what a program leaves behind becomes our child, and we end it; a killed worker's leftovers stay
 *
 * In all three the program has its own session and dies with the worker (spawn.h). The level is found by trying. It
 * knows nothing of programs and attempts. Main thread only. */

enum containment_level { CONTAINMENT_NONE = 0, CONTAINMENT_SUBREAPER, CONTAINMENT_CGROUP, CONTAINMENT_PID_NAMESPACE };

struct containment;
/* Chooses the best level up to `most`; the subreaper always works. The log says why better ones do not. First it ends
 * what a killed worker left in its cgroup. `directory` is the worker's own. */
struct containment *containment_choose (enum containment_level most, const char *directory, const struct log *log);
void containment_close (struct containment *containment); /* ends all that is left; NULL is fine */
enum containment_level containment_level (const struct containment *containment); /* NULL gives subreaper */
const char *containment_name (enum containment_level level);

/* For exec.c. Gives the place for the next program; makes a dead namespace anew. */
int containment_spawn_target (struct containment *containment, struct spawn_target *target, struct err *err);
/* Do orphans of our programs go to another process? Then that process sweeps. */
bool containment_adopts_orphans (const struct containment *containment);
void containment_kill (struct containment *containment); /* all that runs in it; returns at once */
bool containment_wait_swept (struct containment *containment, int wait_ms, uint32_t *strays); /* if it adopts orphans */
uint32_t containment_left (const struct containment *containment);
void containment_abandon (struct containment *containment);                /* gives up processes that outlive SIGKILL */
void containment_note_reaped (struct containment *containment, pid_t pid); /* call it for every reaped child */

/* ---- pid_namespace.c ---- */

/* A pid namespace for everything that this worker starts, held by its first (the init) process.
 *
 * A program started in it (spawn.h, pid_namespace_spawn_target) stays a child of the worker, which waits for it and
 * signals it as usual. Processes that a program leaves behind become the init process's children, and cannot escape.
 * The init process dies with the worker, even by SIGKILL, and then the kernel kills all of the namespace
 * (pid_namespaces(7), prctl(2)).
 *
 * Root makes the namespace directly; other users make it inside a user namespace without other users. It has its own
 * /proc, so that programs find themselves there under their own pids.
 *
 * Main thread only: the parent-death signal is tied to the thread that made the init process. It knows no programs. */

struct pid_namespace;
/* NULL: impossible on this host, or for this user; the error says which step failed. */
struct pid_namespace *pid_namespace_open (struct err *err);
/* Kills all of the namespace, and reaps all children of this process; NULL is fine. */
void pid_namespace_close (struct pid_namespace *pid_namespace);
struct spawn_target pid_namespace_spawn_target (const struct pid_namespace *pid_namespace);
pid_t pid_namespace_pid (const struct pid_namespace *pid_namespace);
/* Call it if the init process was reaped by a wait for all children. */
void pid_namespace_note_reaped (struct pid_namespace *pid_namespace);
bool pid_namespace_lives (struct pid_namespace *pid_namespace);

/* Kills all processes in the namespace. `strays`: processes killed since the sweep began. */
void pid_namespace_sweep (struct pid_namespace *pid_namespace);
bool pid_namespace_wait_swept (struct pid_namespace *pid_namespace, int wait_ms,
                               uint32_t *strays); /* true also if the namespace is dead */
uint32_t pid_namespace_process_count (const struct pid_namespace *pid_namespace); /* how many remain */

struct exec_end {
    int status;          /* of waitpid */
    uint64_t peak_bytes; /* resident, of the program and the children it waited for; at least this process's own, since
                          * it began in its memory (spawn.c) */
    uint32_t strays;     /* processes that outlived the program and were killed */
    uint32_t unkillable; /* processes that outlived SIGKILL */
};

/* Call it once, before the first exec: orphans of our programs become our children. */
int exec_adopt_orphans (struct err *err);
/* Uses it for programs started from now on; it must outlive them. NULL: only this process. */
void exec_set_containment (struct containment *containment);
enum containment_level exec_containment (void);

struct exec;
struct exec *exec_start (const struct spawn_request *request, struct err *err); /* NULL on error */
/* Starts in the host's own namespaces, for our programs that inspect the host and start nothing: other processes are
 * not visible in a pid namespace. */
struct exec *exec_start_on_host (const struct spawn_request *request, struct err *err);
/* Makes the program's process in `target`, as spawn_start; it is this process's child. */
typedef int exec_copy_fn (void *owner, const struct spawn_request *request, const struct spawn_target *target,
                          pid_t *pid, struct err *err);
/* As exec_start, of a process that `copy` makes. Only in a pid namespace. */
struct exec *exec_start_copy (const struct spawn_request *request, exec_copy_fn *copy, void *owner, struct err *err);
void exec_destroy (struct exec *exec); /* kills what is left, without waiting; NULL is fine */
void exec_stop (struct exec *exec, bool hard, uint64_t stop_ms, uint64_t now_ms);
/* Call it at SIGCHLD and at the deadline. */
void exec_poll (struct exec *exec, uint64_t now_ms);
uint64_t exec_deadline_ms (const struct exec *exec);                /* UINT64_MAX: none */
bool exec_all_gone (const struct exec *exec, struct exec_end *end); /* are all processes gone? */
pid_t exec_pid (const struct exec *exec);

/* ---- thread_waits.c ---- */

/* Where the threads of a program, and of all that it started, wait, as the kernel reports it.
 *
 * Reads /proc/PID/task/TID/{status,syscall,wchan}, which needs no help of the program: it may be stopped, or hang in
 * the kernel. Threads that wait in the same place share a line. Bounded in processes, threads, lines and time. Texts of
 * the program are only shown. It sends no signal. */

enum { THREAD_NAME_BYTES = 64, THREAD_PLACE_BYTES = 96 };

/* ---- pure: the texts of /proc ---- */

struct thread_state {
    char name[THREAD_NAME_BYTES];   /* of the thread */
    char place[THREAD_PLACE_BYTES]; /* "sleeping in futex (futex_do_wait)" */
    uint32_t pid;                   /* its pid in the innermost pid namespace; 0: unknown */
    uint64_t caught;                /* bit N - 1: it has a handler for signal N */
};
void thread_state_read (struct text status, struct text syscall, struct text wchan, struct thread_state *out);

/* ---- of this machine ---- */

/* One line a kind of wait, the main thread of `program` first: "python3: 12 threads sleeping in futex (futex_do_wait)".
 * It says what it skipped. Returns the process whose own pid is `told_pid` and that handles `signal`, so survives it.
 * 0: none. */
pid_t thread_waits_print (pid_t program, uint32_t told_pid, uint32_t signal, uint64_t until_ms, struct buf *out);

#endif
