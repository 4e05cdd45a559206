/* fetch.h - fetches files from the coordinator into the worker's folder, one piece at a time.
 *
 * Level-triggered like everything else: the piece that is wanted is asked for again until it comes, so that a request
 * or an answer may be lost, repeated or late. A file is kept once its sha256 is that of the plan; a file that cannot be
 * fetched ends the fetch with an error sentence. Each goes to the disk as it comes, so memory
 * holds one piece. Knows no sockets; time is given. Main thread only. */
#ifndef SLICEUP_WORKER_ENVIRONMENT_FETCH_H
#define SLICEUP_WORKER_ENVIRONMENT_FETCH_H

#include "worker/environment/kit.h"

enum { FETCH_SILENCE_MS = 60 * 1000 /* without a new piece: it ends */, FETCH_FILES_MAX = KIT_FILES_MAX + WHEELS_MAX };

/* Asks the coordinator; false: that cannot be said right now. */
typedef bool fetch_request_fn (void *owner, const struct msg_fetch *ask);

enum fetch_state { FETCH_GOING, FETCH_DONE, FETCH_FAILED };

struct fetch;
/* `missing` are sha256 of files and wheels of `run`; both are copied. `directory` and `owner` stay the caller's. */
struct fetch *fetch_start (const struct msg_run *run, const struct text *missing, uint32_t missing_n,
                           const char *directory, fetch_request_fn *fn, void *owner, uint64_t now_ms);
void fetch_destroy (struct fetch *fetch); /* NULL is fine */
void fetch_take (struct fetch *fetch, const struct msg_chunk *chunk, uint64_t now_ms);
void fetch_poll (struct fetch *fetch, uint64_t now_ms);
uint64_t fetch_deadline_ms (const struct fetch *fetch);
/* FAILED: `*problem` says why; it lives as long as the fetch. `problem` may be NULL. */
enum fetch_state fetch_state (const struct fetch *fetch, struct text *problem);
/* FAILED: whose it is. A file that the coordinator no longer has is the launch's; all else is this host's. */
enum owner fetch_owner (const struct fetch *fetch);

#endif
