/* xla_stream.h - the reports of one process, line after line; private to common/frontend. Not thread-safe.
 *
 * A report is two halves in a row, the framework's and the runtime's, each its metrics and then its counters; either
 * may lack some, and a name may stand in both. In its own file each report has a header and a final empty line; printed
 * ones mostly have the empty line. Nothing else marks where a half or a report begins, so: a half ends where a metric
 * follows a counter or a name comes again, and a half that has all the names of a report's first one, or is a third,
 * begins the next report. Somebody else's empty line splits a report in two; the second is laid over the first. A
 * printed report may lack its beginning, unless both its halves have metrics and counters. */
#ifndef SLICEUP_COMMON_FRONTEND_XLA_STREAM_H
#define SLICEUP_COMMON_FRONTEND_XLA_STREAM_H

#include "common/frontend/xla_report_line.h"
#include "common/frontend/xla_report_rows.h"

struct xla_stream {
    struct text tag;
    struct arena *arena;
    struct xla_report_row row; /* the one being read */
    bool is_open, has_count, has_total;
    struct xla_report_rows half, first, report; /* being read; the report's first; all halves of the report so far */
    bool half_has_counters;
    uint32_t halves, full_halves; /* full: with metrics and with counters */
    bool is_block, is_over;       /* the report has a header; its empty line has come */
    bool has_hole;                /* a row of it was not whole */
    struct xla_report_rows last;  /* what whole reports have said */
    bool is_partial;              /* that may lack rows */
    bool was_reset;               /* a number fell, or a row vanished, from one whole report to the next */
    uint32_t reports, bad_names;
};

void xla_stream_add_line (struct xla_stream *stream, const struct xla_report_line *line);
void xla_stream_add_empty_line (struct xla_stream *stream);
/* After the last line. `is_short`: the text may break off in this report. False: the last report was not whole. */
bool xla_stream_end (struct xla_stream *stream, bool is_short);

#endif
