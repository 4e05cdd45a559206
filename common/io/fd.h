/* fd.h - read(2), write(2) and close(2) that handle interruptions, partial transfers and absent descriptors.
 *
 * -1 leaves the reason in `errno`, for whoever knows what was read or written. Any thread, also in a child of fork. */
#ifndef SLICEUP_COMMON_IO_FD_H
#define SLICEUP_COMMON_IO_FD_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/buf.h"
#include "common/base/err.h"

/* One read(2) that no signal interrupts; 0: the end. */
ssize_t fd_read (int fd, void *bytes, size_t max);
/* Reads to the end, or `max` bytes; returns how many. */
ssize_t fd_read_whole (int fd, void *bytes, size_t max);
/* Appends all that is left to read, until `out` overflows. Not in a child of fork: it allocates. */
int fd_read_all (int fd, struct buf *out);
/* Writes all bytes. */
int fd_write (int fd, const void *bytes, size_t len);
/* Reads the beginning of a file and appends a NUL, without waiting; returns how many bytes. 0: missing or empty. */
size_t file_read_start (const char *path, char *bytes, size_t bytes_max);
void fd_close (int fd);        /* below 0: none */
void fd_close_local (int *fd); /* leaves errno */
void folder_close_local (DIR **folder);
#define LOCAL_FD __attribute__ ((cleanup (fd_close_local))) int /* closed at the end of its block; below 0: none */
#define LOCAL_DIR __attribute__ ((cleanup (folder_close_local))) DIR * /* the same; NULL: none */

/* ---- tcp_try.c ---- */

/* TCP connections within a bound, and whether something listens at an address and port. Any thread. */

struct addrinfo; /* netdb.h */
/* A connected descriptor, non-blocking and close-on-exec, or -1 and errno; ETIMEDOUT: no answer until then (BOOTTIME). */
int tcp_connect (const struct addrinfo *to, uint64_t until_ms);

/* `address`: a name or a number; a name may have several, which share the time. Waits; the name service has bounds of
 * its own. False: `why` has only the reason, such as "connection refused" or "no answer within 3 s". */
bool tcp_try (const char *address, uint16_t port, uint64_t within_ms, struct err *why);

#endif
