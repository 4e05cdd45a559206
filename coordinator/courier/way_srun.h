/* way_srun.h - the bootstrap on a host as a job step of Slurm: a child `srun` and three pipes. Spec:
 * docs/spec/launch.md.
 *
 * Inside an allocation (SLURM_JOB_ID) the step overlaps what runs there; outside, srun asks for an allocation of its
 * own and waits in the queue. The worker lives in the step: it ends when srun does. */
#ifndef SLICEUP_COURIER_WAY_SRUN_H
#define SLICEUP_COURIER_WAY_SRUN_H

#include "common/base/err.h"
#include "coordinator/courier/order.h"
#include "coordinator/courier/way.h"

/* Returns at once; NULL on error. */
struct way *way_srun_open (const struct order *order, struct err *err);

#endif
