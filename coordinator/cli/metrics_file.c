#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "coordinator/cli/climb.h"

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

static void *metrics_file_begin (void *owner)
{
    struct metrics_writer *writer = owner;
    writer->feed = feed_create (BOARD_JUDGED_STATE);
    buf_init (&writer->text, METRICS_MAX_BYTES);
    return writer;
}

static void hear (void *owner, const struct fact *fact)
{
    struct metrics_writer *writer = owner;
    feed_apply (writer->feed, fact, clock_boot_ms (), clock_wall_ms ());
}

static void metrics_file_tell (struct metrics_writer *writer, bool failed, const struct err *err)
{
    if (failed && !writer->failed)
        log_print (writer->log, "the metrics file gets old: %s; the run goes on", err->text);
    else if (!failed && writer->failed)
        log_print (writer->log, "the metrics file is written again: %s", writer->path);
    writer->failed = failed;
}

static void metrics_file_put (struct metrics_writer *writer, struct metrics_beside *beside)
{
    struct err err = { 0 };
    beside->form = METRICS_TEXTFILE;
    beside->boot_ms = clock_boot_ms ();
    beside->wall_ms = clock_wall_ms ();
    buf_clear (&writer->text);
    metrics_print_run (writer->feed, beside, &writer->text);
    metrics_file_tell (writer, metrics_file_write (writer->path, &writer->text, &err) < 0, &err);
    writer->due_ms = clock_boot_ms () + WRITE_EVERY_MS;
}

static uint32_t metrics_file_look (void *owner)
{
    struct metrics_writer *writer = owner;
    struct metrics_beside beside = { .queues_known = true };
    if (clock_boot_ms () < writer->due_ms || !feed_board (writer->feed)->opened)
        return LOOK_MS;
    for (uint32_t i = 0; i < QUEUES_N; i++)
        beside.queues[i] = writer->queues[i];
    metrics_file_put (writer, &beside);
    return LOOK_MS;
}

/* Nobody holds the run now: what had not ended is interrupted, and nothing waits any more. */
static void metrics_file_end (void *owner)
{
    struct metrics_writer *writer = owner;
    struct metrics_beside beside = { .interrupted = true, .drift_known = writer->drift_known, .drift = writer->drift };
    if (feed_board (writer->feed)->opened)
        metrics_file_put (writer, &beside);
    feed_destroy (writer->feed);
    buf_release (&writer->text);
}

struct metrics_writer *metrics_writer_open (const char *path, const struct log *log, struct err *err)
{
    static const struct live_viewer viewer = { metrics_file_begin, hear, metrics_file_look, metrics_file_end, NULL };
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

/* ---- metrics file ---- */

#define ENDING ".prom"

static int check_folder (const char *path, struct err *err)
{
    char folder[1024];
    const char *slash = strrchr (path, '/');
    int len = slash == path ? 1 : slash ? (int) (slash - path) : 1;
    if (len >= (int) sizeof (folder))
        return err_set (err, ERR_USAGE, "the path of the metrics file is longer than %zu bytes", sizeof (folder) - 1);
    snprintf (folder, sizeof (folder), "%.*s", len, slash ? path : ".");
    if (access (folder, W_OK | X_OK) == 0)
        return 0;
    return err_errno (err, ERR_USAGE, "the metrics file %s cannot be written in its folder %s", path, folder);
}

int metrics_file_check (const char *path, struct err *err)
{
    size_t len = strlen (path);
    struct stat at;
    if (len <= strlen (ENDING) || strcmp (path + len - strlen (ENDING), ENDING) != 0)
        return err_set (
            err, ERR_USAGE,
            "the metrics file %s: node_exporter reads only files that end in " ENDING "; expected FILE" ENDING, path);
    if (stat (path, &at) == 0 && !S_ISREG (at.st_mode))
        return err_set (err, ERR_USAGE, "the metrics file %s exists and is no regular file; name another one", path);
    return check_folder (path, err);
}

int metrics_file_write (const char *path, const struct buf *text, struct err *err)
{
    return text->overflow ? err_set (err, ERR_LIMIT, "the series would be larger than %d MiB", METRICS_MAX_BYTES >> 20)
                          : atomic_file_write (path, text->ptr, text->len, 0644, err);
}
