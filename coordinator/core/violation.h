/* violation.h - what is found in the cache that the single writer's rules exclude. */
#ifndef SLICEUP_COORDINATOR_CORE_VIOLATION_H
#define SLICEUP_COORDINATOR_CORE_VIOLATION_H

#include "coordinator/core/outbox.h"
#include "coordinator/core/state.h"

void violation_record (struct coord *coord, uint32_t host, const struct finding *finding, struct text from_run,
                       uint64_t now_ms, struct outbox *out);
void violation_of_pass (struct coord *coord, uint64_t now_ms, struct outbox *out);
bool violation_audit_is_done (struct coord *coord, uint64_t now_ms,
                              struct outbox *out); /* false: the answer is awaited */
void violation_audited (struct coord *coord, const struct input *in, uint64_t now_ms, struct outbox *out);
void violation_watch (struct coord *coord, uint64_t now_ms, struct outbox *out);
void violation_attach (struct coord *coord, uint64_t now_ms, struct outbox *out);
bool violation_dropped (const struct coord *coord, uint64_t token);
uint64_t violation_deadline_ms (const struct coord *coord);

#endif
