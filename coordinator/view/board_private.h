/* board_private.h - shared by the files that fold facts into a board, and by nobody else. */
#ifndef SLICEUP_COORDINATOR_VIEW_BOARD_PRIVATE_H
#define SLICEUP_COORDINATOR_VIEW_BOARD_PRIVATE_H

#include "coordinator/view/board.h"

/* Kept texts are owned, bounded copies. */
void board_text_set (struct text *kept, struct text from, uint32_t max_bytes);
void board_text_clear (struct text *kept);
uint32_t board_text_kept_bytes (struct text text, uint32_t max_bytes); /* how much of it would be kept */

struct board_host *board_find_host (struct board *board, uint32_t host); /* NULL outside the plan */
void board_forget_holding (struct board_host *host);

/* board_groups.c */
void board_groups_clear (struct board_pass *pass);
/* `capacity`: hosts that one group may come to hold. */
void board_groups_add (struct board_pass *pass, const struct verdict *verdict, bool preliminary, uint32_t capacity);
/* Compares what was said of the host so far with its verdict, or with OUTCOME_PASSED. */
void board_groups_correct (struct board *board, struct board_pass *pass, uint32_t host, enum outcome to,
                           enum owner to_owner);

/* board_phase.c */
void board_phases_clear (struct board *board);
void board_phase_note (struct board *board, uint32_t host, struct text name, uint64_t spent_ms);

/* board_pass.c */
void board_pass_began (struct board *board, const struct fact *fact);
void board_pass_skipped (struct board *board, const struct fact_pass_skipped *skipped);
void board_hosts_left_behind (struct board *board, const struct fact_hosts_left_behind *left);
void board_gate_opened (struct board *board, const struct fact_gate_opened *opened);
void board_attempt_ended (struct board *board, const struct fact_attempt_ended *ended);
void board_pass_ended (struct board *board, const struct fact_pass_ended *ended);
void board_retry_planned (struct board *board, const struct fact *fact);
void board_suspects_named (struct board *board, const struct fact_suspects_named *named);

#endif
