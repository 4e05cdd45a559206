/* event_json.h - a run as it happens, for scripts: one JSON object a line, docs/spec/event.schema.json.
 *
 * One event a fact: what the fact says, under the names that facts have for it, with hosts and rungs by name. What a
 * plan launches, secrets and evidence of programs in full are left to the receipt. Pure. */
#ifndef SLICEUP_COORDINATOR_VIEW_EVENT_JSON_H
#define SLICEUP_COORDINATOR_VIEW_EVENT_JSON_H

#include "coordinator/receipt/board.h"

/* Appends the event of a fact that the board has seen; nothing for facts that are no news. */
void event_json (const struct board *board, const struct fact *fact, struct buf *out);
/* Something that is no fact: "the coordinator is gone". */
void event_json_remark (struct text words, struct buf *out);
/* The last line of a command. `outcome` NONE and no sentence: the run has not ended. */
void event_json_exit (enum outcome outcome, struct text sentence, int exit_status, struct buf *out);

#endif
