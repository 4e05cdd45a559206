/* shelf.h - results that the coordinator has not acknowledged, and the attempts this worker has ever started.
 *
 * Each result owns its memory until it is dropped. Normally there is at most one; more appear only when the coordinator
 * gave an attempt up without taking its result, and the worker must not lose evidence for that. It knows
 * nothing of messages beyond their values, nor of files. Not thread-safe. */
#ifndef SLICEUP_WORKER_SHELF_H
#define SLICEUP_WORKER_SHELF_H

#include "common/model/msg.h"

/* HELD_MAX results and the running attempt must fit into the holdings of one message (common/model/msg.h: 4). */
enum { HELD_MAX = 4, SEEN_MAX = 256 };

struct held {
    struct result result;
    uint64_t sent_ms;       /* when it was last sent; 0: never in this session */
    struct arena arena;
};

struct shelf {
    struct held *held[HELD_MAX];    /* in the order in which they ended */
    uint32_t held_n;
    struct attempt_key seen[SEEN_MAX]; /* a ring: the oldest is forgotten first */
    uint32_t seen_n, seen_next;
};

void shelf_release (struct shelf *shelf);
bool shelf_full (const struct shelf *shelf);
struct held *shelf_put (struct shelf *shelf, const struct result *result);  /* copies; not when full */
struct held *shelf_find (const struct shelf *shelf, const struct attempt_key *key);
bool shelf_drop (struct shelf *shelf, const struct attempt_key *key);       /* false: not there */
void shelf_see (struct shelf *shelf, const struct attempt_key *key);
bool shelf_has_seen (const struct shelf *shelf, const struct attempt_key *key);

#endif
