/* loader.h - the words that make the loader of an image run its program with its libraries: argv of ld.so(8).
 *
 *   sliceup-worker --inhibit-cache --preload <library>:<library>... --argv0 <argv0> <program> <argument>...
 *
 * Every library is loaded from its descriptor before the program asks for it by name: none is looked for in a file. */
#ifndef SLICEUP_WORKER_PROCESS_LOADER_H
#define SLICEUP_WORKER_PROCESS_LOADER_H

#include "worker/process/image.h"

enum { LOADER_LEAD_WORDS = 7, LOADER_PATH_BYTES = sizeof "/proc/self/fd/" + 12 };

struct loader_paths {
    char loader[LOADER_PATH_BYTES], program[LOADER_PATH_BYTES], libraries[IMAGE_PIECES_MAX * LOADER_PATH_BYTES];
};

/* Fills `out` with LOADER_LEAD_WORDS words, which live in `words`, and `words->loader` with what is executed; the
 * arguments follow. `n`: pieces of the image. */
void loader_lead (struct loader_paths *words, int n, const char *argv0, char **out);

#endif
