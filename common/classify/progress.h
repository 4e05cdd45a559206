/* progress.h - where a program worked: lines whose counter of steps, epochs or items grew. Pure. */
#ifndef SLICEUP_COMMON_CLASSIFY_PROGRESS_H
#define SLICEUP_COMMON_CLASSIFY_PROGRESS_H

#include "common/classify/printed_lines.h"

/* Index of the last line with a counter that is larger than the one before it, plus 1; 0: there is none. */
uint32_t progress_last_line (const struct printed_lines *lines);

#endif
