/* violation.h - records findings in the cache that the single writer's rules exclude. */
#ifndef SLICEUP_COORDINATOR_CORE_VIOLATION_H
#define SLICEUP_COORDINATOR_CORE_VIOLATION_H

#include "coordinator/core/outbox.h"

void violation_record_pass (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* Records that the root could not be audited, so no finding proves nothing. */
void finding_record_unaudited (struct coord *coord, struct text why, uint64_t now_ms, struct outbox *out);
void violation_record_audit (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);
void violation_repeat_drops (struct coord *coord, uint64_t now_ms, struct outbox *out);

#endif
