/* commands.h - what workers and the launcher are told to do. */
#ifndef SLICEUP_COORDINATOR_CORE_COMMANDS_H
#define SLICEUP_COORDINATOR_CORE_COMMANDS_H

#include "coordinator/core/outbox.h"

/* `hard`: kill it at once. Nothing is said of a part that has ended. */
void stop_part (struct coord *coord, uint32_t part, bool hard, struct text why, uint64_t now_ms, struct outbox *out);
void stop_all_parts (struct coord *coord, bool hard, struct text why, uint64_t now_ms, struct outbox *out);
void launch_hosts (struct coord *coord, enum host_life life, struct outbox *out); /* all hosts in this life */
/* Nothing more is begun. A pass that ended badly stops the climb by itself: apply.c. `why`: one sentence. */
void stop_climb (struct coord *coord, enum outcome outcome, struct text why, uint64_t now_ms, struct outbox *out);

#endif
