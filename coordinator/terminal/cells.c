#include "coordinator/terminal/draw.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/base/utf8.h"
#include "coordinator/view/status.h"

enum { CELLS_MAX = 1000, ELLIPSIS = 0x2026 };

static uint32_t bounded (uint32_t n)
{
    return n == 0 ? 1 : n > CELLS_MAX ? CELLS_MAX : n;
}

struct cells cells_make (const struct style *style, struct arena *arena)
{
    struct cells cells = { bounded (style->columns), bounded (style->rows), .style.unicode = style->unicode };
    uint32_t n = cells.columns * cells.rows;
    cells.stride = cells.columns;
    cells.items = arena_array (arena, n, sizeof (*cells.items));
    for (uint32_t i = 0; i < n; i++)
        cells.items[i].character = ' ';
    return cells;
}

struct cell *cells_at (const struct cells *cells, uint32_t row, uint32_t column)
{
    return &cells->items[row * cells->stride + column];
}

struct cells cells_right_of (const struct cells *cells, uint32_t column)
{
    struct cells part = *cells;
    part.items += column;
    part.columns -= column;
    return part;
}

/* ---- a line in cells ---- */

static void cells_set (const struct line *line, uint32_t column, uint32_t character)
{
    *cells_at (line->to, line->row, line->begin + column) = (struct cell){
        .character = character, .paint = (uint8_t) line->paint, .chosen = line->chosen, .color_alone = line->color_alone
    };
}

/* In place of the last character that still fits, whole. */
static void mark_cut (struct line *line)
{
    uint32_t at = line->columns < line->room ? line->columns : line->room - 1;
    if (at > 0 && cells_at (line->to, line->row, line->begin + at)->character == 0)
        cells_set (line, at - 1, ' ');
    cells_set (line, at, line->style->unicode ? ELLIPSIS : '~');
    line->columns = line->room;
}

static void cells_put (struct line *line, uint32_t character)
{
    uint32_t columns = utf8_columns (character);
    if (line->full)
        return;
    if (line->columns + columns > line->room) {
        if (line->room > 0)
            mark_cut (line);
        line->full = true;
        return;
    }
    cells_set (line, line->columns, character);
    if (columns == 2)
        cells_set (line, line->columns + 1, 0);
    line->columns += columns;
}

struct line cells_line (const struct cells *cells, uint32_t row, uint32_t column, uint32_t columns)
{
    bool outside = row >= cells->rows || column >= cells->columns;
    uint32_t left = outside ? 0 : cells->columns - column;
    return (struct line){ .style = &cells->style,
                          .full = outside,
                          .put = cells_put,
                          .to = cells,
                          .row = row,
                          .begin = column,
                          .room = columns < left ? columns : left };
}

void cells_field (struct line *line, struct text text, uint32_t columns)
{
    uint32_t left = line->room - line->columns;
    struct line field = *line;
    if (line->full || left == 0)
        return;
    field.begin += line->columns;
    field.room = columns < left ? columns : left;
    field.columns = 0;
    line_text (&field, text);
    line_pad (&field, field.room);
    line->columns += field.room;
}

void cells_put_line (const struct cells *cells, uint32_t row, enum paint paint, struct text text)
{
    struct line line = cells_line (cells, row, 0, cells->columns);
    line_painted (&line, paint, text);
}

/* ---- sheet ---- */

enum { PRINTED_BYTES = 4096 };

/* How many bytes of the line fit, up to a blank behind its first `indent` ones where there is one. */
static uint32_t fitting (struct text line, uint32_t indent, uint32_t columns)
{
    uint32_t wide = 0, blank = 0, at = 0;
    while (at < line.len) {
        uint32_t character = 0, len = utf8_next (line, at, &character);
        wide += len ? utf8_columns (character) : 4;
        if (wide > columns)
            return blank ? blank : at;
        blank = character == ' ' && at > indent ? at : blank;
        at += len ? len : 1;
    }
    return at;
}

static uint32_t blanks_before (struct text line)
{
    uint32_t n = 0;
    while (n < line.len && line.ptr[n] == ' ')
        n++;
    return n;
}

static void sheet_put (struct sheet *sheet, enum paint paint, struct text line)
{
    sheet->lines.items = mem_room (sheet->lines.items, sheet->lines.n, &sheet->room, 64, sizeof (struct sheet_line));
    sheet->lines.items[sheet->lines.n++] = (struct sheet_line){ paint, line };
}

/* What is left of a broken line stands two columns further in. */
void sheet_add (struct sheet *sheet, enum paint paint, struct text line)
{
    uint32_t begin = blanks_before (line), indent = begin + 2;
    for (uint32_t at = begin, fits; sheet->columns > 2 * indent; at = indent) {
        fits = fitting (line, at, sheet->columns);
        if (fits >= line.len || fits <= at)
            break;
        sheet_put (sheet, paint, (struct text){ line.ptr, fits });
        text_skip (&line, fits);
        text_skip (&line, blanks_before (line));
        line = text_format (sheet->arena, "%*s%.*s", (int) indent, "", TEXT_ARG (line));
    }
    sheet_put (sheet, paint, line);
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

const char terminal_trouble_letters[] = { [TROUBLE_QUIET] = 'q', [TROUBLE_SLOW] = 's', [TROUBLE_HOLDS] = 'h' };

const char *terminal_tile_word (const struct scene_tile *tile)
{
    static const char *const troubles[] = {
        [TROUBLE_QUIET] = "quiet", [TROUBLE_SLOW] = "slow", [TROUBLE_HOLDS] = "others wait for it"
    };
    return tile->trouble ? troubles[tile->trouble] : tile->now == MARK_RUNS ? "running" : scene_mark_word (tile->now);
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
