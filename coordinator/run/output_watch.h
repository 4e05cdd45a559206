/* output_watch.h - the last line that each host printed, and when: for those who wait for a host.
 *
 * Takes the pieces of logs as they come, keeps one line of at most OUTPUT_LINE_BYTES a host, and knows no clock. Silence
 * is told only where it is known: not of a log that has reached its limit, and not of an attempt that an earlier
 * coordinator began until the host prints. One thread. */
#ifndef SLICEUP_COORDINATOR_RUN_OUTPUT_WATCH_H
#define SLICEUP_COORDINATOR_RUN_OUTPUT_WATCH_H

#include "common/model/fact.h"

struct output_watch;
/* `resumed`: the attempt that runs now was begun by another process. */
struct output_watch *output_watch_create (uint32_t hosts_n, uint64_t log_bytes, bool resumed);
void output_watch_destroy (struct output_watch *watch); /* NULL is fine */
void output_watch_add (struct output_watch *watch, uint32_t host, const struct msg_log *piece, uint64_t now_ms);
/* Fills `out->groups` of attempt `out->key` with at most OUTPUT_GROUPS_MAX groups of `hosts`, the longest quiet first.
 * Only those that have been quiet for 5 s: who prints is not told of. */
void output_watch_tell (struct output_watch *watch, const uint32_t *hosts, uint32_t n, uint64_t now_ms,
                        struct arena *arena, struct fact_output_awaited *out);

#endif
