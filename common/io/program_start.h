/* program_start.h - what a program starts with. main calls these first, before any other thread starts: they reserve
 * descriptors 0 to 2 for standard input, output and error, and prepare a message for an end by a resource limit. */
#ifndef SLICEUP_COMMON_IO_PROGRAM_START_H
#define SLICEUP_COMMON_IO_PROGRAM_START_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>

/* Opens /dev/null for each of 0, 1 and 2 that is closed. Otherwise a socket or journal could get that number, and be
 * printed into (libzmq asserts on it as well: zeromq/libzmq issue #3104). */
void standard_fds_keep (void);
/* libzmq aborts the process if it is refused memory or a descriptor. From now on such an abort names the exhausted
 * resource and exits with status 3; other aborts are unchanged. A write past the largest size of a file (RLIMIT_FSIZE)
 * fails with EFBIG instead of ending the process, though not in programs that are executed. The sentence names
 * `program`, which lives as long as the process. */
void exhaustion_install_handlers (const char *program);
struct program {
    const char *const *argv; /* ends in NULL; argv[0] without '/' is searched in PATH */
    char *const *envp;
    int in, out, error; /* become its 0, 1 and 2; -1: /dev/null */
    int held;           /* becomes its 3; 0: none. It gets no other descriptors */
    const char *folder; /* where it begins; NULL: here */
    short apart;        /* POSIX_SPAWN_SETSID: in a session of its own; POSIX_SPAWN_SETPGROUP: in a group; 0: neither */
};
/* posix_spawnp with default signals, none blocked, and the limit of open files with which this process began. An errno.
 * Any thread. */
int program_start (pid_t *pid, const struct program *program);

/* ---- process title ---- */

/* What ps shows as the command line of this process. */

/* The memory of its arguments, and its size with the environment behind them. */
struct process_words {
    char *at;
    size_t bytes, room;
};
bool process_words_find (struct process_words *out);
/* Shows `title`, cut to fit. Overwrites the arguments: copy those you need before. Variables are kept, in other memory.
 * Before any other thread starts. Best effort, for readers of a list of processes. */
void process_title_set (const char *title);

#endif
