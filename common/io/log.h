/* log.h - one line an event on standard error: "sliceup: <message>"; a handle passed in, no globals. */
#ifndef SLICEUP_COMMON_IO_LOG_H
#define SLICEUP_COMMON_IO_LOG_H
#include <stdio.h>

#include "common/base/text.h"

struct log {
    FILE *to;
    const char *program;
    int verbose;
    void (*take) (struct text line); /* receives whole lines instead of `to`, on any thread; NULL: not used */
};                                   /* to == NULL: silent */
void log_print (const struct log *log, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
void log_detail (const struct log *log, const char *format, ...) __attribute__ ((format (printf, 2, 3))); /* verbose */
#endif
