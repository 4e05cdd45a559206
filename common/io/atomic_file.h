/* atomic_file.h - replaces a file atomically: readers see the old or the new content, never a part. Write beside,
 * fsync, rename, fsync the folder. */
#ifndef SLICEUP_COMMON_IO_ATOMIC_FILE_H
#define SLICEUP_COMMON_IO_ATOMIC_FILE_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/buf.h"
#include "common/base/err.h"
int atomic_file_write (const char *path, const void *bytes, size_t len, mode_t mode, struct err *err);
/* The same piece by piece. After `begin` comes `end`: that writes the file, or, not `whole`, leaves what was there. */
struct atomic_file {
    char path[PATH_MAX], beside[PATH_MAX];
    int fd, failed; /* failed: errno of a piece that could not be written; 0: none */
};
int atomic_file_begin (struct atomic_file *file, const char *path, struct err *err);
bool atomic_file_add (const void *bytes, size_t len, void *file); /* for struct buf */
int atomic_file_end (struct atomic_file *file, bool whole, mode_t mode, struct err *err);
/* Whole file into `out` (its max is the size cap), opened by plain_file_open. */
int file_read (const char *path, struct buf *out, struct err *err);
int folder_make (const char *path, mode_t mode, struct err *err); /* with its parents; existing is fine */
int folder_sync (const char *path, struct err *err);
/* Removes a tree below `path`, itself too; follows no symlink; missing is fine. */
int folder_remove (const char *path, struct err *err);
/* Bytes on disk of the folder and everything below it on the same file system; unreadable parts do not count. */
uint64_t folder_count_bytes (const char *path);

/* ---- plain file ---- */

/* Opens a file of sliceup, and refuses a link, folder or FIFO in its place. */

/* open (2) that follows no link and never waits. -1: ERR_STATE says what is there instead of a regular file; else
 * ERR_IO; `errno` is ENOENT if nothing is there. A new file has mode 0600. */
int plain_file_open (const char *path, int flags, struct err *err);
/* Checks without opening, for files that a library opens. 1: it is there; 0: nothing is there; -1 as above. */
int plain_file_check_path (const char *path, struct err *err);

/* ---- private file ---- */

/* Reads files that hold a secret. It checks owner and mode of the open file before it reads a byte.
 *
 * Errors contain the path, never the content. */

/* The whole file into `out` (its max is the size cap). Another owner, or a mode that lets others in: ERR_REFUSED. A
 * symbolic link is followed, since Kubernetes mounts Secrets as such. */
int private_file_read (const char *path, struct buf *out, struct err *err);
/* The same for a file that only we make: a link in its place is refused. */
int private_file_read_nofollow (const char *path, struct buf *out, struct err *err);

#endif
