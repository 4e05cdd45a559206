/* log_output.h - printing what hosts printed: a header line, and then the output, safe for a terminal unless raw. */
#ifndef SLICEUP_COORDINATOR_CLI_LOG_OUTPUT_H
#define SLICEUP_COORDINATOR_CLI_LOG_OUTPUT_H

#include "common/base/buf.h"
#include "coordinator/cli/log_filter.h"
#include "coordinator/home/run_dir.h"

/* "local[0-2], rung tiny, restored, attempt 1:" */
void log_output_header (const struct board *board, const uint32_t *hosts, uint32_t n, const struct attempt_key *key,
                        struct buf *out);
/* "local[0-2], worker:" */
void log_output_worker_header (const struct board *board, const uint32_t *hosts, uint32_t n, struct buf *out);
/* Line by line escaped; bytes that never arrived (holes) are told as such. `raw`: as they are. Ends with a newline. */
void log_output_body (struct text bytes, bool raw, struct buf *out);
/* The last `lines` lines of `bytes`; `left_out`: how many lines are before them. */
struct text log_output_tail (struct text bytes, uint32_t lines, uint32_t *left_out);
/* May these names of a journal be parts of a path? They may when they are what the configuration would have let
 * through. */
bool log_output_names_safe (const struct board *board);

#endif
