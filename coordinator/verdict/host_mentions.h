/* host_mentions.h - which hosts the texts of others speak of: "/job:jax_worker/replica:0/task:3 heartbeat timeout",
 * "Connection closed by peer [10.0.0.2]:8476".
 *
 * Pure. Names and addresses that several hosts share say nothing. A text comes from a host: it can name, and no more.
 */
#ifndef SLICEUP_COORDINATOR_VERDICT_HOST_MENTIONS_H
#define SLICEUP_COORDINATOR_VERDICT_HOST_MENTIONS_H

#include "common/model/plan.h"

struct host_mentions;
/* `hosts[i]`: index in the plan of the host with rank i in the pass. Lives in the arena. */
struct host_mentions *host_mentions_make (const struct plan *plan, const uint32_t *hosts, uint32_t n,
                                          struct arena *arena);
/* Sets named[rank] of each that is named in `text`; the others are left as they are. */
void host_mentions_find (const struct host_mentions *host_mentions, struct text text, bool *named);

#endif
