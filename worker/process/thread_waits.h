/* thread_waits.h - what the threads of a program, and of all that it started, wait in, as the kernel tells it.
 *
 * Reads /proc/PID/task/TID/{status,syscall,wchan}, which needs nothing of the program: it may be stopped, or hang in the
 * kernel. Threads that wait in the same place are one line. Bounded in processes, threads, lines and time. Nothing a
 * program says is trusted with more than a place in a line. It sends no signal. */
#ifndef SLICEUP_WORKER_PROCESS_THREAD_WAITS_H
#define SLICEUP_WORKER_PROCESS_THREAD_WAITS_H

#include "common/base/buf.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { THREAD_NAME_BYTES = 64, THREAD_PLACE_BYTES = 96 };

/* ---- pure: the texts of /proc ---- */

struct thread_state {
    char name[THREAD_NAME_BYTES];   /* of the thread */
    char place[THREAD_PLACE_BYTES]; /* "sleeping in futex (futex_do_wait)" */
    uint32_t pid;                   /* as the process itself knows it: in the innermost pid namespace; 0: not told */
    uint64_t caught;                /* bit N - 1: it has a handler for signal N */
};
void thread_state_read (struct text status, struct text syscall, struct text wchan, struct thread_state *out);

/* ---- of this machine ---- */

/* One line a kind of wait, the main thread of `program` first: "python3: 12 threads sleeping in futex (futex_do_wait)".
 * What was not looked at is said. Returns the process among them that knows itself as `told_pid` and has a handler for
 * `signal`: it survives it. 0: there is none. */
pid_t thread_waits_print (pid_t program, uint32_t told_pid, uint32_t signal, uint64_t until_ms, struct buf *out);

#endif
