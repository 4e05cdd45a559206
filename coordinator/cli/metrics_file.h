/* metrics_file.h - keeps a run's metrics file up to date while it runs, on a thread of its own: a disk that is full or
 * does not answer costs the file, never the run. That it cannot be written is told once, and once that it can again. */
#ifndef SLICEUP_COORDINATOR_CLI_METRICS_FILE_H
#define SLICEUP_COORDINATOR_CLI_METRICS_FILE_H

#include "common/io/log.h"
#include "common/model/fact.h"
#include "coordinator/picture/metrics.h"
#include "coordinator/run/driver.h"

struct metrics_writer;
/* `path`, checked by metrics_file_check, and `log` outlive it. */
struct metrics_writer *metrics_writer_open (const char *path, const struct log *log, struct err *err);
/* As live_thread_add_fact. NULL is fine. */
void metrics_writer_add_fact (struct metrics_writer *writer, enum fact_kind kind, struct text bytes);
/* On the loop's thread, for each fact: reads the driver's queues about once a second. NULL is fine. */
void metrics_writer_read_queues (struct metrics_writer *writer, const struct driver *driver);
/* Writes the last state, waiting at most some seconds. `drift`: findings, NULL: not known. NULL is fine. */
void metrics_writer_close (struct metrics_writer *writer, const uint32_t *drift);

/* ---- metrics file ---- */

/* The series of a run as a file for the textfile collector of node_exporter. Replaced by rename, so that
 * nobody reads a part of it; readable by everybody, since the collector is another user. */

/* Would it be read where it is, and can it be written? ERR_USAGE says what to do. */
int metrics_file_check (const char *path, struct err *err);
int metrics_file_write (const char *path, const struct buf *text, struct err *err);

#endif
