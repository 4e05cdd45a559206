/* self.h - starts this executable again: tasks and builtin programs are processes of the worker's own executable.
 *
 * A worker from an image (below) runs its sealed memory; others run /proc/self/exe, which stays the same program if
 * its file is replaced. */
#ifndef SLICEUP_WORKER_PROCESS_SELF_H
#define SLICEUP_WORKER_PROCESS_SELF_H

#include "common/base/err.h"
#include "common/base/mem.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the image ---- */

/* The worker as one file that needs nothing of its host: a small static program (main.c of this room), a
 * list, and the listed pieces: the loader, the worker's program and every library.
 *
 *   <start> <list> <loader> <program> <library>...
 *   list: IMAGE_MARK, a blank, the number of pieces, a newline; a line "<bytes> <sha256> <name>" for each, in order
 *
 * deploy/bundle writes it. <start> and <list> are its head, whose sha256 is the image's name, so that one short digest
 * covers all of it. <start> copies each piece into memory and seals it (memfd_create(2): nobody can write it, not even
 * its owner), or takes what another worker of its user sealed, compares it with its digest, and executes the loader. So
 * a running process is what was checked, whatever happens to the file. */

#define IMAGE_MARK "sliceup-image-1"

/* The copies are at descriptors from IMAGE_FD_FIRST on, without a gap, in the list's order. The next one is closed. */
enum { IMAGE_FD_FIRST = 64, IMAGE_PIECES_MAX = 64, IMAGE_NAME_BYTES = 64 };
enum { IMAGE_LOADER = 0, IMAGE_PROGRAM = 1, IMAGE_LIBRARIES = 2 };
/* Exit statuses of <start> if it cannot become the worker; it has one sentence for both, for --else or to print. */
enum { IMAGE_EXIT_UNFIT = 3, IMAGE_EXIT_DAMAGED = 4 };

/* Arguments for execve(2). For an image its descriptors must stay open, too: self_keep_image_open. */
struct self_exec {
    const char *program;
    char **argv;
};

/* Call it first in main: finds out which of the two it is. An image has its file's path as `argv0`. Programs executed
 * from then on get no descriptor of the image. */
void self_init (const char *argv0);
/* Borrows `argv`, which includes argv[0] and ends in NULL; the result lives in the arena. */
struct self_exec self_make_exec (char *const *argv, struct arena *arena);
/* The file that this program came from; NULL: not known. In the arena. The file may have been replaced since. */
const char *self_executable_path (struct arena *arena);
/* The image's descriptors; false: no image. */
bool self_image_fds (int *first, int *n);
/* `join --else PROGRAM WORD... 0 0`: what cannot become a worker, or finds that none can work here, becomes that program
 * instead, with an exit status of <start> and the sentence as its last words. Returns if `words`, which begin with the
 * command, name none, or it cannot be executed. */
void self_become_else (char **words, int status, const char *why);
/* Call it in the new process before it executes self_make_exec's result. Async-signal-safe. */
void self_keep_image_open (void);

/* Arguments of ld.so(8) with which an image's loader runs its program with its libraries.
 *
 *   sliceup-worker --inhibit-cache --preload <library>:<library>... --argv0 <argv0> <program> <argument>...
 *
 * Every library is loaded from its descriptor before the program needs it by name, so none is searched for in files. */
enum { LOADER_LEAD_WORDS = 7, LOADER_PATH_BYTES = sizeof "/proc/self/fd/" + 12 };

struct loader_paths {
    char loader[LOADER_PATH_BYTES], program[LOADER_PATH_BYTES], libraries[IMAGE_PIECES_MAX * LOADER_PATH_BYTES];
};

/* Fills `out` with LOADER_LEAD_WORDS words, which live in `words`, and `words->loader` with the path to execute; the
 * caller adds the arguments. `n`: pieces of the image. */
void loader_lead (struct loader_paths *words, int n, const char *argv0, char **out);

/* ---- the words of its commands ---- */

/* A switch, or an option that takes the next word or what stands behind its "=". */
struct word_option {
    const char *name; /* "--json" */
    bool *set;
    const char **value; /* NULL: a switch */
    uint32_t *n, most;  /* of a `value` that is a list; NULL: the last one counts */
};
/* argv[0] is the command. -1: an unknown option, one without its value, or too many. */
int word_options_read (int argc, char **argv, const struct word_option *options, size_t n, struct err *err);

/* ---- remote_exec.c: `sliceup-worker exec`: one command of `sliceup exec` on its host ----
 *
 * It reads frames (common/model/remote_command.h) from standard input and writes frames to standard output. The command
 * has the environment, directory, umask and rights of the login, no standard input, and one pipe for its output. It is
 * ended, with all that it started, at its timeout, at a stop, and when nothing is received any more. It makes no
 * namespace: a command sees the processes of its host, and may use sudo. Exit status: 0 it reported the command's end,
 * 1 it could not. */

/* What a coordinator waits for before it sends the command. */
#define REMOTE_EXEC_ANSWER "{\"sliceup-worker\":1,\"exec\":true}\n"

int remote_exec_main (int argc, char **argv);

#endif
