/* line_prefix.h - takes off what launchers and collectors put in front of lines. Forms: docs/spec/signatures.md. Pure. */
#ifndef SLICEUP_COMMON_CLASSIFY_LINE_PREFIX_H
#define SLICEUP_COMMON_CLASSIFY_LINE_PREFIX_H

#include "common/classify/printed_lines.h"

/* Sets `body` and `speaker` of each line. A form that ordinary text has as well counts when many lines have it. */
void line_prefix_peel_all (struct printed_lines *lines);

#endif
