/* path.h - paths as texts, and where PATH has a program. */
#ifndef SLICEUP_COMMON_BASE_PATH_H
#define SLICEUP_COMMON_BASE_PATH_H

#include "common/base/err.h"
#include "common/base/text.h"
#include <limits.h>

/* True also if they are equal; everything is below "/". Both are absolute, without ".", ".." and "//". */
bool path_is_below (const char *path, const char *folder);
bool path_is_below_any (const char *path, const char *const *folders, uint32_t n);
/* Both borrow. The name follows the last '/', the folder precedes it: "/" for "/" and its entries, empty for a lone
 * name. */
struct text path_name (struct text path);
struct text path_folder (struct text path);
const char *path_folder_c (const char *path, char out[PATH_MAX]); /* "." for a lone name; too long: "" */
/* Where execvp(3) would find `name`; NULL: nowhere. In the arena. `absolute`: only absolute folders of PATH, for a
 * caller that starts it in another directory. */
const char *path_find_program (const char *name, bool absolute, struct arena *arena, struct err *err);

#endif
