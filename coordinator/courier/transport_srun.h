/* transport_srun.h - the bootstrap on a host as a job step of Slurm: a child `srun` and three pipes. Spec:
 * docs/spec/launch.md.
 *
 * Inside an allocation (SLURM_JOB_ID) the step overlaps what runs there; outside, srun asks for an allocation of its
 * own and waits in the queue. The worker lives in the step: it ends when srun does. */
#ifndef SLICEUP_COORDINATOR_COURIER_TRANSPORT_SRUN_H
#define SLICEUP_COORDINATOR_COURIER_TRANSPORT_SRUN_H

#include "common/base/err.h"
#include "coordinator/courier/request.h"
#include "coordinator/courier/transport.h"

/* Returns at once; NULL on error. */
struct transport *transport_srun_open (const struct request *request, struct err *err);

#endif
