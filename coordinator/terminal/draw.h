/* draw.h - a scene and what is looked at, drawn into cells. Pure.
 *
 * Fits any size: what is less needed goes first. `state` is told what fitted, and its cursor and scrolling are brought
 * back to what there is. Logs are lines that are escaped already. */
#ifndef SLICEUP_COORDINATOR_TERMINAL_DRAW_H
#define SLICEUP_COORDINATOR_TERMINAL_DRAW_H

#include "common/model/record.h"
#include "coordinator/picture/scene.h"
#include "coordinator/terminal/state.h"
#include "coordinator/view/line.h"

/* ---- cells.c: what a terminal shows: rows of cells, each a character and how it is painted ---- */

/* They are filled by lines (view/line.h), so that a cell holds a printable character whoever said it. What does not fit
 * is cut and marked. They live in the arena. */

struct cell {
    uint32_t character; /* 0: the right half of the wide one before it */
    uint8_t paint;      /* enum paint */
    bool chosen;        /* shown in reverse */
    bool color_alone;   /* neither bold nor pale */
};
struct cells {
    uint32_t columns, rows;
    struct style style; /* of its lines */
    struct cell *items; /* row by row */
};
/* Blank ones, as many as the style has. */
struct cells cells_make (const struct style *style, struct arena *arena);
struct cell *cells_at (const struct cells *cells, uint32_t row, uint32_t column);

/* A line of one row, from a column on, of so many; cut there with one character. A row outside takes nothing. */
struct line cells_line (const struct cells *cells, uint32_t row, uint32_t column, uint32_t columns);
/* A text in a column of its own: cut to `columns`, and padded. */
void cells_field (struct line *line, struct text text, uint32_t columns);
/* A whole line of one paint. */
void cells_put_line (const struct cells *cells, uint32_t row, enum paint paint, struct text text);

/* ---- sheet ---- */

/* Lines that are scrolled, and the colour of a mark. Pure. */

struct sheet_line {
    enum paint paint;
    struct text line;
};
struct sheet {
    struct arena *arena;
    LIST_OF (struct sheet_line) lines;
    uint32_t room;
};
void sheet_add (struct sheet *sheet, enum paint paint, struct text line);
void sheet_printf (struct sheet *sheet, enum paint paint, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
/* Draws the lines from `*scroll` on, which is brought back to where the last of them are shown; releases the sheet. */
void sheet_draw (struct sheet *sheet, const struct cells *cells, uint32_t row, uint32_t end, uint32_t *scroll);
/* The colour of a mark, which says no more than its letter does. */
enum paint terminal_mark_paint (enum scene_mark mark);

/* ---- a scene in cells ---- */

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
/* Numbers for people: "4,096". Returns `out`. */
enum { NUMBER_BYTES = 32 };
const char *number_print (uint64_t number, char out[NUMBER_BYTES]);

#endif
