/* exposition.h - series as text: OpenMetrics 1.0 for /metrics, and the Prometheus text format 0.0.4, which promtool and
 * the textfile collector of node_exporter read.
 *
 * OpenMetrics names a counter's family without "_total" and an info's without "_info", states units, and ends with a
 * mark. The samples are the same. Pure; appends to a buffer, whose end shows overflow. */
#ifndef SLICEUP_COORDINATOR_PICTURE_EXPOSITION_H
#define SLICEUP_COORDINATOR_PICTURE_EXPOSITION_H

#include "common/base/buf.h"

enum metrics_form { METRICS_OPENMETRICS = 0, METRICS_TEXTFILE };
enum family_type { FAMILY_GAUGE = 0, FAMILY_COUNTER, FAMILY_INFO, FAMILY_HISTOGRAM };

struct family {
    const char *name; /* without _total, _info; ends in the unit */
    enum family_type type;
    const char *unit;   /* "seconds", "bytes"; "": a count */
    const char *labels; /* names separated by blanks, without `slice` and a histogram's `le` */
    const char *help;   /* one sentence without a full stop; for the document, too */
};

struct label {
    const char *name; /* NULL ends a list of labels */
    struct text value;
};

struct exposition {
    struct buf *out;
    enum metrics_form form;
    struct text slice;           /* the first label of every sample */
    const struct family *family; /* of the samples being added */
    size_t family_at;            /* the newline before its first sample */
};

/* Values of labels are made safe and cut to this. */
enum { LABEL_COLUMNS = 256 };

void exposition_begin_family (struct exposition *exposition, const struct family *family);
/* Adds a sample. False: left out, because one with the same labels is there. `labels`: NULL is none. */
bool exposition_add (struct exposition *exposition, const struct label *labels, uint64_t value);
void exposition_add_ms (struct exposition *exposition, const struct label *labels, uint64_t ms);
/* Adds samples of a histogram. The bound is in whole tenths of a second; UINT64_MAX: none. */
void exposition_add_bucket (struct exposition *exposition, const struct label *labels, uint64_t bound_ms,
                            uint64_t value);
void exposition_add_sum (struct exposition *exposition, const struct label *labels, uint64_t ms, uint64_t count);
void exposition_end (struct exposition *exposition);

/* ---- families ---- */

/* All families of series, in the order of printing. */

enum family_id {
    RUN,
    RUN_STATE,
    RUN_OUTCOME,
    RUN_EXIT_STATUS,
    RUN_OPENED,
    RUN_DURATION,
    RUN_PROGRESS,
    SLICE_HOSTS,
    HOSTS,
    JOINED,
    SILENT,
    LOST,
    JOINS,
    FAILING,
    FAILING_UNNAMED,
    RUNGS,
    RUNGS_PASSED,
    RUNG_HOSTS,
    RUNG_DURATION,
    PASS_DURATION,
    PASS_LIMIT,
    PASS_USUAL,
    PASS_LEFT,
    PHASE,
    GATE,
    RETRIES,
    CONFLICTS,
    JUDGED,
    UNPROVED,
    COMPILE,
    HITS,
    MISSES,
    GENERATION,
    ENTRIES,
    BYTES,
    ADOPTED,
    LEASE,
    LEASES_LOST,
    VIOLATIONS,
    DRIFT,
    QUEUE,
    WRITTEN,
    FAMILIES_N
};

const struct family *metrics_family (enum family_id id);

#endif
