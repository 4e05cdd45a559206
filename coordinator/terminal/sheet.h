/* sheet.h - lines that are scrolled, and the colour of a mark. Pure. */
#ifndef SLICEUP_COORDINATOR_TERMINAL_SHEET_H
#define SLICEUP_COORDINATOR_TERMINAL_SHEET_H

#include "common/model/record.h"
#include "coordinator/scene/scene.h"
#include "coordinator/terminal/cells.h"

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
