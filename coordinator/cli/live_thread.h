/* live_thread.h - the live view on its own thread: a stopped terminal (Ctrl-S, a pager) must not stop the run.
 *
 * Facts are handed over as bytes through a bounded queue. When the terminal does not take them, soft facts are left out
 * first; durable ones only past 64 MiB. */
#ifndef SLICEUP_COORDINATOR_CLI_LIVE_THREAD_H
#define SLICEUP_COORDINATOR_CLI_LIVE_THREAD_H

#include "common/base/err.h"
#include "common/model/fact.h"
#include "coordinator/view/live.h"

struct live_thread;
struct live_thread *live_thread_open (const struct live_options *look, struct err *err);
/* `bytes`: the fact's wire encoding; copied. Never blocks. */
void live_thread_add_fact (struct live_thread *viewer, enum fact_kind kind, struct text bytes);
void live_thread_close (struct live_thread *viewer); /* shows what was handed over, then ends */

#endif
