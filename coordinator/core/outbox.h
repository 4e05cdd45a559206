/* outbox.h - collects what a step produces, in order: facts (applied at once), effects, messages. */
#ifndef SLICEUP_COORDINATOR_CORE_OUTBOX_H
#define SLICEUP_COORDINATOR_CORE_OUTBOX_H

#include "coordinator/core/state.h"

struct fact *outbox_add_fact (struct outbox *out, enum fact_kind kind);
struct effect *outbox_add_effect (struct outbox *out, enum effect_kind kind);
/* Numbers, stamps and applies the fact that was just put into the outbox. */
void coord_commit_fact (struct coord *coord, struct fact *fact, uint64_t now_ms);
/* Adds a message with its address, for the caller to fill in. */
struct msg *coord_add_message (struct coord *coord, uint32_t host, enum msg_kind kind, struct outbox *out);

/* ---- what workers and the launcher are told to do ---- */

/* `hard`: kill it at once. Does nothing for a part that has ended. */
void stop_part (struct coord *coord, uint32_t part, bool hard, struct text why, uint64_t now_ms, struct outbox *out);
void stop_all_parts (struct coord *coord, bool hard, struct text why, uint64_t now_ms, struct outbox *out);
void launch_hosts (struct coord *coord, enum host_life life, struct outbox *out); /* all hosts in this life */
/* Begins nothing more. A failed pass stops the climb by itself: apply.c. `why`: one sentence. */
void stop_climb (struct coord *coord, enum outcome outcome, struct text why, uint64_t now_ms, struct outbox *out);

#endif
