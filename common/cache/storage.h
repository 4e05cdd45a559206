/* storage.h - identifies the storage of a cache root, to check that all hosts see the same one.
 *
 * `<root>/storage` holds 64 random bits, made once by whoever comes first (O_EXCL). Hosts that read different values
 * see different storages of the same name. docs/spec/cache.md. Any thread. */
#ifndef SLICEUP_COMMON_CACHE_STORAGE_H
#define SLICEUP_COMMON_CACHE_STORAGE_H

#include "common/base/err.h"
#include <stdbool.h>
#include <stddef.h>

enum { STORAGE_ID_BYTES = 17 }; /* 16 hex digits and a NUL */

/* `make`: also makes the root and the file when they are not there. ERR_STATE: there is none. */
int storage_id (const char *root, bool make, char id[STORAGE_ID_BYTES], struct err *err);
/* "<fstype> <options> <source>" of the mount that `path` lies on, as /proc/self/mountinfo has it, cut to fit. */
int storage_describe_mount (const char *path, char *out, size_t out_bytes, struct err *err);

#endif
