#include "coordinator/cli/metrics_writer.h"

#include <stdatomic.h>

#include "common/io/clock.h"
#include "coordinator/cli/live_thread.h"
#include "coordinator/cli/metrics_file.h"

enum { LOOK_MS = 200, WRITE_EVERY_MS = 5000, READ_EVERY_MS = 1000, CLOSE_MS = 5000 };

struct metrics_writer {
    const char *path;
    const struct log *log;
    struct live_thread *thread;
    uint64_t queues_read_ms;           /* on the loop's thread */
    _Atomic uint64_t queues[QUEUES_N]; /* set there, told by the writer */
    bool drift_known;                  /* set before the thread is asked to end */
    uint32_t drift;
    /* the writer's thread */
    struct feed *feed;
    struct buf text;
    uint64_t due_ms; /* boot clock */
    bool failed;
};

static void *begin (void *owner)
{
    struct metrics_writer *writer = owner;
    writer->feed = feed_create ();
    buf_init (&writer->text, METRICS_MAX_BYTES);
    return writer;
}

static void hear (void *owner, const struct fact *fact)
{
    struct metrics_writer *writer = owner;
    feed_apply (writer->feed, fact, clock_boot_ms (), clock_wall_ms ());
}

static void tell (struct metrics_writer *writer, bool failed, const struct err *err)
{
    if (failed && !writer->failed)
        log_print (writer->log, "the metrics file gets old: %s; the run goes on", err->text);
    else if (!failed && writer->failed)
        log_print (writer->log, "the metrics file is written again: %s", writer->path);
    writer->failed = failed;
}

static void put (struct metrics_writer *writer, struct metrics_beside *beside)
{
    struct err err = { 0 };
    beside->form = METRICS_TEXTFILE;
    beside->boot_ms = clock_boot_ms ();
    beside->wall_ms = clock_wall_ms ();
    buf_clear (&writer->text);
    metrics_print_run (writer->feed, beside, &writer->text);
    tell (writer, metrics_file_write (writer->path, &writer->text, &err) < 0, &err);
    writer->due_ms = clock_boot_ms () + WRITE_EVERY_MS;
}

static uint32_t look (void *owner)
{
    struct metrics_writer *writer = owner;
    struct metrics_beside beside = { .queues_known = true };
    if (clock_boot_ms () < writer->due_ms || !feed_board (writer->feed)->opened)
        return LOOK_MS;
    for (uint32_t i = 0; i < QUEUES_N; i++)
        beside.queues[i] = writer->queues[i];
    put (writer, &beside);
    return LOOK_MS;
}

/* Nobody holds the run now: what had not ended is interrupted, and nothing waits any more. */
static void end (void *owner)
{
    struct metrics_writer *writer = owner;
    struct metrics_beside beside = { .interrupted = true, .drift_known = writer->drift_known, .drift = writer->drift };
    if (feed_board (writer->feed)->opened)
        put (writer, &beside);
    feed_destroy (writer->feed);
    buf_release (&writer->text);
}

struct metrics_writer *metrics_writer_open (const char *path, const struct log *log, struct err *err)
{
    static const struct live_viewer viewer = { begin, hear, look, end, NULL };
    struct metrics_writer *writer = mem_alloc (sizeof (*writer));
    writer->path = path;
    writer->log = log;
    writer->thread = live_thread_open (&viewer, writer, err);
    if (writer->thread)
        return writer;
    mem_free (writer);
    return NULL;
}

void metrics_writer_add_fact (struct metrics_writer *writer, enum fact_kind kind, struct text bytes)
{
    if (writer)
        live_thread_add_fact (writer->thread, kind, bytes);
}

void metrics_writer_read_queues (struct metrics_writer *writer, const struct driver *driver)
{
    struct driver_queues queues;
    uint64_t now_ms = clock_boot_ms ();
    if (writer == NULL || driver == NULL || now_ms < writer->queues_read_ms + READ_EVERY_MS)
        return;
    driver_count_queues (driver, &queues);
    writer->queues_read_ms = now_ms;
    writer->queues[QUEUE_JOURNAL] = queues.journal;
    writer->queues[QUEUE_EFFECTS] = queues.effects;
    writer->queues[QUEUE_DISK] = queues.disk;
    writer->queues[QUEUE_LOGS] = queues.logs;
}

void metrics_writer_close (struct metrics_writer *writer, const uint32_t *drift)
{
    if (writer == NULL)
        return;
    writer->drift_known = drift != NULL;
    writer->drift = drift ? *drift : 0;
    if (live_thread_close_within (writer->thread, CLOSE_MS))
        mem_free (writer);
    else
        log_print (writer->log, "%s is not written: its disk did not answer for %d s", writer->path, CLOSE_MS / 1000);
}
