/* thread_waits.h - where the threads of a program, and of all that it started, wait, as the kernel reports it.
 *
 * Reads /proc/PID/task/TID/{status,syscall,wchan}, which needs no help of the program: it may be stopped, or hang in
 * the kernel. Threads that wait in the same place share a line. Bounded in processes, threads, lines and time. Texts of
 * the program are only shown. It sends no signal. */
#ifndef SLICEUP_WORKER_PROCESS_THREAD_WAITS_H
#define SLICEUP_WORKER_PROCESS_THREAD_WAITS_H

#include "common/base/buf.h"
#include <stdint.h>
#include <sys/types.h>

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
