/* topology.h - the arithmetic of a TPU slice: what the hosts say of it against one another and against the plan.
 *
 * Chips of a host times hosts are the product of the topology; bounds multiply to it; and the places that hosts are told
 * fit together (slice_variables.h). The run may leave hosts of the slice out. A host that does not say a thing is not judged
 * by it: absence is no evidence. Other backends have no such arithmetic, and nothing is found for them. Pure. Texts
 * live in the arena. Facts as docs/spec/facts.md names them; sources: docs.cloud.google.com/tpu/docs/v6e,
 * jax-ml/jax:jax/_src/clusters/cloud_tpu_cluster.py, pytorch/xla:torch_xla/_internal/tpu.py. */
#ifndef SLICEUP_COORDINATOR_VERDICT_TOPOLOGY_H
#define SLICEUP_COORDINATOR_VERDICT_TOPOLOGY_H

#include "common/model/plan.h"

struct topology_host {
    const struct var *facts;
    uint32_t facts_n;
}; /* in rank order, one for each host of the plan */
struct topology_finding {
    uint32_t host; /* rank; who is at fault, as far as that can be told */
    enum owner owner;
    struct text fact;       /* the one that told */
    struct text what, next; /* no host name in it: equal findings fold together */
};
struct topology_findings {
    struct topology_finding *items;
    uint32_t n;
}; /* at most one a host: the first that holds */

/* Empty: the host does not say it. */
struct text topology_said (const struct topology_host *host, struct text fact);
/* Of hosts under different addresses that are one machine (the same boot and name): nothing is proved over them. Hosts
 * with one address, or with addresses of loopback, are one machine by their user's own word. Any backend. */
void topology_judge_machines (const struct plan *plan, const struct topology_host *hosts, struct arena *arena,
                              struct topology_findings *out);
void topology_judge_hosts (const struct plan *plan, const struct topology_host *hosts, struct arena *arena,
                           struct topology_findings *out);

#endif
