/* gate_table.h - who came last to each gate of the passes that have ended, for the other files of this room.
 *
 * From the hosts' own phases "gate:NAME": who waited least came last. Once a pass has ended this does not change, so it is
 * made then, and not for every scene. Owns what it points at. One thread. No errors. */
#ifndef SLICEUP_COORDINATOR_PICTURE_GATE_TABLE_H
#define SLICEUP_COORDINATOR_PICTURE_GATE_TABLE_H

#include "coordinator/story/board.h"

#define GATE_SPAN "gate:"
enum { GATE_WAITS_MAX = 512 }; /* the newest are kept */

struct gate_wait {
    struct attempt_key key;
    uint32_t word;                  /* board_word: "gate:NAME" */
    uint32_t last, hosts_n;         /* who waited least, of two the first; how many hosts waited there at all */
    uint32_t median_ms, longest_ms; /* of the others */
    uint64_t opened_ms;             /* run clock: when the wait of the last was over */
};
struct gate_table {
    struct gate_wait items[GATE_WAITS_MAX]; /* in the order in which their passes ended */
    uint32_t n;
};

/* Once the board has taken the end of that pass. */
void gate_table_add_pass (struct gate_table *table, const struct board *board, const struct attempt_key *key);
const struct gate_wait *gate_table_find (const struct gate_table *table, const struct attempt_key *key, uint32_t word);

#endif
