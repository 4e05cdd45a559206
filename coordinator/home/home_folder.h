/* home_folder.h - makes and checks a folder directly below the home. A user who may change it chooses keys, journals
 * and programs, as with the home. */
#ifndef SLICEUP_COORDINATOR_HOME_HOME_FOLDER_H
#define SLICEUP_COORDINATOR_HOME_HOME_FOLDER_H

#include "common/base/err.h"
#include <stdbool.h>

/* "runs", "envs", "slices", or a path below one: it belongs to this process's user, nobody else may write there, and it
 * is no link (safe_path.h). `elsewhere`: it may be a link, and root's, since what is large lies on another disk. What
 * is not there is fine. ERR_REFUSED names path, owner, mode and what to do. */
int home_folder_check (const char *home, const char *name, bool elsewhere, struct err *err);

#endif
