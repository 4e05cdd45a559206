/* plain_file.h - opens a file of sliceup, and refuses a link, folder or FIFO in its place. */
#ifndef SLICEUP_COMMON_IO_PLAIN_FILE_H
#define SLICEUP_COMMON_IO_PLAIN_FILE_H

#include "common/base/err.h"

/* open (2) that follows no link and waits for nobody. -1: ERR_STATE says what is there instead of a regular file;
 * ERR_IO; `errno` is ENOENT when nothing is. What is made has mode 0600. */
int plain_file_open (const char *path, int flags, struct err *err);
/* The same by name alone, for files that somebody else opens. 1: it is there; 0: nothing is; -1 as above. */
int plain_file_check_path (const char *path, struct err *err);

#endif
