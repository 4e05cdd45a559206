/* launch_events.c - handles output, end and deadline of a worker or its courier. */
#include "coordinator/launch/launch_private.h"

#include "common/base/duration.h"
#include "common/io/clock.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static void launch_events_give_up (struct start *start, const struct buf *why)
{
    launch_process_kill_group (&start->process);
    launch_drop_fd (start->launch->loop, &start->process.input_fd);
    start_drop_output (start);
    start_set_state (start, START_GIVEN_UP);
    start_free_rank (start);
    if (start->again) /* its worker runs: it falls silent when nobody carries its link */
        (void) launch_queue_again (start->launch, start->rank, start->directory, start->tries_n + 1);
    else
        launch_report_exit (start->launch, start->rank, why);
}

static void give_up_joining (struct start *start, const char *reason)
{
    LOCAL_BUF why = { .max = LAUNCH_WHY_MAX_BYTES };
    buf_printf (&why, "the worker did not join: %s", reason);
    worker_log_append_last_line (&start->log, &why);
    launch_events_give_up (start, &why);
}

/* ---- words ---- */

static bool launch_events_is_own (const struct start *start, const struct launch_report *reply)
{
    uint64_t ticks;
    return reply->pid == start->process.pid && launch_process_start_time (reply->pid, &ticks) &&
           ticks == (uint64_t) reply->pid_start;
}

static void launch_events_take_answer (struct start *start, const struct launch_report *reply)
{
    struct launch *launch = start->launch;
    errno = 0; /* else: why its start time could not be read */
    if (!launch_is_remote (launch) && !launch_events_is_own (start, reply)) {
        give_up_joining (start, errno ? strerror (errno)
                                      : "the pid or start time that the worker reported does not match the started "
                                        "process");
        return;
    }
    if (!launch_is_remote (launch))
        start_drop_output (start); /* a courier has more to say */
    start_set_state (start, START_KEYED);
    launch->options.keyed (launch->options.owner, start->rank, text_of (reply->public_key)); /* it may do anything */
    launch_begin_queued (launch);
}

/* It quotes a host, so it is made safe to show. Before that is reached, only a ProxyCommand has said anything. */
static void take_refusal (struct start *start, const struct launch_report *reply)
{
    LOCAL_BUF why = { .max = LAUNCH_WHY_MAX_BYTES };
    buf_puts (&why, "the worker was not started; failed in step ");
    buf_escaped (&why, text_of (reply->step), 0);
    buf_puts (&why, ": ");
    buf_escaped (&why, text_of (reply->why), 0);
    if (start->launch->options.launcher == LAUNCHER_SSH && text_is (text_of (reply->step), "connect"))
        worker_log_append_last_line (&start->log, &why);
    if (start->launch->options.password.len && text_is (text_of (reply->step), "authentication"))
        start->again = false; /* one more try might lock the account */
    launch_events_give_up (start, &why);
}

static void launch_events_take_end (struct start *start, const struct launch_report *reply)
{
    LOCAL_BUF why = { .max = LAUNCH_WHY_MAX_BYTES };
    buf_puts (&why, "the worker ended: ");
    buf_escaped (&why, text_of (reply->why), 0);
    worker_log_append_last_line (&start->log, &why);
    launch_events_give_up (start, &why);
}

static void launch_events_take_step (const struct start *start, const struct launch_report *reply)
{
    struct launch *launch = start->launch;
    if (launch->options.step && start->state == START_AWAITED && text_is_utf8 (text_of (reply->step)))
        launch->options.step (launch->options.owner, start->rank, text_of (reply->step));
}

/* Has no effect; the owner shows it to people. */
static void take_remark (const struct start *start, const struct launch_report *reply)
{
    struct launch *launch = start->launch;
    LOCAL_BUF sentence = { .max = LAUNCH_WHY_MAX_BYTES };
    buf_escaped (&sentence, text_of (reply->why), 0);
    if (launch->options.remark)
        launch->options.remark (launch->options.owner, start->rank, buf_as_text (&sentence));
}

static void take_carries (struct start *start, const struct launch_report *reply)
{
    start_note_carries (start);
    if (*reply->why)
        take_remark (start, reply);
    if (start->again && start->state == START_AWAITED) {
        start_set_state (start, START_ADMITTED);
        launch_begin_queued (start->launch);
    }
}

static void launch_events_take_word (struct start *start, const struct launch_report *reply)
{
    bool before_go = start->state == START_AWAITED || start->state == START_KEYED;
    switch (reply->word) {
    case WORD_ANSWER:
        if (start->state == START_AWAITED)
            launch_events_take_answer (start, reply);
        break;
    case WORD_STEP: launch_events_take_step (start, reply); break;
    case WORD_FOUND: take_remark (start, reply); break;
    case WORD_CARRIES: take_carries (start, reply); break;
    case WORD_REFUSED:
        if (before_go)
            take_refusal (start, reply);
        break;
    case WORD_LEFT:
        if (start->state == START_ADMITTED) {
            start_set_state (start, START_LEFT);
            start_free_rank (start);
        }
        break;
    case WORD_ENDED:
        if (start->state != START_GIVEN_UP)
            launch_events_take_end (start, reply);
        break;
    case WORD_EXEC: /* the answer of another program of the worker */
    case WORD_NONE: break;
    }
}

/* False: nothing more comes of these bytes. */
static bool take_output (struct start *start, struct text *output)
{
    struct launch_report reply;
    struct err err = { 0 };
    int rc = launch_protocol_receive (start->parser, output, &reply, &err);
    if (rc > 0)
        launch_events_take_word (start, &reply);
    else if (rc < 0)
        give_up_joining (start, err.text);
    return rc > 0 && start->process.output_fd >= 0;
}

