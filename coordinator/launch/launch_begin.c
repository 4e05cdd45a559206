/* launch_begin.c - what a worker or its courier is told, and its process. */
#include "coordinator/launch/launch_private.h"

#include "common/io/clock.h"
#include "common/model/launch_variables.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static int start_process (struct start *start, const char *directory, struct err *err)
{
    struct launch *launch = start->launch;
    bool courier = launch_is_remote (launch);
    int log_fd = worker_log_open (&start->log, directory, err);
    if (log_fd < 0)
        return -1;
    struct arena arena = { 0 };
    var_list set = { 0 };
    struct launch_program program = { .path = launch->program, .word = courier ? "carry" : "join", .courier = courier };
    if (!courier && launch->plan) {
        set = launch_variables_of_rehearsal (launch->plan, start->rank, &arena);
        /* In a rehearsal nothing of this machine is taken for a pod's. */
        program.inherit = set.n ? NULL : &launch->plan->profile.inherit;
        program.set = &set;
    }
    int rc = launch_process_start (&program, log_fd, &start->process, err);
    arena_release (&arena);
    (void) close (log_fd); /* ours was never written to */
    if (rc == 0 && start_watch (start, err) != 0) {
        launch_process_kill_group (&start->process);
        rc = -1;
    }
    return rc;
}

static int worker_words (const struct launch *launch, uint32_t rank, struct text host, const char *directory,
                         struct buf *words, struct err *err)
{
    struct launch_line_fields join = {
        .run_id_hex = launch->run_id_hex,
        .host = host,
        .slice = launch->plan ? launch->plan->slice : TEXT_LIT (""),
        .rank = rank,
        .address = launch->hub_address,
        .control_port = launch->control_port,
        .bulk_port = launch->bulk_port,
        .hub_public_key = launch->hub_public_key,
        .directory = directory,
        .tied = launch_is_remote (launch) && (launch->start->tied || launch->launcher == LAUNCHER_SLURM),
    };
    if (directory[0] != '/')
        return err_set (err, ERR_STATE, "the directory of a worker must be an absolute path, not %s", directory);
    return launch_protocol_put_join (words, &join, err);
}

/* On its own host, a worker's folder is named after run and host. */
static int words_for (struct launch *launch, uint32_t rank, const struct plan_host *host, const char *directory,
                      struct buf *words, struct err *err)
{
    char there[PATH_MAX_BYTES + 1];
    if (!launch_is_remote (launch))
        return worker_words (launch, rank, host->name, directory, words, err);
    int len = snprintf (there, sizeof there, "%.*s/runs/%s/%.*s", TEXT_ARG (launch->start->directory),
                        launch->run_id_hex, TEXT_ARG (host->name));
    if (len >= (int) sizeof there)
        return err_set (err, ERR_LIMIT, "start.directory %.*s is too long, expected at most %zu bytes",
                        TEXT_ARG (launch->start->directory), sizeof there - 128);
    if (launch_put_order (launch->launcher, launch->start, host, &launch->bundle, words, err) != 0)
        return -1;
    return worker_words (launch, rank, host->name, there, words, err);
}

static int begin (struct start *start, const char *directory, struct err *err)
{
    struct launch *launch = start->launch;
    if (start_process (start, directory, err) != 0)
        return -1;
    start->parser = mem_alloc (sizeof *start->parser);
    start->parser->courier = launch_is_remote (launch);
    start->deadline_ms = clock_boot_ms () + launch->timeout_ms;
    start_set_state (start, START_AWAITED);
    if (start->deadline_ms < launch->timer_ms)
        launch_timer_set (launch, start->deadline_ms);
    (void) start_send (start, buf_as_text (&start->words)); /* not heard: its end or the deadline says so */
    buf_release (&start->words);
    return 0;
}

static struct start *oldest_queued (const struct launch *launch)
{
    struct start *oldest = NULL;
    for (struct start *start = launch->starts; start; start = start->next)
        if (start->state == START_QUEUED)
            oldest = start;
    return oldest;
}

void launch_report_exit (struct launch *launch, uint32_t rank, const struct buf *why)
{
    launch->exited (launch->owner, rank, buf_as_text (why));
    launch_begin_queued (launch);
}

static void begin_next (struct launch *launch, struct start *start)
{
    struct err err = { 0 };
    struct buf why;
    uint32_t rank = start->rank;
    if (begin (start, start->directory, &err) == 0)
        return;
    start_destroy (start);
    buf_init (&why, LAUNCH_WHY_MAX_BYTES);
    buf_puts (&why, err.text);
    launch_report_exit (launch, rank, &why);
    buf_release (&why);
}

/* A report inside begins nothing itself: this loop goes on to it. */
void launch_begin_queued (struct launch *launch)
{
    struct start *start;
    if (launch->beginning)
        return;
    launch->beginning = true;
    while (launch->awaited_n < launch->awaited_max && (start = oldest_queued (launch)))
        begin_next (launch, start);
    launch->beginning = false;
}

int launch_start (struct launch *launch, uint32_t rank, const struct plan_host *host, const char *directory,
                  struct err *err)
{
    struct buf words;
    assert (rank < HOSTS_MAX);
    if (launch->by_rank[rank])
        return err_set (err, ERR_STATE, "the worker of rank %" PRIu32 " was already started, or waits to be", rank);
    buf_init (&words, LAUNCH_LINE_MAX_BYTES + COURIER_LINE_MAX_BYTES);
    if (launch_timer_create (launch, err) != 0 || words_for (launch, rank, host, directory, &words, err) != 0) {
        buf_release (&words);
        return -1;
    }
    struct start *start = start_create (launch, rank, START_QUEUED);
    start->words = words;
    if (launch->awaited_n >= launch->awaited_max) {
        start->directory = mem_text (directory);
        return 0;
    }
    if (begin (start, directory, err) == 0)
        return 0;
    start_destroy (start);
    return -1;
}
