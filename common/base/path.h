/* path.h - compares paths as texts. */
#ifndef SLICEUP_COMMON_BASE_PATH_H
#define SLICEUP_COMMON_BASE_PATH_H

#include <stdbool.h>
#include <stdint.h>

/* Also when they are the same; all is below "/". Both are absolute, without ".", ".." and "//". */
bool path_is_below (const char *path, const char *folder);
bool path_is_below_any (const char *path, const char *const *folders, uint32_t n);

#endif
