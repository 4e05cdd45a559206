/* attempt.h - one attempt on this host, from its RUN to its result.
 *
 *   preparing (task) <-> fetching (its files) -> awaiting (task: the device) -> importing (a preloaded interpreter)
 *   -> running (the program) -> draining (its last output) -> closing (tasks: a writer seals, a reader audits; the log is searched after a bad
 *   end) -> ended
 *
 * Steps without work are skipped. It always ends with a result, which says what went wrong. It decides nothing about
 * messages. It watches its own descriptors in the loop; its owner asks for events, so that no callback re-enters the
 * owner. Main thread only. */
#ifndef SLICEUP_WORKER_ATTEMPT_ATTEMPT_H
#define SLICEUP_WORKER_ATTEMPT_ATTEMPT_H

#include "worker/attempt/command.h"
#include "worker/environment/kit.h"
#include "worker/preload/preload.h"
#include "worker/process/output.h"

struct attempt_context {
    struct text host, run_hex;
    const char *directory;                       /* the worker's, with scratch/, logs/ and the cache link */
    const char *trusted[TRUSTED_MAX];            /* struct join_config */
    uint64_t stop_ms, log_bytes, device_wait_ms; /* struct limits */
    struct clock_offset clock_offset;            /* of this host's clock against the coordinator's */
    struct preload *preload;
    output_fn *output; /* takes chunks of output */
    void *owner;
    struct fetch_calls fetches;
};

enum attempt_event_kind {
    ATTEMPT_EVENT_NONE = 0,
    ATTEMPT_EVENT_PHASE,
    ATTEMPT_EVENT_GATE,
    ATTEMPT_EVENT_STAND,
    ATTEMPT_EVENT_ENDED
};
struct attempt_event {
    enum attempt_event_kind kind;
    struct text name; /* PHASE, GATE; STAND: where the program stands, as struct result's `stack` */
    enum gate_mode mode;
    struct text value;
    const struct result *result; /* ENDED: lives as long as the attempt */
};

struct attempt;
/* Copies `run`; the caller owns `context` and what it points to, which outlive the attempt. */
struct attempt *attempt_start (struct loop *loop, const struct attempt_context *context, const struct msg_run *run,
                               uint64_t now_ms);
void attempt_destroy (struct attempt *attempt); /* NULL is fine; kills a running program */
void attempt_go (struct attempt *attempt, struct text gate, struct text value);
/* Finds out where the running program stands, without stopping it: an event STAND follows within 2 s, unless it ends. */
void attempt_look (struct attempt *attempt, uint64_t now_ms);
/* Reports `ending`, unless the program ended by itself and said so, or had failed before (except by SIGTERM, SIGINT or
 * SIGHUP just before this worker was TERMINATED). Repeating it matters only for `hard`. */
void attempt_stop (struct attempt *attempt, bool hard, enum ending ending, struct text why, uint64_t now_ms);
/* Takes a piece of a file, from the coordinator or another host; ignores pieces that it does not wait for. */
void attempt_receive_chunk (struct attempt *attempt, const struct msg_chunk *chunk, bool of_host, uint64_t now_ms);
/* Call it at every pass of the loop. */
void attempt_poll (struct attempt *attempt, uint64_t now_ms);
uint64_t attempt_deadline_ms (const struct attempt *attempt);
/* The next event; false: none. Texts live until the next call. */
bool attempt_next (struct attempt *attempt, struct attempt_event *event);
struct attempt_key attempt_which (const struct attempt *attempt);
struct text attempt_address (const struct attempt *attempt); /* of this host, for other hosts */
/* <directory>/<folder>/<rung>.<pass>.<attempt><suffix>: numbers and words of our own only. */
struct text attempt_file_path (struct arena *arena, const char *directory, const char *folder,
                               const struct attempt_key *key, const char *suffix);

/* ---- result_store.c ---- */

/* Results on disk until they are acknowledged, in one file of the worker's directory. They outlive this process, not
 * this run. Main thread only. */
#define RESULTS_FILE "results.kept"
enum { RESULTS_KEPT_MAX = 4 }; /* a member holds no more: HELD_MAX of worker/core */
struct result_store {
    const char *directory;
    int fd; /* 0: not open yet */
    struct attempt_key keys[RESULTS_KEPT_MAX];
};

typedef void result_store_fn (void *owner, const struct result *result); /* `result` lives until the call returns */

int result_store_save (struct result_store *store, const struct result *result, struct err *err); /* 0: durable */
int result_store_forget (struct result_store *store, const struct attempt_key *key,
                         struct err *err); /* missing is fine */
/* Hands every kept result to `fn`. Of unreadable ones, which go to *.damaged, the first is the error. */
int result_store_recall (struct result_store *store, result_store_fn *fn, void *owner, struct err *err);
void result_store_close (struct result_store *store);

#endif
