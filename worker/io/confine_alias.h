/* confine_alias.h - one storage can be mounted at several places; what is below `folder` then has several names.
 *
 * Reads /proc/self/mountinfo (proc_pid_mountinfo(5)). It cannot know mounts whose device number differs although the
 * server is the same. */
#ifndef SLICEUP_WORKER_CONFINE_ALIAS_H
#define SLICEUP_WORKER_CONFINE_ALIAS_H

#include "common/base/err.h"
#include "common/base/text.h"

/* At most ALIASES_MAX (confine_site.h); more are an error. Only those that can be reached. */
int confine_alias_find (const char *folder, struct arena *arena, const char **out, uint32_t *n, struct err *err);

#endif
