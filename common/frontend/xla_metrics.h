/* xla_metrics.h - the metrics reports of torch_xla, read from what a program printed or left in a file.
 *
 * A text may hold many reports, other lines among them, prefixes of a launcher, and a cut end. Counters only grow, so
 * the last whole report of each process counts; a cut one is ignored. It knows no files and no processes, and judges
 * nothing. Results borrow from the text. Any thread. Layout: pytorch/xla:torch_xla/csrc/runtime/metrics.cpp,
 * torch_xla/debug/metrics_saver.py; docs/guide/torch_xla.md. */
#ifndef SLICEUP_COMMON_FRONTEND_XLA_METRICS_H
#define SLICEUP_COMMON_FRONTEND_XLA_METRICS_H

#include "common/base/text.h"
#include "common/model/plan.h"

/* ---- xla value ---- */

/* The numbers of a torch_xla report: times, sizes and plain values. Pure; any thread.
 * Formats: pytorch/xla:torch_xla/csrc/runtime/metrics.cpp, MetricFnTime, MetricFnBytes, MetricFnValue. */

enum xla_unit { XLA_UNIT_NONE = 0, XLA_UNIT_TIME, XLA_UNIT_BYTES, XLA_UNIT_PLAIN };

/* "04s589ms590.974us" is a time in ns, "4.09GB" a size in bytes (powers of 1024; as exact as two decimals are), "51.00"
 * a plain number. False: the whole text is none of them. */
bool xla_value_read (struct text text, enum xla_unit *unit, double *value);

/* ---- xla metrics ---- */

/* The only bounds: names in a report, processes told apart in one text, and lengths of a name and of a prefix. */
enum { XLA_ROWS_MAX = 1024, XLA_STREAMS_MAX = 16, XLA_NAME_MAX_BYTES = WORD_MAX_BYTES, XLA_PREFIX_MAX_BYTES = 32 };

/* A metric has samples and their sum, a counter its value. */
struct xla_report_row {
    struct text name;
    bool is_metric;
    uint64_t count;     /* samples, or the counter's value */
    enum xla_unit unit; /* METRIC: of `total` */
    double total;       /* METRIC: sum of the samples; time in ns */
};

struct xla_metrics {
    struct xla_report_row *rows; /* at most XLA_ROWS_MAX, in the order in which they came */
    uint32_t n;
    uint32_t reports; /* whole reports that were read; 0: nothing is known */
    uint32_t processes;
    bool is_partial;  /* a process's report may lack rows (a cut beginning, half or line); an absent row is not zero */
    bool is_cut;      /* the last report of a process was not whole: the one before it stands */
    bool was_reset;   /* between two whole reports the program cleared its counters, or another began */
    uint32_t dropped; /* rows or processes beyond the bounds, and invalid names */
};

/* `text` may be a piece. starts_late: its beginning is missing, so lines up to the first outside a report are skipped.
 * ends_short: its end is missing, so a report at the very end is not whole. */
struct xla_text_piece {
    struct text text;
    bool starts_late, ends_short;
};

void xla_metrics_read (const struct xla_text_piece *text, struct arena *arena, struct xla_metrics *out);
void xla_metrics_add_process (struct xla_metrics *to, const struct xla_metrics *from, struct arena *arena);
const struct xla_report_row *xla_metrics_find (const struct xla_metrics *metrics, bool is_metric, const char *name);

/* The counters of a result, at most `max`: first those of the canary protocol (compile_requests, cache_hits,
 * cache_misses, executions, compile_ms, retrieval_ms, steps, fallbacks, reads), then those that a proof uses, then CPU
 * fallbacks, then the rest by name; for metrics the number of samples. *left_out: how many did not fit. No whole report
 * gives nothing; a partial one gives no counter of the protocol that an absent row would change. */
void xla_metrics_to_counters (const struct xla_metrics *metrics, uint32_t max, struct arena *arena, number_list *out,
                              uint32_t *left_out);

#endif
