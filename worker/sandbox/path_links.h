/* path_links.h - lists the symbolic links of a path, as the kernel resolves them.
 *
 * A user who may replace such a link chooses what the path names. It changes nothing and checks no permissions. */
#ifndef SLICEUP_WORKER_SANDBOX_PATH_LINKS_H
#define SLICEUP_WORKER_SANDBOX_PATH_LINKS_H

#include "common/base/err.h"

enum { PATH_LINKS_MAX = 40 }; /* as the kernel's own, path_resolution(7) */

/* -1 stops. `link` lives until it returns. */
typedef int path_link_fn (void *owner, const char *link, struct err *err);
/* Calls `fn` for each link on the way and at the end, with its own place: the real folder that it lies in, and its
 * name. A relative path is one of this process's folder. What is not there, or cannot be reached, ends the way: 0.
 * ERR_LIMIT: more than PATH_LINKS_MAX links, or a path that is too long. */
int path_links_each (const char *path, path_link_fn *fn, void *owner, struct err *err);

#endif
