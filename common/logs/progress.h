/* progress.h - where a program worked: lines whose counter of steps, epochs or items grew. Pure. */
#ifndef SLICEUP_COMMON_LOGS_PROGRESS_H
#define SLICEUP_COMMON_LOGS_PROGRESS_H

#include "common/logs/printed_lines.h"

/* Sets `worked` of each line: how many counters of its speaker grew behind it. */
void progress_count (struct printed_lines *lines);

#endif
