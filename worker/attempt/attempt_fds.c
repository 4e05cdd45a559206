/* attempt_fds.c - the ends of a program's output and channel that this process holds. */
#include "worker/attempt/attempt_state.h"

#include "common/io/clock.h"
#include <sys/epoll.h>

enum { RECEIVES_MAX = 64 }; /* a socket holds no more than so many reads of a channel */

void attempt_close_fds (struct attempt *attempt)
{
    attempt_close_confine_report (attempt);
    if (attempt->channel_watched)
        loop_forget (attempt->loop, channel_fd (attempt->channel));
    if (attempt->output_watched)
        loop_forget (attempt->loop, output_read_fd (attempt->output));
    attempt->channel_watched = attempt->output_watched = false;
}

static void on_output (void *owner, int fd, uint32_t events)
{
    struct attempt *attempt = owner;
    (void) events;
    if (output_read (attempt->output, clock_boot_ms ()))
        return;
    loop_forget (attempt->loop, fd);
    attempt->output_watched = false;
}

static void read_channel (struct attempt *attempt)
{
    if (!attempt->channel_watched || channel_read (attempt->channel))
        return;
    loop_forget (attempt->loop, channel_fd (attempt->channel));
    attempt->channel_watched = false;
}

void attempt_drain_channel (struct attempt *attempt)
{
    for (int i = 0; i < RECEIVES_MAX; i++)
        read_channel (attempt);
}

/* All that the worker could end is gone: whoever holds the channel was started by the program and got away. */
void attempt_check_channel_held (struct attempt *attempt)
{
    read_channel (attempt);
    bool may_hold = attempt->run.rung.kind == PROGRAM_COMMAND && !attempt->evidence.result.spoke;
    if (attempt->channel_watched && !may_hold)
        evidence_refuse (&attempt->evidence, "a process that outlived the program kept the canary channel open");
}

static void on_channel (void *owner, int fd, uint32_t events)
{
    struct attempt *attempt = owner;
    (void) fd;
    if (events & EPOLLOUT)
        channel_write (attempt->channel);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        read_channel (attempt);
}

static int watch_descriptors (struct attempt *attempt, struct err *err)
{
    int fd = output_read_fd (attempt->output);
    if (loop_watch (attempt->loop, fd, EPOLLIN, on_output, attempt, err) < 0)
        return -1;
    attempt->output_watched = true;
    if (!attempt->channel)
        return 0;
    attempt->channel_events = EPOLLIN;
    if (loop_watch (attempt->loop, channel_fd (attempt->channel), EPOLLIN, on_channel, attempt, err) < 0)
        return -1;
    attempt->channel_watched = true;
    return 0;
}

void attempt_watch_writable (struct attempt *attempt)
{
    if (!attempt->channel_watched)
        return;
    uint32_t events = EPOLLIN | (channel_wants_write (attempt->channel) ? EPOLLOUT : 0);
    if (events == attempt->channel_events)
        return;
    /* Failing leaves what was asked before; it is asked again at the next pass. */
    if (loop_change (attempt->loop, channel_fd (attempt->channel), events, NULL) == 0)
        attempt->channel_events = events;
}

int attempt_open_fds (struct attempt *attempt, struct err *err)
{
    const struct attempt_context *context = attempt->context;
    attempt->output = output_open (attempt->log.ptr, context->log_bytes, context->output, context->owner, err);
    if (!attempt->output)
        return -1;
    attempt->channel = channel_open (&attempt->evidence, attempt_take_statement, attempt, err);
    if (!attempt->channel)
        return -1;
    return watch_descriptors (attempt, err);
}
