/* slice_variables.h - compares among hosts the variables that give a TPU runtime its place in the slice: equal ones,
 * each host's own, and the number of hosts. One host with a value of another slice or an earlier job makes the runtime
 * of all hosts wait silently. Pure. Texts live in the arena. Sources:
 * jax-ml/jax:jax/_src/clusters/cloud_tpu_cluster.py, pytorch/xla:torch_xla/_internal/tpu.py. */
#ifndef SLICEUP_COORDINATOR_VERDICT_SLICE_VARIABLES_H
#define SLICEUP_COORDINATOR_VERDICT_SLICE_VARIABLES_H

#include "coordinator/verdict/topology.h"

/* Judges facts of the plan's hosts, by rank; adds findings to `out`, which has room for one a host, for hosts without
 * one. `prefix`: "tpu.": the cloud's facts about the whole slice; else the prefix of variable names ("env.", or "")
 * that programs of scope slice inherit. Skips variables that the profile sets: they differ on purpose. */
void slice_variables_judge_hosts (const struct plan *plan, const struct topology_host *hosts, const char *prefix,
                                  struct arena *arena, struct topology_findings *out);

#endif
