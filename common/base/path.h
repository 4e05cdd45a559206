/* path.h - paths as texts: absolute, without ".", ".." and "//". */
#ifndef SLICEUP_COMMON_BASE_PATH_H
#define SLICEUP_COMMON_BASE_PATH_H

#include <stdbool.h>

bool path_is_below (const char *path, const char *folder); /* also when they are the same; all is below "/" */

#endif
