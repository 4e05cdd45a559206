/* viewer.h - the live view on a thread of its own: a terminal that is stopped (Ctrl-S, a pager) must not stop the run.
 *
 * Facts are handed over as bytes through a bounded queue. When the terminal does not take them, soft facts are left out
 * first; durable ones only past 64 MiB. */
#ifndef SLICEUP_COORDINATOR_CLI_VIEWER_H
#define SLICEUP_COORDINATOR_CLI_VIEWER_H

#include "common/base/err.h"
#include "common/model/fact.h"
#include "coordinator/view/live.h"

struct viewer;
struct viewer *viewer_open (const struct live_options *look, struct err *err);
/* `bytes`: the fact's wire encoding; copied. Never blocks. */
void viewer_add_fact (struct viewer *viewer, enum fact_kind kind, struct text bytes);
void viewer_close (struct viewer *viewer); /* shows what was handed over, then ends */

#endif
