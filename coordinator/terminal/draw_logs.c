#include "coordinator/terminal/draw.h"

#include "common/model/hostset.h"
#include "coordinator/terminal/sheet.h"

static bool alike (const struct terminal_log *a, const struct terminal_log *b)
{
    return text_equal (a->head, b->head) && text_equal (a->body, b->body);
}

/* "h[0-2]: rung tiny, restored, attempt 1" */
static void add_head (const struct drawing *drawing, uint32_t first, bool *drawn, struct sheet *sheet)
{
    struct text names[MARKED_MAX];
    struct buf line;
    uint32_t n = 0;
    buf_init (&line, 1 << 16);
    for (uint32_t i = first; i < drawing->logs_n; i++)
        if (!drawn[i] && alike (&drawing->logs[i], &drawing->logs[first])) {
            names[n++] = drawing->logs[i].name;
            drawn[i] = true;
        }
    hostset_fold (names, n, &line);
    buf_puts (&line, ": ");
    buf_add_text (&line, drawing->logs[first].head);
    sheet_add (sheet, PAINT_STRONG, buf_finish (&line, drawing->arena));
}

void draw_logs (struct drawing *drawing, uint32_t row, uint32_t end)
{
    struct sheet sheet = { .arena = drawing->arena };
    bool drawn[MARKED_MAX] = { false };
    for (uint32_t i = 0; i < drawing->logs_n; i++) {
        struct text rest = drawing->logs[i].body;
        if (drawn[i])
            continue;
        add_head (drawing, i, drawn, &sheet);
        while (rest.len)
            sheet_add (&sheet, PAINT_NONE, text_take_until (&rest, '\n'));
    }
    sheet_draw (&sheet, drawing->cells, row, end, &drawing->state->scroll);
}
