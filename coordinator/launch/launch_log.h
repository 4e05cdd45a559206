/* launch_log.h - <directory>/worker.log: a worker's standard error until it redirects it itself. What a loader, a shell
 * or a sanitizer says when a worker does not even start is there, and nowhere else. */
#ifndef SLICEUP_COORDINATOR_LAUNCH_LAUNCH_LOG_H
#define SLICEUP_COORDINATOR_LAUNCH_LAUNCH_LOG_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include <stdint.h>

struct launch_log {
    char *path;    /* owned; NULL: none */
    int64_t begin; /* what earlier workers wrote there is not of this one */
};

/* A descriptor to append to it, or -1. The caller's; `log` is for launch_log_last_words and is released always. */
int launch_log_open (struct launch_log *log, const char *directory, struct err *err);
void launch_log_release (struct launch_log *log);
/* Appends "; its last output: " and the last line written, made safe to show; nothing when there is none. */
void launch_log_last_words (const struct launch_log *log, struct buf *out);

#endif
