/* live_thread.h - a view of a run on its own thread: a stopped terminal (Ctrl-S, a pager) or a disk that does not answer
 * must not stop the run.
 *
 * Facts are handed over as bytes through a bounded queue. When the view does not take them, soft facts are left out
 * first; durable ones only past 64 MiB. */
#ifndef SLICEUP_COORDINATOR_CLI_LIVE_THREAD_H
#define SLICEUP_COORDINATOR_CLI_LIVE_THREAD_H

#include "common/base/err.h"
#include "common/model/fact.h"

/* All of it is called on the view's thread. */
struct live_viewer {
    void *(*open) (void *owner); /* returns the view */
    void (*fact) (void *view, const struct fact *fact);
    uint32_t (*tick) (void *view); /* after facts, and when as many ms as it returned are over */
    void (*close) (void *view);
    void (*log) (void *view, struct text line); /* NULL: nobody adds any */
};

struct live_thread;
struct live_thread *live_thread_open (const struct live_viewer *viewer, void *owner, struct err *err);
/* `bytes`: the fact's wire encoding; copied. Never blocks. */
void live_thread_add_fact (struct live_thread *viewer, enum fact_kind kind, struct text bytes);
void live_thread_add_log (struct live_thread *thread,
                          struct text line);         /* on any thread; as bounded as durable facts */
void live_thread_close (struct live_thread *viewer); /* shows what was handed over, then ends */
/* The same within so long, in whole seconds. False: something holds up the view; it is left as it is, and may go on until the process ends. */
bool live_thread_close_within (struct live_thread *viewer, uint32_t timeout_ms);

#endif
