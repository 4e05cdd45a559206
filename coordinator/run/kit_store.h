/* kit_store.h - serves the files that a plan names to its hosts, piece by piece.
 *
 * It serves only files of the plan, and only bytes with the planned sha256: a separate thread reads a whole file and
 * checks it, and it stays in memory (64 MiB for all; the least used go first). So a file that changes while hosts fetch
 * it is served as planned or refused. Wheels are too large for that: a piece is read when a host asks for it, and the
 * host detects a change by the sha256 of the whole. A host has one waiting request at a time, so none can fill memory.
 * Knows hosts by rank and no sockets. Main thread only. */
#ifndef SLICEUP_COORDINATOR_RUN_KIT_STORE_H
#define SLICEUP_COORDINATOR_RUN_KIT_STORE_H

#include "common/io/loop.h"
#include "common/model/msg.h"

/* Gets the answer for a host; it lives until the call returns. */
typedef void kit_answer_fn (void *owner, uint32_t host, const struct msg_chunk *chunk);

struct kit_store;
/* The caller owns `plan`, which outlives the store. */
struct kit_store *kit_store_open (struct loop *loop, const struct plan *plan, kit_answer_fn *answer, void *owner,
                                  struct err *err);
void kit_store_close (struct kit_store *store); /* NULL is fine; sends no more answers */
void kit_store_answer (struct kit_store *store, uint32_t host, const struct msg_fetch *ask);

#endif
