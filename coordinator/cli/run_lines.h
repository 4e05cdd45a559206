/* run_lines.h - a run as it happens, as lines on a stream: the notes of a feed with the run's clock in front, and now and
 * then what is waited for; or one JSON object a fact (docs/spec/event.schema.json).
 *
 * It listens to the feed. The owner puts a fact into the feed, then calls run_lines_fact. Quiet time goes by the boot clock, which never jumps.
 * Does not own feed and stream. One thread. A stream that can no longer be written is noticed by its owner. */
#ifndef SLICEUP_COORDINATOR_CLI_RUN_LINES_H
#define SLICEUP_COORDINATOR_CLI_RUN_LINES_H

#include <stdio.h>

#include "coordinator/scene/feed.h"

struct run_lines_options {
    struct feed *feed;
    FILE *out;
    bool json, unicode;
};
struct run_lines;
/* What the feed has noted by now is not printed. */
struct run_lines *run_lines_open (const struct run_lines_options *options);
void run_lines_fact (struct run_lines *lines, const struct fact *fact, uint64_t boot_ms);
/* A remark that is no fact, e.g. "the coordinator is gone": without the run's clock, which facts alone have. */
void run_lines_remark (struct run_lines *lines, const char *remark, uint64_t boot_ms);
/* Some times a second. `frozen`: nothing can be heard of the run, so nothing is waited for. */
void run_lines_tick (struct run_lines *lines, uint64_t boot_ms, bool frozen);
void run_lines_close (struct run_lines *lines); /* prints what waited to be shared; NULL is fine */

#endif
