/* xla_report_line.h - one line of a program's output, as far as it belongs to a torch_xla report. Pure; any thread. */
#ifndef SLICEUP_COMMON_FRONTEND_XLA_REPORT_LINE_H
#define SLICEUP_COMMON_FRONTEND_XLA_REPORT_LINE_H

#include "common/base/text.h"

enum xla_line_kind {
    XLA_LINE_OTHER = 0,
    XLA_LINE_HEADER,      /* "[MetricsData; step=7]" */
    XLA_LINE_METRIC,      /* "Metric: <name>"; `rest` is the name, empty: no name that we take */
    XLA_LINE_COUNTER,     /* "Counter: <name>" */
    XLA_LINE_SAMPLES,     /* "  TotalSamples: <integer>" */
    XLA_LINE_TOTAL,       /* "  Accumulator: <value>", in old reports and the manual "  Counter: " */
    XLA_LINE_RATE,        /* "  ValueRate: " and "  Rate: "; left out when all samples have one time */
    XLA_LINE_PERCENTILES, /* "  Percentiles: ", the last line of a metric */
    XLA_LINE_VALUE,       /* "  Value: <integer>" of a counter */
};

struct xla_report_line {
    enum xla_line_kind kind;
    bool is_glued;   /* METRIC, COUNTER: no space before it; the line behind it says whether it is one */
    struct text tag; /* what a launcher put in front ("[3]: "); one word for all that hold a time of day */
    struct text rest;
};

/* `line` without its end. */
struct xla_report_line xla_report_line_read (struct text line);
/* Could what stands in an unfinished line become a line of a report? */
bool xla_report_line_is_prefix (struct text begun);
bool xla_is_blank (struct text text); /* spaces only */
/* Nothing, or nothing behind the tag. */
bool xla_report_line_is_empty (struct text line, struct text tag);

#endif
