/* workqueue.h - runs work that may wait for a disk on a separate thread, so that the loop never waits.
 *
 * Tasks run one after another in the order given. `work` runs on the task thread and may touch only what it was
 * handed; `done` runs on the loop's thread afterwards. */
#ifndef SLICEUP_COORDINATOR_WORKQUEUE_WORKQUEUE_H
#define SLICEUP_COORDINATOR_WORKQUEUE_WORKQUEUE_H

#include "common/io/loop.h"

typedef void work_item_fn (void *job);
struct workqueue;
struct workqueue *workqueue_open (struct loop *loop, struct err *err);
/* Finishes every task first; their `done` are called. */
void workqueue_close (struct workqueue *workqueue);
/* `job` belongs to the task until `done` got it; `done` may be NULL when `work` frees it. False: too many are queued.
 */
bool workqueue_submit (struct workqueue *workqueue, work_item_fn *work, work_item_fn *done, void *job);

#endif
