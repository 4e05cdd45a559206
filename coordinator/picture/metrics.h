/* metrics.h - a run as series: hosts, rungs, phases, the cache, and failures. docs/spec/metrics.md lists them.
 *
 * At most METRICS_SERIES_MAX series, whatever the run's size. Only failing hosts are named, at most
 * METRICS_HOSTS_NAMED; rungs without room are counted together as "other". Pure: same scene, same text. Appends to
 * `out`, which overflows if it does not fit; METRICS_MAX_BYTES always suffice. */
#ifndef SLICEUP_COORDINATOR_PICTURE_METRICS_H
#define SLICEUP_COORDINATOR_PICTURE_METRICS_H

#include "coordinator/picture/scene.h"

/* ---- host sums ---- */

/* Sums over all hosts, for metrics that name no host: how each pass of each rung stands, time in phases, and waits at
 * gates.
 *
 * A host's last attempt at a pass counts; those of an isolation do not. Times are of all kept attempts. Phases have
 * sliceup's names (docs/spec/canary.md); other phases of programs are counted together. */

enum { HISTOGRAM_BUCKETS = 8, PHASE_NAMES = 10 }; /* the last bucket has no bound; the last phase is "other" */

struct histogram {
    uint64_t buckets[HISTOGRAM_BUCKETS]; /* not cumulative */
    uint64_t count, sum_ms;
};

struct host_sums {
    uint32_t rungs_n;
    uint32_t (*passes)[BOARD_PASSES][MARK_N]; /* for each rung: number of hosts with each mark */
    struct histogram phases[PHASE_NAMES], gates;
    uint64_t progress_ms; /* run clock: when a host last began or ended an attempt, or entered a phase; 0: never */
};

/* ---- metrics ---- */

enum { METRICS_SERIES_MAX = 400, METRICS_HOSTS_NAMED = 64, METRICS_MAX_BYTES = 4 << 20 };

enum metrics_form { METRICS_OPENMETRICS = 0, METRICS_TEXTFILE };
enum metrics_queue { QUEUE_JOURNAL = 0, QUEUE_EFFECTS, QUEUE_DISK, QUEUE_LOGS, QUEUES_N };

/* Values that no scene has: the caller gives or omits them. */
struct metrics_beside {
    enum metrics_form form;
    uint64_t boot_ms, wall_ms; /* now */
    bool interrupted;          /* the run has not ended, and no coordinator holds it */
    bool drift_known, queues_known;
    uint32_t drift; /* findings */
    uint64_t queues[QUEUES_N];
};

/* The Content-Type of an answer with METRICS_OPENMETRICS. */
#define METRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

void metrics_print (const struct scene *scene, const struct host_sums *sums, const struct metrics_beside *beside,
                    struct buf *out);
/* The same from a feed; for a run that has not begun, only the time. */
void metrics_print_run (const struct feed *feed, const struct metrics_beside *beside, struct buf *out);

/* ---- series as text (exposition.c) ---- */

/* OpenMetrics 1.0 for /metrics, and the Prometheus text format 0.0.4, which promtool and the textfile collector of
 * node_exporter read. OpenMetrics names a counter's family without "_total" and an info's without "_info", states units,
 * and ends with a mark. The samples are the same. */
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

void exposition_begin_family (struct exposition *exposition, const char *name);
/* Adds a sample. False: left out, because one with the same labels is there. `labels`: NULL is none. */
bool exposition_add (struct exposition *exposition, const struct label *labels, uint64_t value);
void exposition_add_ms (struct exposition *exposition, const struct label *labels, uint64_t ms);
/* Adds samples of a histogram. The bound is in whole tenths of a second; UINT64_MAX: none. */
void exposition_add_bucket (struct exposition *exposition, const struct label *labels, uint64_t bound_ms,
                            uint64_t value);
void exposition_add_sum (struct exposition *exposition, const struct label *labels, uint64_t ms, uint64_t count);
void exposition_end (struct exposition *exposition);
/* All families, in the order of printing; NULL: past the last. */
const struct family *metrics_family (uint32_t i);

#endif
