/* memory_line.h - the line `memory` of a canary: docs/spec/canary.md. The largest of several counts. Any thread. */
#ifndef SLICEUP_WORKER_PROTOCOL_MEMORY_LINE_H
#define SLICEUP_WORKER_PROTOCOL_MEMORY_LINE_H

#include "common/base/err.h"
#include "common/model/result.h"
#include <jansson.h>

/* -1: nothing of the line was taken. */
int memory_line_take (const json_t *line, struct result *result, struct err *err);

#endif
