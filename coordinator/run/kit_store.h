/* kit_store.h - serves the files that a plan names to its hosts, piece by piece.
 *
 * Only what the plan names by its sha256 is served, and only bytes that have that sha256: a file is read whole, on a
 * thread of its own, checked, and kept in memory from then on (64 MiB at most for all; the least used go). So a file
 * that changes while hosts fetch it is either served as planned or refused. Wheels are too large for that: a piece of
 * one is read when it is asked for, and the host finds by the sha256 of the whole what changed meanwhile. One request a
 * host waits at a time, so no host can fill anything. Knows hosts by rank and no sockets. Main thread only. */
#ifndef SLICEUP_COORDINATOR_RUN_KIT_STORE_H
#define SLICEUP_COORDINATOR_RUN_KIT_STORE_H

#include "common/io/loop.h"
#include "common/model/msg.h"

/* The answer for a host; it lives until the call returns. */
typedef void kit_answer_fn (void *owner, uint32_t host, const struct msg_chunk *chunk);

struct kit_store;
/* `plan` stays the caller's and outlives the store. */
struct kit_store *kit_store_open (struct loop *loop, const struct plan *plan, kit_answer_fn *answer, void *owner,
                                  struct err *err);
void kit_store_close (struct kit_store *store); /* NULL is fine; nobody is answered any more */
void kit_store_answer (struct kit_store *store, uint32_t host, const struct msg_fetch *ask);

#endif
