/* xla_rows.h - rows of reports, each name once, bounded; private to common/frontend. Not thread-safe. */
#ifndef SLICEUP_COMMON_FRONTEND_XLA_ROWS_H
#define SLICEUP_COMMON_FRONTEND_XLA_ROWS_H

#include "common/frontend/xla_metrics.h"

struct xla_rows {
    struct xla_row *items;
    uint32_t n, dropped;
}; /* dropped: more than XLA_ROWS_MAX names */

struct xla_row *xla_rows_find (const struct xla_rows *rows, const struct xla_row *like);   /* of that kind and name */
void xla_rows_add (struct xla_rows *rows, const struct xla_row *row, struct arena *arena); /* numbers are added up */
void xla_rows_put (struct xla_rows *rows, const struct xla_row *row, struct arena *arena); /* the later word wins */

#endif
