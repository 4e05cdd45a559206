#include "common/frontend/xla_report_rows.h"

#include <math.h>

struct xla_report_row *xla_report_rows_find (const struct xla_report_rows *rows, const struct xla_report_row *like)
{
    for (uint32_t i = 0; i < rows->n; i++)
        if (rows->items[i].is_metric == like->is_metric && text_equal (rows->items[i].name, like->name))
            return &rows->items[i];
    return NULL;
}

static void xla_report_rows_append (struct xla_report_rows *rows, const struct xla_report_row *row, struct arena *arena)
{
    if (!rows->items) /* once for all: the bound is small, and grown ones would stay in the arena */
        rows->items = arena_array (arena, XLA_ROWS_MAX, sizeof *rows->items);
    if (rows->n == XLA_ROWS_MAX)
        rows->dropped++;
    else
        rows->items[rows->n++] = *row;
}

static uint64_t sum (uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void xla_report_rows_add_up (struct xla_report_rows *rows, const struct xla_report_row *row, struct arena *arena)
{
    struct xla_report_row *known = xla_report_rows_find (rows, row);
    if (!known) {
        xla_report_rows_append (rows, row, arena);
        return;
    }
    known->count = sum (known->count, row->count);
    if (known->unit == row->unit && isfinite (known->total + row->total))
        known->total += row->total;
}

void xla_report_rows_set (struct xla_report_rows *rows, const struct xla_report_row *row, struct arena *arena)
{
    struct xla_report_row *known = xla_report_rows_find (rows, row);
    if (known)
        *known = *row;
    else
        xla_report_rows_append (rows, row, arena);
}