/* An end of output mostly precedes its end: that, or the deadline, gives the reason. */
static void listen_to (struct start *start)
{
    char bytes[4096];
    while (start->process.output_fd >= 0) {
        ssize_t n = read (start->process.output_fd, bytes, sizeof bytes);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            start_drop_output (start);
            return;
        }
        struct text output = { .ptr = bytes, .len = (uint32_t) n };
        while (take_output (start, &output))
            ;
    }
}

/* ---- ends ---- */

/* No host, pid or path in it: equal causes of many hosts fold into one line. */
static void launch_events_say_end (const struct start *start, const struct buf *how, bool clean, struct buf *why)
{
    bool early = start->state == START_AWAITED || start->state == START_KEYED;
    buf_puts (why, launch_is_remote (start->launch) ? "the courier of the worker " : "the worker ");
    buf_add_text (why, buf_as_text (how));
    if (early)
        buf_puts (why, start->state == START_AWAITED ? " before the worker reported its public key"
                                                     : " before the coordinator admitted the worker");
    if (early || !clean)
        worker_log_append_last_line (&start->log, why);
}

/* The worker of a courier that is gone stands, but is cut off. */
static bool launch_events_is_cut_off (const struct start *start)
{
    const struct start_plan *plan = start->launch->options.start;
    bool stands = start->state == START_ADMITTED && plan && !plan->tied;
    return (start->carries && stands) || (start->again && start->state == START_AWAITED);
}

/* A courier's failure after GO ends only a tied worker; another one falls silent if it dies. */
static bool launch_events_is_told (const struct start *start)
{
    bool stands = start->state == START_ADMITTED && start->launch->options.launcher == LAUNCHER_SSH &&
                  !start->launch->options.start->tied;
    return stands || start->state == START_LEFT || start->state == START_GIVEN_UP;
}

static void launch_events_on_ended (void *owner, int fd, uint32_t events)
{
    struct start *start = owner;
    struct launch *launch = start->launch;
    uint32_t rank = start->rank;
    bool clean;
    (void) fd, (void) events;
    listen_to (start); /* its last words may wait behind its end */
    LOCAL_BUF how = { .max = LAUNCH_WHY_MAX_BYTES };
    LOCAL_BUF why = { .max = LAUNCH_WHY_MAX_BYTES };
    if (launch_process_reap (start->process.pidfd, &how, &clean)) {
        bool told = launch_events_is_told (start), cut_off = launch_events_is_cut_off (start);
        char *directory = mem_text (cut_off ? start->directory : "");
        uint32_t tries_n = start->tries_n + 1;
        launch_events_say_end (start, &how, clean, &why);
        start_destroy (start);
        if (cut_off)
            (void) launch_queue_again (launch, rank, directory, tries_n); /* in vain: it falls silent */
        mem_free (directory);
        if (!told && !cut_off)
            launch_report_exit (launch, rank, &why);
    }
}

static void launch_events_on_output (void *owner, int fd, uint32_t events)
{
    (void) fd, (void) events;
    listen_to (owner);
}

int start_watch (struct start *start, struct err *err)
{
    struct loop *loop = start->launch->loop;
    int output_fd = start->process.output_fd;
    if (output_fd >= 0 && loop_watch (loop, output_fd, EPOLLIN, launch_events_on_output, start, err) != 0)
        return -1;
    return loop_watch (loop, start->process.pidfd, EPOLLIN, launch_events_on_ended, start, err);
}

/* ---- deadlines ---- */

static uint64_t earliest_deadline (const struct launch *launch)
{
    uint64_t earliest = UINT64_MAX;
    for (const struct start *start = launch->starts; start; start = start->next)
        if (start->state == START_AWAITED && start->deadline_ms < earliest)
            earliest = start->deadline_ms;
    return earliest;
}

static struct start *overdue (struct launch *launch, uint64_t now_ms)
{
    for (struct start *start = launch->starts; start; start = start->next)
        if (start->state == START_AWAITED && start->deadline_ms <= now_ms)
            return start;
    return NULL;
}

void launch_timer_set (struct launch *launch, uint64_t at_ms)
{
    struct itimerspec at = { 0 }; /* all zero: disarmed */
    if (at_ms != UINT64_MAX) {
        at.it_value.tv_sec = (time_t) (at_ms / 1000);
        at.it_value.tv_nsec = (long) (at_ms % 1000) * 1000000;
    }
    int rc = timerfd_settime (launch->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
    assert (rc == 0);
    launch->timer_ms = at_ms;
}

static void on_timer (void *owner, int fd, uint32_t events)
{
    struct launch *launch = owner;
    uint64_t times;
    char why[128], timeout[DURATION_TEXT_BYTES];
    (void) events;
    if (read (fd, &times, sizeof times) != sizeof times)
        return; /* set anew meanwhile */
    uint64_t now_ms = clock_boot_ms ();
    snprintf (why, sizeof why, "the worker reported no public key within %s",
              duration_print (launch->timeout_ms, timeout));
    for (struct start *start; (start = overdue (launch, now_ms));)
        give_up_joining (start, why);
    launch_timer_set (launch, earliest_deadline (launch));
}

int launch_timer_create (struct launch *launch, struct err *err)
{
    if (launch->timer_fd >= 0)
        return 0;
    int fd = timerfd_create (CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot create a timer for the start of workers");
    if (loop_watch (launch->loop, fd, EPOLLIN, on_timer, launch, err) != 0) {
        (void) close (fd); /* a timer holds nothing */
        return -1;
    }
    launch->timer_fd = fd;
    return 0;
}
