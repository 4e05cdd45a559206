#include "coordinator/cli/climb.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "common/wire/wire.h"

enum { SOFT_MAX_BYTES = 1 << 20, QUEUED_MAX_BYTES = 64 << 20 };

struct job {
    struct job *next;
    bool is_fact; /* or a line of the log */
    struct text bytes;
};

struct live_thread {
    const struct live_viewer *viewer;
    void *owner;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t given;
    struct job *first, **end;
    size_t queued_bytes;
    bool closing;
};

/* Everything that waits, or NULL when it is time for a tick. */
static struct job *take_all (struct live_thread *viewer, uint32_t tick_ms, bool *closing)
{
    struct timespec until;
    clock_gettime (CLOCK_MONOTONIC, &until);
    until.tv_nsec += tick_ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock (&viewer->lock);
    if (viewer->first == NULL && !viewer->closing)
        pthread_cond_clockwait (&viewer->given, &viewer->lock, CLOCK_MONOTONIC, &until);
    struct job *all = viewer->first;
    viewer->first = NULL;
    viewer->end = &viewer->first;
    viewer->queued_bytes = 0;
    *closing = viewer->closing;
    pthread_mutex_unlock (&viewer->lock);
    return all;
}

static void show_all (const struct live_viewer *viewer, void *view, struct job *job, struct arena *arena)
{
    while (job) {
        struct job *next = job->next;
        struct fact fact;
        arena_reset (arena);
        if (!job->is_fact)
            viewer->log (view, job->bytes);
        else if (wire_get_fact (job->bytes, &fact, arena, NULL) == 0)
            viewer->fact (view, &fact);
        mem_free (job);
        job = next;
    }
}

static void *live_thread_run (void *owner)
{
    struct live_thread *thread = owner;
    const struct live_viewer *viewer = thread->viewer;
    void *view = viewer->open (thread->owner);
    LOCAL_ARENA arena = { 0 };
    uint32_t tick_ms = 0;
    for (bool closing = false; !closing; tick_ms = viewer->tick (view))
        show_all (viewer, view, take_all (thread, tick_ms, &closing), &arena);
    viewer->close (view);
    return NULL;
}

struct live_thread *live_thread_open (const struct live_viewer *of, void *owner, struct err *err)
{
    struct live_thread *viewer = mem_alloc (sizeof (*viewer));
    viewer->viewer = of;
    viewer->owner = owner;
    viewer->end = &viewer->first;
    pthread_mutex_init (&viewer->lock, NULL);
    pthread_cond_init (&viewer->given, NULL);
    errno = pthread_create (&viewer->thread, NULL, live_thread_run, viewer);
    if (errno == 0)
        return viewer;
    err_errno (err, ERR_IO, "cannot start a thread for a view of the run");
    mem_free (viewer);
    return NULL;
}

static struct job *wrap (bool is_fact, struct text text)
{
    struct job *job = mem_alloc (sizeof (*job) + text.len);
    char *bytes = (char *) (job + 1);
    memcpy (bytes, text.ptr, text.len);
    job->is_fact = is_fact;
    job->bytes = (struct text){ bytes, text.len };
    return job;
}

static void live_thread_add (struct live_thread *viewer, bool is_fact, struct text bytes, size_t most)
{
    pthread_mutex_lock (&viewer->lock);
    if (viewer->queued_bytes + bytes.len <= most) {
        struct job *job = wrap (is_fact, bytes);
        *viewer->end = job;
        viewer->end = &job->next;
        viewer->queued_bytes += bytes.len;
        pthread_cond_signal (&viewer->given);
    }
    pthread_mutex_unlock (&viewer->lock);
}

void live_thread_add_fact (struct live_thread *viewer, enum fact_kind kind, struct text bytes)
{
    live_thread_add (viewer, true, bytes, fact_is_soft (kind) ? SOFT_MAX_BYTES : QUEUED_MAX_BYTES);
}

void live_thread_add_log (struct live_thread *viewer, struct text line)
{
    live_thread_add (viewer, false, line, QUEUED_MAX_BYTES);
}

bool live_thread_close_within (struct live_thread *viewer, uint32_t timeout_ms)
{
    struct timespec until;
    clock_gettime (CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    pthread_mutex_lock (&viewer->lock);
    viewer->closing = true;
    pthread_cond_signal (&viewer->given);
    pthread_mutex_unlock (&viewer->lock);
    if (pthread_clockjoin_np (viewer->thread, NULL, CLOCK_MONOTONIC, &until) != 0)
        return false;
    pthread_cond_destroy (&viewer->given);
    pthread_mutex_destroy (&viewer->lock);
    mem_free (viewer);
    return true;
}

void live_thread_close (struct live_thread *viewer)
{
    if (viewer)
        (void) live_thread_close_within (viewer, UINT32_MAX); /* seven weeks: for as long as it takes */
}
