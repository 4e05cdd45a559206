/* log_store.h - writes the output of programs, from the bulk channel: one bounded file for each attempt and host. A
 * task thread writes. A chunk that cannot be written, or finds the queue full, is lost; this is reported once for each
 * attempt of a host, up to a maximum. Later chunks are then written at their own offsets, so a hole stays. */
#ifndef SLICEUP_COORDINATOR_RUN_LOG_STORE_H
#define SLICEUP_COORDINATOR_RUN_LOG_STORE_H

#include "common/model/fact.h"
#include "coordinator/journal/database.h"
#include "coordinator/journal/run_dir.h"

struct log_store;
/* Called on the loop's thread; `why` lives until it returns. True: the loss is recorded. */
typedef bool log_store_lost_fn (void *owner, uint32_t host, const struct attempt_key *key, struct text why);
struct log_store *log_store_open (const struct run_dir *dir, const struct plan *plan, struct workqueue *workqueue,
                                  log_store_lost_fn *lost, void *owner);
void log_store_close (struct log_store *store); /* after workqueue_close */
void log_store_add (struct log_store *store, uint32_t host, const struct msg_log *chunk);

/* ---- output watch ---- */

/* The last line that each host printed, and when: for people who wait for a host.
 *
 * Takes the pieces of logs as they come, keeps one line of at most OUTPUT_LINE_BYTES a host, and knows no clock.
 * Silence is reported only if it is certain: not for a log at its limit, and not for an attempt of an earlier
 * coordinator before the host prints. One thread. */

struct output_watch;
/* `resumed`: another process began the running attempt. */
struct output_watch *output_watch_create (uint32_t hosts_n, uint64_t log_bytes, bool resumed);
void output_watch_destroy (struct output_watch *watch); /* NULL is fine */
void output_watch_add (struct output_watch *watch, uint32_t host, const struct msg_log *piece, uint64_t now_ms);
/* Fills `out->groups` of attempt `out->key` with at most OUTPUT_GROUPS_MAX groups of `hosts`, the longest quiet first.
 * Only hosts that have been quiet for 5 s. */
void output_watch_tell (struct output_watch *watch, const uint32_t *hosts, uint32_t n, uint64_t now_ms,
                        struct arena *arena, struct fact_output_awaited *out);

#endif
