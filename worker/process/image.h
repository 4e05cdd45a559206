/* image.h - the worker as one file that needs nothing of its host: a small static program (main.c of this room), a
 * list, and the listed pieces: the loader, the worker's program and every library.
 *
 *   <start> <list> <loader> <program> <library>...
 *   list: IMAGE_MARK, a blank, the number of pieces, a newline; a line "<bytes> <sha256> <name>" for each, in order
 *
 * deploy/bundle writes it. <start> and <list> are its head, whose sha256 is the image's name, so that one short digest
 * covers all of it. <start> copies each piece into memory, seals it (memfd_create(2): nobody can write it, not even its
 * owner), compares it with its digest, and executes the loader from there. So a running process is what was checked,
 * whatever happens to the file. */
#ifndef SLICEUP_WORKER_PROCESS_IMAGE_H
#define SLICEUP_WORKER_PROCESS_IMAGE_H

#define IMAGE_MARK "sliceup-image-1"

/* The copies are at descriptors from IMAGE_FD_FIRST on, without a gap, in the list's order. The next one is closed. */
enum { IMAGE_FD_FIRST = 64, IMAGE_PIECES_MAX = 64, IMAGE_NAME_BYTES = 64 };
enum { IMAGE_LOADER = 0, IMAGE_PROGRAM = 1, IMAGE_LIBRARIES = 2 };
/* Exit statuses of <start> if it cannot become the worker; it prints one sentence for both. */
enum { IMAGE_EXIT_UNFIT = 3, IMAGE_EXIT_DAMAGED = 4 };

/* image_start.c - of <start>: becomes the worker. */
_Noreturn void image_start (int argc, char **argv);

#endif
