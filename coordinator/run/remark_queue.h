/* remark_queue.h - what is said of hosts in the coordinator's own log: a remark that several hosts share within a second
 * is one line, "h[3,17]: its worker had to be copied anew".
 *
 * Remarks are alike but for their numbers. More than REMARKS_MAX different ones are told sooner, never dropped. Knows no
 * clock. One thread. */
#ifndef SLICEUP_COORDINATOR_RUN_REMARK_QUEUE_H
#define SLICEUP_COORDINATOR_RUN_REMARK_QUEUE_H

#include "common/io/log.h"
#include "common/model/plan.h"

enum { REMARKS_MAX = 16, REMARK_BYTES = 512, REMARK_WAIT_MS = 1000 };

struct remark_queue;
struct remark_queue *remark_queue_create (const struct plan *plan, const struct log *log); /* both outlive it */
void remark_queue_destroy (struct remark_queue *queue); /* tells what waits; NULL is fine */
void remark_queue_add (struct remark_queue *queue, uint32_t host, struct text sentence, uint64_t now_ms);
/* Tells what has waited long enough; all of it at UINT64_MAX. */
void remark_queue_tell (struct remark_queue *queue, uint64_t now_ms);
uint64_t remark_queue_due_ms (const struct remark_queue *queue); /* UINT64_MAX: nothing waits */

#endif
