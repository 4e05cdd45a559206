#include "coordinator/terminal/sheet.h"

#include <stdarg.h>
#include <stdio.h>

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
