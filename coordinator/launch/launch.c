#include "coordinator/launch/launch_private.h"

#include <assert.h>
#include <inttypes.h>

struct launch *launch_open (struct loop *loop, const struct launch_options *options)
{
    struct launch *launch = mem_alloc (sizeof *launch);
    bool local = options->launcher == LAUNCHER_LOCAL;
    launch->loop = loop;
    launch->launcher = options->launcher;
    launch->start = options->start;
    launch->program = mem_text (local ? options->worker_path : options->courier_path);
    launch->bundle.path = mem_text (local ? "" : options->bundle_path);
    launch->run_id_hex = mem_text (options->run_id_hex);
    launch->hub_address = mem_text (options->hub_address);
    launch->hub_public_key = mem_text (options->hub_public_key);
    launch->control_port = options->control_port;
    launch->bulk_port = options->bulk_port;
    launch->plan = options->plan;
    launch->keyed = options->keyed;
    launch->step = options->step;
    launch->remark = options->remark;
    launch->exited = options->exited;
    launch->owner = options->owner;
    launch->awaited_max = local ? HOSTS_MAX : options->start->at_once;
    launch->timeout_ms = local ? LAUNCH_TIMEOUT_MS : options->start->deadline_ms + COURIER_GRACE_MS;
    launch->timer_fd = -1;
    launch->timer_ms = UINT64_MAX;
    return launch;
}

void launch_close (struct launch *launch)
{
    if (!launch)
        return;
    while (launch->starts)
        start_destroy (launch->starts);
    launch_drop_fd (launch->loop, &launch->timer_fd);
    mem_free (launch->hub_public_key);
    mem_free (launch->hub_address);
    mem_free (launch->run_id_hex);
    mem_free (launch->bundle.path);
    mem_free (launch->program);
    mem_free (launch);
}

void launch_note_admitted (struct launch *launch, uint32_t rank)
{
    assert (rank < HOSTS_MAX);
    struct start *start = launch->by_rank[rank];
    if (!start || start->state != START_KEYED)
        return;
    start_set_state (start, START_ADMITTED);
    (void) start_send (start, TEXT_LIT ("GO\n")); /* not heard: its end, on the pidfd, says so */
    if (!launch_is_remote (launch))
        launch_drop_fd (launch->loop, &start->process.input_fd); /* a courier would take that for our end */
}

int launch_adopt (struct launch *launch, uint32_t rank, int64_t pid, uint64_t pid_start, struct err *err)
{
    assert (rank < HOSTS_MAX);
    if (launch_is_remote (launch))
        return 0;
    if (launch->by_rank[rank])
        return err_set (err, ERR_STATE, "the worker of rank %" PRIu32 " is already running", rank);
    int pidfd = launch_process_open_pidfd (pid, pid_start, err);
    if (pidfd < 0)
        return -1;
    struct start *start = start_create (launch, rank, START_ADOPTED);
    start->process.pid = (pid_t) pid;
    start->process.pidfd = pidfd;
    if (start_watch (start, err) == 0)
        return 0;
    start_destroy (start);
    return -1;
}

void launch_begin_no_more (struct launch *launch)
{
    launch->awaited_max = 0;
}

void launch_kill (struct launch *launch, uint32_t rank)
{
    assert (rank < HOSTS_MAX);
    if (launch->by_rank[rank] && launch->by_rank[rank]->state != START_QUEUED)
        launch_process_kill (launch->by_rank[rank]->process.pidfd);
}
