#include "project.h"

#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/wire/wire.h"
#include "coordinator/run/driver_private.h"
#include "made_plan.h"
#include "usage.h"

enum { RELEASE_AFTER_MS = 500 };

struct project {
    const struct bench_options *options;
    struct bench_figures *figures;
    struct crowd crowd;
    struct loop *loop;
    uint64_t began_ns, cpu_ns, loop_cpu_ns;
    uint32_t joined_n;
    bool failed;
};

/* ---- what the run says of itself ---- */

static void note_joined (struct project *project)
{
    if (++project->joined_n < project->options->hosts)
        return;
    project->figures->joined_ns = usage_now_ns ();
    project->figures->join_cpu_ns = usage_cpu_ns () - project->cpu_ns;
}

static void note_began (struct project *project)
{
    project->began_ns = usage_now_ns ();
    if (project->figures->rounds_n > 0)
        return;
    project->cpu_ns = usage_cpu_ns ();
    project->loop_cpu_ns = usage_thread_cpu_ns ();
}

static void note_ended (struct project *project, const struct fact_pass_ended *ended)
{
    struct bench_figures *figures = project->figures;
    project->failed |= ended->outcome != OUTCOME_PASSED;
    figures->rounds_ns[figures->rounds_n++] = usage_now_ns () - project->began_ns;
    if (figures->rounds_n < project->options->rounds)
        return;
    figures->rounds_cpu_ns = usage_cpu_ns () - project->cpu_ns;
    figures->loop_cpu_ns = usage_thread_cpu_ns () - project->loop_cpu_ns;
    figures->rss_kib = usage_rss_kib ();
    figures->rss_peak_kib = usage_rss_peak_kib ();
}

static void read_ended (struct project *project, struct text bytes)
{
    struct arena arena = { 0 };
    struct fact fact;
    if (wire_get_fact (bytes, &fact, &arena, NULL) < 0)
        bench_die ("a fact cannot be read");
    note_ended (project, &fact.of.pass_ended);
    arena_release (&arena);
}

static void on_fact (void *owner, enum fact_kind kind, struct text bytes)
{
    struct project *project = owner;
    switch (kind) {
    case FACT_HOST_JOINED: note_joined (project); break;
    case FACT_PASS_BEGAN: note_began (project); break;
    case FACT_PASS_ENDED: read_ended (project, bytes); break;
    default: break;
    }
}

/* ---- the run ---- */

static void release (void *owner, int fd, uint32_t events)
{
    (void) events;
    struct project *project = owner;
    loop_forget (project->loop, fd);
    close (fd);
    project->cpu_ns = usage_cpu_ns ();
    project->figures->released_ns = usage_now_ns ();
    crowd_release (&project->crowd);
}

/* Keys count from when they are journaled; that is over long before, and belongs to launching, not to joining. */
static void release_later (struct project *project, struct err *err)
{
    int fd = timerfd_create (CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct itimerspec at = { .it_value = { 0, RELEASE_AFTER_MS * 1000000L } };
    if (fd < 0 || timerfd_settime (fd, 0, &at, NULL) != 0 ||
        loop_watch (project->loop, fd, EPOLLIN, release, project, err) < 0)
        bench_die ("no timer");
}

static void aim (struct project *project, const struct run_dir *dir)
{
    struct crowd_request request = { .bulk = project->options->bulk };
    struct run_addresses hub;
    struct err err = { 0 };
    if (run_addresses_load (dir, &hub, &err) < 0)
        bench_die (err.text);
    request.port = hub.control_port;
    request.bulk_port = hub.bulk_port;
    snprintf (request.hub_key, sizeof request.hub_key, "%s", hub.public_key);
    for (int i = 0; i < RUN_ID_BYTES; i++) {
        unsigned byte = 0;
        sscanf (dir->id + 2 * i, "%2x", &byte);
        request.run_id[i] = (char) byte;
    }
    crowd_aim (&project->crowd, &request);
}

static void run (struct project *project, const struct plan *plan, struct err *err)
{
    const struct log log = { .to = stderr, .program = "bench" };
    struct run_dir dir;
    if ((project->loop = loop_open (err)) == NULL || run_dir_create (&dir, project->options->home, err) < 0)
        bench_die (err->text);
    struct driver_options options = {
        .dir = &dir, .log = &log, .version = BENCH_VERSION, .watch = on_fact, .owner = project
    };
    struct driver *driver = driver_open (project->loop, &options, plan, err);
    if (driver == NULL)
        bench_die (err->text);
    aim (project, &dir);
    for (uint32_t i = 0; i < project->options->hosts; i++)
        driver_worker_keyed (driver, i, text_of (project->crowd.public_keys[i]));
    release_later (project, err);
    if (loop_run (project->loop, err) < 0)
        bench_die (err->text);
    uint32_t exit_status = 1;
    if (!driver_has_ended (driver, &exit_status, err) || exit_status != 0)
        bench_die (err->code ? err->text : "the run did not pass");
    driver_close (driver);
    loop_close (project->loop);
}

void project_measure (const struct bench_options *options, struct bench_figures *out)
{
    struct project project = { .options = options, .figures = out };
    struct arena arena = { 0 };
    struct plan plan;
    struct err err = { 0 };
    crowd_start (&project.crowd, options->hosts);
    bench_make_plan (&plan, options, &arena);
    run (&project, &plan, &err);
    crowd_finish (&project.crowd, &out->crowd);
    if (project.failed || out->rounds_n != options->rounds)
        bench_die ("not every round passed");
    arena_release (&arena);
}
