/* atomic_file.h - replaces a file atomically: readers see the old or the new content, never a part. Write beside,
 * fsync, rename, fsync the folder. */
#ifndef SLICEUP_COMMON_IO_ATOMIC_FILE_H
#define SLICEUP_COMMON_IO_ATOMIC_FILE_H
#include "common/base/buf.h"
#include "common/base/err.h"
#include <stddef.h>
#include <sys/types.h>
int atomic_file_write (const char *path, const void *bytes, size_t len, mode_t mode, struct err *err);
/* Whole file into `out` (its max is the size cap), opened by plain_file_open. */
int file_read (const char *path, struct buf *out, struct err *err);
int folder_make (const char *path, mode_t mode, struct err *err); /* with its parents; existing is fine */
int folder_sync (const char *path, struct err *err);
/* Removes a tree below `path`, itself too; follows no symlink; missing is fine. */
int folder_remove (const char *path, struct err *err);
/* On disk, with all below it on the same file system; what cannot be read does not count. */
uint64_t folder_count_bytes (const char *path);
#endif
