/* board_private.h - shared by the files that fold facts into a board, and by nobody else. */
#ifndef SLICEUP_COORDINATOR_STORY_BOARD_PRIVATE_H
#define SLICEUP_COORDINATOR_STORY_BOARD_PRIVATE_H

#include "coordinator/story/board.h"

/* Kept texts are owned, bounded copies. */
void board_text_set (struct text *kept, struct text from, uint32_t max_bytes);
void board_text_clear (struct text *kept);
uint32_t board_text_kept_bytes (struct text text, uint32_t max_bytes); /* how much of it would be kept */

struct board_host *board_find_host (struct board *board, uint32_t host); /* NULL outside the plan */
void board_forget_holding (struct board_host *host);
/* It is shown otherwise since the fact that is applied now. */
void board_host_changed (struct board *board, uint32_t host);
/* Every host, and the rungs that are not over, and this one. */
void board_all_changed (struct board *board, uint32_t rung);

/* board_groups.c */
void board_groups_clear (struct board_pass *pass);
/* `capacity`: hosts that one group may come to hold. */
void board_groups_add (const struct board *board, struct board_pass *pass, const struct verdict *verdict,
                       bool preliminary, uint32_t capacity);
/* A host that comes to no pass of the rung, with the reason. */
void board_groups_add_absent (struct board *board, uint32_t rung, const struct verdict *verdict);
/* Compares what was said of the host so far with its verdict, or with OUTCOME_PASSED. */
void board_groups_correct (struct board *board, struct board_pass *pass, uint32_t host, enum outcome to,
                           enum owner to_owner);

/* How long phases of the running pass take. */
void board_phases_clear (struct board *board);
void board_phase_note (struct board *board, uint32_t host, struct text name, uint64_t spent_ms);
void board_phase_forget (struct board *board, uint32_t host); /* of an attempt that failed */

/* board_history.c */
void board_history_begin (struct board *board, uint32_t host, const struct attempt_key *key, uint64_t at_ms);
void board_history_end (struct board *board, const struct fact *fact); /* ATTEMPT_ENDED of a host of the running pass */
/* Of `verdict` what says which attempt, how it was judged, and `ended_ms`: when, where its own end is not known. */
void board_history_judge (struct board *board, uint32_t host, const struct board_attempt *verdict);
/* The run ends like this. Whoever was lost, and did nothing at the rung at which it ends, has that outcome there; so has
 * everybody, where the launch is known to be bad. Of a cancelled run only the lost are told. */
void board_history_close (struct board *board, enum outcome outcome, uint64_t at_ms);
void board_count_compiling (struct board *board, const struct result *result);
void board_history_release (struct board *board);

/* board_pass.c */
void board_pass_began (struct board *board, const struct fact *fact);
void board_pass_skipped (struct board *board, const struct fact_pass_skipped *skipped);
void board_hosts_left_behind (struct board *board, const struct fact *fact);
void board_gate_opened (struct board *board, const struct fact_gate_opened *opened);
void board_attempt_ended (struct board *board, const struct fact *fact);
void board_pass_ended (struct board *board, const struct fact *fact);
void board_retry_planned (struct board *board, const struct fact *fact);
void board_suspects_named (struct board *board, const struct fact_suspects_named *named);

#endif
