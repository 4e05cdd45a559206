/* xla_report_rows.h - rows of reports, each name once, bounded; private to common/frontend. Not thread-safe. */
#ifndef SLICEUP_COMMON_FRONTEND_XLA_REPORT_ROWS_H
#define SLICEUP_COMMON_FRONTEND_XLA_REPORT_ROWS_H

#include "common/frontend/xla_metrics.h"

struct xla_report_rows {
    struct xla_report_row *items;
    uint32_t n, dropped;
}; /* dropped: more than XLA_ROWS_MAX names */

struct xla_report_row *xla_report_rows_find (const struct xla_report_rows *rows,
                                             const struct xla_report_row *like); /* the row of that kind and name */
void xla_report_rows_add_up (struct xla_report_rows *rows, const struct xla_report_row *row,
                             struct arena *arena); /* numbers are added up */
void xla_report_rows_set (struct xla_report_rows *rows, const struct xla_report_row *row,
                          struct arena *arena); /* the later value wins */

#endif
