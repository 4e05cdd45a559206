/* private_file.h - reads files that hold a secret. It checks owner and mode of the open file before it reads a byte.
 *
 * Errors contain the path, never the content. */
#ifndef SLICEUP_COMMON_IO_PRIVATE_FILE_H
#define SLICEUP_COMMON_IO_PRIVATE_FILE_H
#include "common/base/buf.h"
#include "common/base/err.h"
/* The whole file into `out` (its max is the size cap). Another owner, or a mode that lets others in: ERR_REFUSED. A
 * symbolic link is followed, since Kubernetes mounts Secrets as such. */
int private_file_read (const char *path, struct buf *out, struct err *err);
/* The same of a file that only we make: there is no link in its place. */
int private_file_read_nofollow (const char *path, struct buf *out, struct err *err);
#endif
