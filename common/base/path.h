/* path.h - paths as texts, and where PATH has a program. */
#ifndef SLICEUP_COMMON_BASE_PATH_H
#define SLICEUP_COMMON_BASE_PATH_H

#include "common/base/err.h"
#include "common/base/text.h"

/* Also when they are the same; all is below "/". Both are absolute, without ".", ".." and "//". */
bool path_is_below (const char *path, const char *folder);
bool path_is_below_any (const char *path, const char *const *folders, uint32_t n);
/* Both borrow. The name is what stands behind the last '/'. The folder is what stands before it: "/" of what lies
 * there and of itself, empty of a name alone. */
struct text path_name (struct text path);
struct text path_folder (struct text path);
/* Where execvp(3) would find `name`; NULL: nowhere. In the arena. `absolute`: in absolute folders of PATH only, for who
 * starts it elsewhere. */
const char *path_find_program (const char *name, bool absolute, struct arena *arena, struct err *err);

#endif
