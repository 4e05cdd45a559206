/* launch_start.c - one start: made, told something, changed, and taken apart. */
#include "coordinator/launch/launch_private.h"

#include <sys/socket.h>
#include <unistd.h>

void launch_drop_fd (struct loop *loop, int *fd)
{
    if (*fd < 0)
        return;
    loop_forget (loop, *fd); /* no harm when it is not watched */
    (void) close (*fd);      /* sockets, pipes and pidfds: nothing is lost that matters */
    *fd = -1;
}

struct start *start_create (struct launch *launch, uint32_t rank, enum start_state state)
{
    struct start *start = mem_alloc (sizeof *start);
    *start = (struct start){ .launch = launch, .next = launch->starts, .state = state, .rank = rank };
    start->process = (struct launch_process){ .pidfd = -1, .input_fd = -1, .output_fd = -1 };
    launch->starts = start;
    launch->by_rank[rank] = start;
    return start;
}

void start_drop_output (struct start *start)
{
    launch_drop_fd (start->launch->loop, &start->process.output_fd);
    mem_free (start->parser);
    start->parser = NULL;
}

void start_set_state (struct start *start, enum start_state state)
{
    start->launch->awaited_n -= start->state == START_AWAITED;
    start->launch->awaited_n += state == START_AWAITED;
    start->state = state;
}

void start_free_rank (struct start *start)
{
    if (start->launch->by_rank[start->rank] == start)
        start->launch->by_rank[start->rank] = NULL;
}

void start_destroy (struct start *start)
{
    struct launch *launch = start->launch;
    struct start **at = &launch->starts;
    start_set_state (start, START_GIVEN_UP);
    start_free_rank (start);
    while (*at != start)
        at = &(*at)->next;
    *at = start->next;
    launch_drop_fd (launch->loop, &start->process.input_fd);
    start_drop_output (start);
    launch_drop_fd (launch->loop, &start->process.pidfd);
    worker_log_release (&start->log);
    buf_release (&start->words);
    mem_free (start->directory);
    mem_free (start);
}

/* The socket takes far more than is ever said, so a short send is an answer too: nobody listens. */
bool start_send (const struct start *start, struct text words)
{
    return send (start->process.input_fd, words.ptr, words.len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t) words.len;
}
