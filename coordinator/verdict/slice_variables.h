/* slice_variables.h - what tells a TPU runtime its place in the slice, host against host: which has to be the same, which
 * is each host's own, and how many hosts it speaks of. One host with a value of another slice, or of an earlier job, makes
 * the runtime of all hosts wait without a word. Pure. Texts live in the arena.
 * Sources: jax-ml/jax:jax/_src/clusters/cloud_tpu_cluster.py, pytorch/xla:torch_xla/_internal/tpu.py. */
#ifndef SLICEUP_COORDINATOR_VERDICT_SLICE_VARIABLES_H
#define SLICEUP_COORDINATOR_VERDICT_SLICE_VARIABLES_H

#include "coordinator/verdict/topology.h"

/* Of what the hosts of the plan told, by rank; adds to `out`, which has room for a finding a host, for hosts without one.
 * `prefix`: "tpu.", facts of what the cloud says of the whole slice; else what stands before the names of variables
 * ("env.", or ""): those that programs of scope slice inherit. What the profile sets is not looked at: it differs by
 * the profile's will. */
void slice_variables_judge_hosts (const struct plan *plan, const struct topology_host *hosts, const char *prefix,
                                  struct arena *arena, struct topology_findings *out);

#endif
