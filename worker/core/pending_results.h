/* pending_results.h - results that the coordinator has not acknowledged, and the attempts this worker has ever started.
 *
 * Each result owns its memory until it is dropped. Normally there is at most one; more appear only when the coordinator
 * gave an attempt up without taking its result, and the worker must not lose evidence for that. It knows
 * nothing of messages beyond their values, nor of files. Not thread-safe. */
#ifndef SLICEUP_WORKER_CORE_PENDING_RESULTS_H
#define SLICEUP_WORKER_CORE_PENDING_RESULTS_H

#include "common/model/msg.h"

/* HELD_MAX results and the running attempt must fit into the holdings of one message (common/model/msg.h: 4). */
enum { HELD_MAX = 4, SEEN_MAX = 256 };

struct pending_result {
    struct result result;
    uint64_t sent_ms; /* when it was last sent; 0: never in this session */
    struct arena arena;
};

struct pending_results {
    struct pending_result *held[HELD_MAX]; /* in the order in which they ended */
    uint32_t held_n;
    struct attempt_key seen[SEEN_MAX]; /* a ring: the oldest is forgotten first */
    uint32_t seen_n, seen_next;
};

void pending_results_release (struct pending_results *pending_results);
bool pending_results_full (const struct pending_results *pending_results);
struct pending_result *pending_results_put (struct pending_results *pending_results,
                                            const struct result *result); /* copies; not when full */
struct pending_result *pending_results_find (const struct pending_results *pending, const struct attempt_key *key);
bool pending_results_drop (struct pending_results *pending, const struct attempt_key *key); /* false: not there */
void pending_results_note_seen (struct pending_results *pending_results, const struct attempt_key *key);
bool pending_results_has_seen (const struct pending_results *pending_results, const struct attempt_key *key);

#endif
