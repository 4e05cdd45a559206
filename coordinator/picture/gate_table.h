/* gate_table.h - which host came last to each gate of the ended passes.
 *
 * Computed from the hosts' phases "gate:NAME": the host that waited least came last. It is made once, when a pass has
 * ended, since it does not change after. Owns what it points at. One thread. No errors. */
#ifndef SLICEUP_COORDINATOR_PICTURE_GATE_TABLE_H
#define SLICEUP_COORDINATOR_PICTURE_GATE_TABLE_H

#include "coordinator/story/board.h"

#define GATE_SPAN "gate:"
enum { GATE_WAITS_MAX = 512 }; /* the newest are kept */

struct gate_wait {
    struct attempt_key key;
    uint32_t word;                  /* board_word: "gate:NAME" */
    uint32_t last, hosts_n;         /* the host that waited least, the first of equals; how many hosts waited */
    uint32_t median_ms, longest_ms; /* waits of the others; 0: there are none */
    uint64_t opened_ms;             /* run clock: when the last host's wait ended */
};
struct gate_table {
    struct gate_wait items[GATE_WAITS_MAX]; /* in the order in which their passes ended */
    uint32_t n;
};

/* Call it once the board has folded the end of that pass. */
void gate_table_add_pass (struct gate_table *table, const struct board *board, const struct attempt_key *key);
const struct gate_wait *gate_table_find (const struct gate_table *table, const struct attempt_key *key, uint32_t word);
struct text gate_wait_name (const struct board *board, const struct gate_wait *wait); /* "NAME", as it was said */

#endif
