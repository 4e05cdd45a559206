/* cells.h - what a terminal shows: lines of cells, each a character and how it is painted; and a pen that fills them.
 *
 * Everything that a pen writes is escaped (buf_escaped), and spelled in ASCII where UTF-8 is not spoken, so a cell holds
 * a printable character whoever said it. What does not fit is cut and marked. Pure. Lives in the arena. */
#ifndef SLICEUP_COORDINATOR_TERMINAL_CELLS_H
#define SLICEUP_COORDINATOR_TERMINAL_CELLS_H

#include "common/model/record.h"
#include "coordinator/picture/scene.h"
#include "coordinator/view/line.h"

struct cell {
    uint32_t character; /* 0: the right half of the wide one before it */
    uint8_t paint;      /* enum paint */
    bool chosen;        /* shown in reverse */
    bool color_alone;   /* neither bold nor pale */
};
struct cells {
    uint32_t columns, rows;
    bool unicode;
    struct cell *items; /* row by row */
};
/* Blank ones, as many as the style has. */
struct cells cells_make (const struct style *style, struct arena *arena);
struct cell *cells_at (const struct cells *cells, uint32_t row, uint32_t column);

/* Writes into one row, from a column up to, and without, `end`. A row outside takes nothing. */
struct pen {
    const struct cells *cells;
    uint32_t row, begin, column, end;
    enum paint paint;
    bool chosen, color_alone, full; /* full: it was cut */
};
struct pen pen_at (const struct cells *cells, uint32_t row, uint32_t column, uint32_t columns);
void pen_text (struct pen *pen, struct text text);
void pen_puts (struct pen *pen, const char *c_string);
void pen_printf (struct pen *pen, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
void pen_painted (struct pen *pen, enum paint paint, struct text text); /* in that paint, then in the former again */
/* Blanks up to `column`, counted from where the pen began; a text is cut there with pen_field. */
void pen_pad (struct pen *pen, uint32_t column);
/* A text in a column of its own: cut to `columns`, and padded. */
void pen_field (struct pen *pen, struct text text, uint32_t columns);
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

#endif
