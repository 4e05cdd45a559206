#include "coordinator/terminal/sheet.h"

#include <stdarg.h>
#include <stdio.h>

enum { PRINTED_BYTES = 4096, LABEL_MOST = 28 };

static struct sheet_line *add (struct sheet *sheet)
{
    sheet->lines.items = mem_room (sheet->lines.items, sheet->lines.n, &sheet->room, 64, sizeof (struct sheet_line));
    return &sheet->lines.items[sheet->lines.n++];
}

void sheet_add (struct sheet *sheet, enum paint paint, struct text line)
{
    *add (sheet) = (struct sheet_line){ .paint = paint, .left = line };
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

void sheet_add_halves (struct sheet *sheet, enum paint paint, struct text label, struct text left, struct text right)
{
    *add (sheet) = (struct sheet_line){ .paint = paint, .halves = true, .label = label, .left = left, .right = right };
}

static void draw_halves (const struct sheet_line *line, const struct cells *cells, uint32_t row)
{
    uint32_t label = cells->columns / 4 < LABEL_MOST ? cells->columns / 4 : LABEL_MOST;
    uint32_t half = (cells->columns - label) / 2;
    struct pen pen = pen_at (cells, row, 0, cells->columns);
    pen.paint = line->paint;
    pen_field (&pen, line->label, label ? label - 1 : 0);
    pen_pad (&pen, label);
    pen_field (&pen, line->left, half ? half - 1 : 0);
    pen_pad (&pen, label + half);
    pen_text (&pen, line->right);
}

void sheet_draw (struct sheet *sheet, const struct cells *cells, uint32_t row, uint32_t end, uint32_t *scroll)
{
    uint32_t room = end > row ? end - row : 0, most = sheet->lines.n > room ? sheet->lines.n - room : 0;
    *scroll = *scroll < most ? *scroll : most;
    for (uint32_t i = *scroll; i < sheet->lines.n && row < end; i++, row++)
        if (sheet->lines.items[i].halves)
            draw_halves (&sheet->lines.items[i], cells, row);
        else
            cells_put_line (cells, row, sheet->lines.items[i].paint, sheet->lines.items[i].left);
    mem_free (sheet->lines.items);
}
