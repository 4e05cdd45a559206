/* live_thread.h - a view of a run on its own thread: a stopped terminal (Ctrl-S, a pager) or a disk that does not answer
 * must not stop the run.
 *
 * Facts are handed over as bytes through a bounded queue. When the view does not take them, soft facts are left out
 * first; durable ones only past 64 MiB. */
#ifndef SLICEUP_COORDINATOR_CLI_LIVE_THREAD_H
#define SLICEUP_COORDINATOR_CLI_LIVE_THREAD_H

#include "common/base/err.h"
#include "common/io/log.h"
#include "common/model/fact.h"
#include "coordinator/picture/metrics.h"
#include "coordinator/run/driver.h"

/* All of it is called on the view's thread. */
struct live_viewer {
    void *(*open) (void *owner); /* returns the view */
    void (*fact) (void *view, const struct fact *fact);
    uint32_t (*tick) (void *view); /* after facts, and when as many ms as it returned are over */
    void (*close) (void *view);
    void (*log) (void *view, struct text line); /* NULL: nobody adds any */
};

struct live_thread;
struct live_thread *live_thread_open (const struct live_viewer *viewer, void *owner, struct err *err);
/* `bytes`: the fact's wire encoding; copied. Never blocks. */
void live_thread_add_fact (struct live_thread *viewer, enum fact_kind kind, struct text bytes);
void live_thread_add_log (struct live_thread *thread,
                          struct text line);         /* on any thread; as bounded as durable facts */
void live_thread_close (struct live_thread *viewer); /* shows what was handed over, then ends */
/* The same within so long, in whole seconds. False: something holds up the view; it is left as it is, and may go on until the process ends. */
bool live_thread_close_within (struct live_thread *viewer, uint32_t timeout_ms);

/* ---- metrics_file.c ---- */

/* Keeps a run's metrics file up to date while it runs, on a thread of its own: a disk that is full or does not answer
 * costs the file, never the run. That it cannot be written is told once, and once that it can again. */

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
