/* launch_process.h - one worker process: started without a fork of the coordinator, watched by a pidfd.
 *
 * Knows nothing of its input. Signals go to the pidfd, because a reaped pid may name another process. */
#ifndef SLICEUP_COORDINATOR_LAUNCH_LAUNCH_PROCESS_H
#define SLICEUP_COORDINATOR_LAUNCH_LAUNCH_PROCESS_H

#include "common/model/plan.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct launch_process {
    pid_t pid;
    int pidfd;     /* readable when it ended */
    int input_fd;  /* to its standard input: a socket, so that writing to a dead worker raises no signal */
    int output_fd; /* from its standard output; reads do not block */
};

struct launch_program {
    const char *path, *word;  /* its one argument */
    bool courier;             /* also gets the variables for ssh agent and Slurm; a worker does not */
    bool as_user;             /* gets all variables of this process */
    const text_list *inherit; /* further variables of this process, by name; NULL: none */
    const var_list *set;      /* variables that override others; NULL: none */
};

/* Starts it in its own session; `error_fd`, its standard error, stays ours. All descriptors are close-on-exec. */
int launch_process_start (const struct launch_program *program, int error_fd, struct launch_process *out,
                          struct err *err);
/* A pidfd of the process `pid` that started at `pid_start` (proc_pid_stat(5), field 22); ERR_STATE when it is gone. */
int launch_process_open_pidfd (int64_t pid, uint64_t pid_start, struct err *err);
bool launch_process_start_time (int64_t pid, uint64_t *ticks);
void launch_process_kill (int pidfd);
/* Kills it and all in its process group. Only before it is reaped: until then nobody else has its pid. */
void launch_process_kill_group (const struct launch_process *process);
/* Reaps it if it ended and says how: "ended with exit status 3", "was killed by signal 9 (SIGKILL)". False: it runs. */
bool launch_process_reap (int pidfd, struct buf *how, bool *clean);

/* "killed by signal 9 (SIGKILL)" */
void launch_process_put_signal (int signal, struct buf *out);

/* <directory>/worker.log: a worker's standard error until it redirects it itself. The only place for output of a
 * loader, shell or sanitizer if a worker does not start. */
struct worker_log {
    char *path;    /* owned; NULL: none */
    int64_t begin; /* where this worker's output begins */
};

/* A descriptor to append to it, or -1; the caller's. `log`: for worker_log_append_last_line; always release it. */
int worker_log_open (struct worker_log *log, const char *directory, struct err *err);
void worker_log_release (struct worker_log *log);
/* Appends "; its last output: " and the last line written, made safe to show; nothing if there is none. */
void worker_log_append_last_line (const struct worker_log *log, struct buf *out);
/* The same for an open file, from `begin` on. */
void launch_process_append_last_line (int fd, int64_t begin, struct buf *out);

#endif
