/* draw.h - a scene and what is looked at, drawn into cells. Pure.
 *
 * Fits any size: what is less needed goes first. `state` is told what fitted, and its cursor and scrolling are brought
 * back to what there is. Logs are lines that are escaped already. */
#ifndef SLICEUP_COORDINATOR_TERMINAL_DRAW_H
#define SLICEUP_COORDINATOR_TERMINAL_DRAW_H

#include "coordinator/terminal/cells.h"
#include "coordinator/terminal/state.h"

/* The end of what one host printed last. */
struct terminal_log {
    uint32_t rank;
    struct text name, head, body; /* head: "rung tiny, restored, attempt 1", or why there is no log; body: lines */
};

struct drawing {
    struct terminal_state *state;
    const struct scene *scene;
    const struct terminal_log *logs; /* of terminal_state_log_hosts */
    uint32_t logs_n;
    const struct cells *cells;
    struct arena *arena;
    uint32_t cursor_row, cursor_column; /* where the terminal's own cursor is to rest */
};
void terminal_draw (struct drawing *drawing);

/* draw_list.c: hosts, a line each or a letter each; rows from `row` on, without `end`. */
void draw_list (struct drawing *drawing, uint32_t row, uint32_t end);
/* draw.c: an opened host. */
void draw_host (struct drawing *drawing, uint32_t row, uint32_t end);
/* Numbers for people: "4,096". Returns `out`. */
enum { NUMBER_BYTES = 32 };
const char *number_print (uint64_t number, char out[NUMBER_BYTES]);
/* What the marked printed, equal logs once. */
void draw_logs (struct drawing *drawing, uint32_t row, uint32_t end);

#endif
