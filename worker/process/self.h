/* self.h - starts this program again: tasks and builtin programs are further processes of the worker's own program.
 *
 * A worker out of an image (image.h) runs the sealed memory that it came from; another one runs /proc/self/exe, which
 * stays the same program when its file is replaced. */
#ifndef SLICEUP_WORKER_PROCESS_SELF_H
#define SLICEUP_WORKER_PROCESS_SELF_H

#include "common/base/mem.h"

#include "worker/process/image.h"
#include <stdbool.h>

/* What execve(2) takes. Out of an image its descriptors have to stay open as well: self_keep_image_open. */
struct self_exec {
    const char *program;
    char **argv;
};

/* In main, before anything else opens or starts anything: finds out which it is. An image has the path of its file as
 * `argv0`. What is executed from then on gets no descriptor of the image. */
void self_init (const char *argv0);
/* `argv`, argv[0] included and NULL at its end, is borrowed; what is made lives in the arena. */
struct self_exec self_make_exec (char *const *argv, struct arena *arena);
/* The file that this program came from; NULL: not known. In the arena. Something else may lie there by now. */
const char *self_executable_path (struct arena *arena);
/* The image's descriptors; false: there is none. */
bool self_image_fds (int *first, int *n);
/* In a new process that executes what self_make_exec gave. Async-signal-safe. */
void self_keep_image_open (void);

/* The words that make the loader of an image run its program with its libraries: argv of ld.so(8).
 *
 *   sliceup-worker --inhibit-cache --preload <library>:<library>... --argv0 <argv0> <program> <argument>...
 *
 * Every library is loaded from its descriptor before the program asks for it by name: none is looked for in a file. */
enum { LOADER_LEAD_WORDS = 7, LOADER_PATH_BYTES = sizeof "/proc/self/fd/" + 12 };

struct loader_paths {
    char loader[LOADER_PATH_BYTES], program[LOADER_PATH_BYTES], libraries[IMAGE_PIECES_MAX * LOADER_PATH_BYTES];
};

/* Fills `out` with LOADER_LEAD_WORDS words, which live in `words`, and `words->loader` with what is executed; the
 * arguments follow. `n`: pieces of the image. */
void loader_lead (struct loader_paths *words, int n, const char *argv0, char **out);

#endif
