/* fd.h - what read(2), write(2) and close(2) leave to their callers: interruptions, parts, and no descriptor at all.
 *
 * -1 leaves the reason in `errno`, for whoever knows what was read or written. Any thread, also in a child of fork. */
#ifndef SLICEUP_COMMON_IO_FD_H
#define SLICEUP_COMMON_IO_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One read(2) that no signal interrupts; 0: the end. */
ssize_t fd_read (int fd, void *bytes, size_t max);
/* Up to the end, or until `max` bytes are there; how many. */
ssize_t fd_read_whole (int fd, void *bytes, size_t max);
/* All of it. */
int fd_write (int fd, const void *bytes, size_t len);
/* The beginning of a file, waiting for nobody, and a NUL behind it; how many bytes. 0: it is not there, or empty. */
size_t file_read_start (const char *path, char *bytes, size_t bytes_max);
void fd_close (int fd); /* below 0: none */

#endif
