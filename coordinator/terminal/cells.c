#include "coordinator/terminal/cells.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/base/utf8.h"

enum { CELLS_TEXT_BYTES = 1 << 20, PRINTED_MAX_BYTES = 1024, CELLS_MAX = 1000, ELLIPSIS = 0x2026 };

static uint32_t bounded (uint32_t n)
{
    return n == 0 ? 1 : n > CELLS_MAX ? CELLS_MAX : n;
}

struct cells cells_make (const struct style *style, struct arena *arena)
{
    struct cells cells = { bounded (style->columns), bounded (style->rows), style->unicode, NULL };
    uint32_t n = cells.columns * cells.rows;
    cells.items = arena_array (arena, n, sizeof (*cells.items));
    for (uint32_t i = 0; i < n; i++)
        cells.items[i].character = ' ';
    return cells;
}

struct cell *cells_at (const struct cells *cells, uint32_t row, uint32_t column)
{
    return &cells->items[row * cells->columns + column];
}

/* ---- the pen ---- */

struct pen pen_at (const struct cells *cells, uint32_t row, uint32_t column, uint32_t columns)
{
    uint32_t end = columns < cells->columns - (column < cells->columns ? column : cells->columns) ? column + columns
                                                                                                  : cells->columns;
    bool outside = row >= cells->rows || column >= cells->columns;
    return (struct pen){ .cells = cells, .row = row, .begin = column, .column = column, .end = end, .full = outside };
}

static void cells_set (struct pen *pen, uint32_t column, uint32_t character)
{
    *cells_at (pen->cells, pen->row, column) = (struct cell){
        .character = character, .paint = (uint8_t) pen->paint, .chosen = pen->chosen, .color_alone = pen->color_alone
    };
}

/* In place of the last character that still fits, whole. */
static void mark_cut (struct pen *pen)
{
    uint32_t at = pen->column < pen->end ? pen->column : pen->end - 1;
    if (at > pen->begin && cells_at (pen->cells, pen->row, at)->character == 0)
        cells_set (pen, at - 1, ' ');
    cells_set (pen, at, pen->cells->unicode ? ELLIPSIS : '~');
    pen->column = pen->end;
    pen->full = true;
}

static void cells_put (struct pen *pen, uint32_t character)
{
    uint32_t columns = utf8_columns (character);
    if (pen->full)
        return;
    if (pen->column + columns > pen->end) {
        if (pen->end > pen->begin)
            mark_cut (pen);
        pen->full = true;
        return;
    }
    cells_set (pen, pen->column, character);
    if (columns == 2)
        cells_set (pen, pen->column + 1, 0);
    pen->column += columns;
}

void pen_text (struct pen *pen, struct text text)
{
    struct style style = { .unicode = pen->cells->unicode };
    struct buf safe;
    if (pen->full || text.len == 0)
        return;
    buf_init (&safe, CELLS_TEXT_BYTES);
    style_print_text (&style, text_clip (text, PRINTED_MAX_BYTES * 4), &safe);
    struct text shown = buf_as_text (&safe);
    for (uint32_t at = 0; at < shown.len && !pen->full;) {
        uint32_t character = ' ', bytes = utf8_next (shown, at, &character);
        cells_put (pen, bytes ? character : '?');
        at += bytes ? bytes : 1;
    }
    buf_release (&safe);
}

void pen_puts (struct pen *pen, const char *c_string)
{
    pen_text (pen, text_of (c_string));
}

void pen_printf (struct pen *pen, const char *format, ...)
{
    char printed[PRINTED_MAX_BYTES];
    va_list args;
    va_start (args, format);
    vsnprintf (printed, sizeof (printed), format, args);
    va_end (args);
    pen_puts (pen, printed);
}

void pen_painted (struct pen *pen, enum paint paint, struct text text)
{
    enum paint before = pen->paint;
    pen->paint = paint;
    pen_text (pen, text);
    pen->paint = before;
}

void pen_pad (struct pen *pen, uint32_t column)
{
    while (pen->column < pen->begin + column && pen->column < pen->end)
        cells_put (pen, ' ');
}

void pen_field (struct pen *pen, struct text text, uint32_t columns)
{
    uint32_t left = pen->end > pen->column ? pen->end - pen->column : 0;
    struct pen field = *pen;
    if (pen->full || left == 0)
        return;
    field.begin = pen->column;
    field.end = pen->column + (columns < left ? columns : left);
    pen_text (&field, text);
    pen->column = field.column;
    pen_pad (pen, field.begin - pen->begin + columns);
}

void cells_put_line (const struct cells *cells, uint32_t row, enum paint paint, struct text text)
{
    struct pen pen = pen_at (cells, row, 0, cells->columns);
    pen.paint = paint;
    pen_text (&pen, text);
}

/* ---- sheet ---- */

enum { PRINTED_BYTES = 4096 };

void sheet_add (struct sheet *sheet, enum paint paint, struct text line)
{
    sheet->lines.items = mem_room (sheet->lines.items, sheet->lines.n, &sheet->room, 64, sizeof (struct sheet_line));
    sheet->lines.items[sheet->lines.n++] = (struct sheet_line){ paint, line };
}

void sheet_printf (struct sheet *sheet, enum paint paint, const char *format, ...)
{
    char printed[PRINTED_BYTES];
    va_list args;
    va_start (args, format);
    vsnprintf (printed, sizeof (printed), format, args);
    va_end (args);
    sheet_add (sheet, paint, text_copy (sheet->arena, text_of (printed)));
}

void sheet_draw (struct sheet *sheet, const struct cells *cells, uint32_t row, uint32_t end, uint32_t *scroll)
{
    uint32_t room = end > row ? end - row : 0, most = sheet->lines.n > room ? sheet->lines.n - room : 0;
    *scroll = *scroll < most ? *scroll : most;
    for (uint32_t i = *scroll; i < sheet->lines.n && row < end; i++, row++)
        cells_put_line (cells, row, sheet->lines.items[i].paint, sheet->lines.items[i].line);
    mem_free (sheet->lines.items);
}

enum paint terminal_mark_paint (enum scene_mark mark)
{
    static const enum paint of[MARK_N] = {
        [MARK_TO_COME] = PAINT_FAINT, [MARK_PASSED] = PAINT_GOOD,   [MARK_NOT_REACHED] = PAINT_FAINT,
        [MARK_RUNS] = PAINT_STRONG,   [MARK_AT_GATE] = PAINT_WARN,  [MARK_ENDED] = PAINT_NONE,
        [MARK_SO_FAR] = PAINT_BAD,    [MARK_CASCADE] = PAINT_WARN,  [MARK_CANCELLED] = PAINT_BAD,
        [MARK_BLOCKED] = PAINT_BAD,   [MARK_TIMED_OUT] = PAINT_BAD, [MARK_LOST] = PAINT_BAD,
        [MARK_FAILED] = PAINT_BAD,    [MARK_SILENT] = PAINT_WARN,   [MARK_JOINING] = PAINT_FAINT,
    };
    return (uint32_t) mark < MARK_N ? of[mark] : PAINT_NONE;
}
