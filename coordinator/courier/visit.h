/* visit.h - a worker brought to its host over an open way: bootstrap, bundle, launch line, answer, GO, and what comes
 * after.
 *
 * The loop around a dialogue: it waits for the way and the coordinator at once, and never longer than the deadline
 * until the worker has answered. It knows nothing of ssh or Slurm. One thread. */
#ifndef SLICEUP_COURIER_VISIT_H
#define SLICEUP_COURIER_VISIT_H

#include "coordinator/courier/input.h"
#include "coordinator/courier/order.h"
#include "coordinator/courier/voice.h"
#include "coordinator/courier/way.h"

struct visit_end {
    int status;             /* of the courier: 0 when the worker was brought there and GO was said */
    bool refused;           /* in `step`, because of `why`: to be said when the way is closed */
    enum step step;
    struct err why;
    uint64_t leave_ms;      /* how long the program may take to end by itself */
};
void visit_run (const struct order *order, struct voice *voice, struct input *input, struct way *way, uint64_t until_ms,
                struct visit_end *end);

#endif
