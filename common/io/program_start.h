/* program_start.h - what a program starts with. What main does first: it reserves descriptors 0 to 2 for standard input, output and error, and it
 * prepares a message for the end by a resource limit. Before any other thread starts. */
#ifndef SLICEUP_COMMON_IO_PROGRAM_START_H
#define SLICEUP_COMMON_IO_PROGRAM_START_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>

/* Opens /dev/null in place of every one of 0, 1 and 2 that is closed. Such a program would be given its number for a
 * socket or a journal, and print into it (libzmq asserts on it as well: facts of zeromq/libzmq issue #3104). */
void standard_fds_keep (void);
/* A library that is refused memory or a descriptor ends the process by an assertion: libzmq does. From now on such an
 * end says what there was too little of, and has exit status 3; any other abort stays one. A write past the largest
 * size of a file (RLIMIT_FSIZE) fails with EFBIG instead of ending the process, though not in programs that are
 * executed. `program` is named in the sentence, and lives as long as the process. */
void exhaustion_install_handlers (const char *program);
/* posix_spawnp with none of the signals that this process blocks or handles, and the limit of open files with which this
 * process began. `apart`: POSIX_SPAWN_SETSID in a session of its own, POSIX_SPAWN_SETPGROUP in a group, which it may change;
 * else 0. An errno. Any thread. */
int program_start (pid_t *pid, const char *path, short apart, const posix_spawn_file_actions_t *actions,
                   char *const *argv, char *const *envp);

/* ---- process title ---- */

/* What ps shows as the command line of this process. */

/* The memory of its arguments, and how much there is with the environment that lies behind them. */
struct process_words {
    char *at;
    size_t bytes, room;
};
bool process_words_find (struct process_words *out);
/* Shows `title`, cut to the room that there is. Arguments are lost: who needs one has copied it. Variables are kept, in
 * other memory. Before any other thread starts. Best effort: it only serves whoever looks at a list of processes. */
void process_title_set (const char *title);

#endif
