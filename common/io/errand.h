/* errand.h - work that may wait for a disk, done on a thread of its own so that the loop never does.
 *
 * Errands run one after another in the order given. `work` runs on the errand thread and may touch only what it was handed;
 * `done` runs on the loop's thread afterwards. */
#ifndef SLICEUP_COMMON_IO_ERRAND_H
#define SLICEUP_COMMON_IO_ERRAND_H

#include "common/io/loop.h"

typedef void errand_fn (void *parcel);
struct errands;
struct errands *errands_open (struct loop *loop, struct err *err);
/* Finishes every errand first; their `done` are called. */
void errands_close (struct errands *errands);
/* `parcel` belongs to the errand until `done` got it; `done` may be NULL when `work` frees it. False: too many are queued. */
bool errands_submit (struct errands *errands, errand_fn *work, errand_fn *done, void *parcel);

#endif
