/* topology.h - the arithmetic of a TPU slice: compares the hosts' facts with each other and with the plan.
 *
 * Chips of a host times hosts are the product of the topology; bounds multiply to it; and the hosts' places fit
 * together (slice_variables.c). The run may leave hosts of the slice out. A missing fact is not judged: absence is no
 * evidence. Other backends have no such arithmetic, so no findings. Pure. Texts live in the arena. Facts as
 * docs/spec/facts.md names them; sources: docs.cloud.google.com/tpu/docs/v6e,
 * jax-ml/jax:jax/_src/clusters/cloud_tpu_cluster.py, pytorch/xla:torch_xla/_internal/tpu.py. */
#ifndef SLICEUP_COORDINATOR_VERDICT_TOPOLOGY_H
#define SLICEUP_COORDINATOR_VERDICT_TOPOLOGY_H

#include "common/model/plan.h"

struct topology_host {
    const struct var *facts;
    uint32_t facts_n;
}; /* in rank order, one for each host of the plan */
struct topology_finding {
    uint32_t host; /* rank of the host at fault, as far as known */
    enum owner owner;
    struct text fact;       /* the fact that shows it */
    struct text what, next; /* without host names, so that equal findings fold together */
};
struct topology_findings {
    struct topology_finding *items;
    uint32_t n;
}; /* at most one a host: the first found */

/* Empty: the host did not report it. */
struct text topology_said (const struct topology_host *host, struct text fact);
/* Finds hosts with different addresses that are one machine (same boot and name), which prove nothing. Hosts with one
 * address, or loopback addresses, are one machine on purpose. Any backend. */
void topology_judge_machines (const struct plan *plan, const struct topology_host *hosts, struct arena *arena,
                              struct topology_findings *out);
void topology_judge_hosts (const struct plan *plan, const struct topology_host *hosts, struct arena *arena,
                           struct topology_findings *out);

#endif
