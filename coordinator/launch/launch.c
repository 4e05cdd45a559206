#include "coordinator/launch/launch_private.h"

#include "common/base/duration.h"
#include "common/io/clock.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

struct launch *launch_open (struct loop *loop, const struct launch_options *options)
{
    struct launch *launch = mem_alloc (sizeof *launch);
    bool local = options->launcher == LAUNCHER_LOCAL;
    launch->loop = loop;
    launch->launcher = options->launcher;
    launch->start = options->start;
    launch->program = mem_text (local ? options->worker_path : options->courier_path);
    launch->bundle = mem_text (local ? "" : options->bundle_path);
    launch->run_id_hex = mem_text (options->run_id_hex);
    launch->hub_address = mem_text (options->hub_address);
    launch->hub_public_key = mem_text (options->hub_public_key);
    launch->control_port = options->control_port;
    launch->bulk_port = options->bulk_port;
    launch->keyed = options->keyed;
    launch->step = options->step;
    launch->found = options->found;
    launch->exited = options->exited;
    launch->owner = options->owner;
    launch->awaited_max = local ? HOSTS_MAX : options->start->at_once;
    launch->timeout_ms = local ? LAUNCH_TIMEOUT_MS : options->start->deadline_ms + COURIER_GRACE_MS;
    launch->timer_fd = -1;
    launch->timer_ms = UINT64_MAX;
    return launch;
}

void launch_set_timeout (struct launch *launch, uint64_t timeout_ms)
{
    launch->timeout_ms = timeout_ms;
}

/* ---- one start ---- */

static void drop_fd (struct loop *loop, int *fd)
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
    drop_fd (start->launch->loop, &start->process.output_fd);
    mem_free (start->parser);
    start->parser = NULL;
}

void start_set_state (struct start *start, enum start_state state)
{
    start->launch->awaited_n -= start->state == START_AWAITED;
    start->launch->awaited_n += state == START_AWAITED;
    start->state = state;
}

void start_detach (struct start *start)
{
    if (start->launch->by_rank[start->rank] == start)
        start->launch->by_rank[start->rank] = NULL;
}

void start_destroy (struct start *start)
{
    struct launch *launch = start->launch;
    struct start **at = &launch->starts;
    start_set_state (start, START_GIVEN_UP);
    start_detach (start);
    while (*at != start)
        at = &(*at)->next;
    *at = start->next;
    drop_fd (launch->loop, &start->process.input_fd);
    start_drop_output (start);
    drop_fd (launch->loop, &start->process.pidfd);
    launch_log_release (&start->log);
    buf_release (&start->words);
    mem_free (start->directory);
    mem_free (start);
}

void launch_close (struct launch *launch)
{
    if (!launch)
        return;
    while (launch->starts)
        start_destroy (launch->starts);
    drop_fd (launch->loop, &launch->timer_fd);
    mem_free (launch->hub_public_key);
    mem_free (launch->hub_address);
    mem_free (launch->run_id_hex);
    mem_free (launch->bundle);
    mem_free (launch->program);
    mem_free (launch);
}

/* ---- ends ---- */

void launch_report (struct launch *launch, uint32_t rank, const struct buf *why)
{
    launch->exited (launch->owner, rank, buf_as_text (why));
    launch_begin_queued (launch);
}

/* No host, pid or path in it: equal causes of many hosts fold into one line. */
static void say_end (const struct start *start, const struct buf *how, bool clean, struct buf *why)
{
    bool early = start->state == START_AWAITED || start->state == START_KEYED;
    buf_puts (why, launch_is_remote (start->launch) ? "the courier of the worker " : "the worker ");
    buf_text (why, buf_as_text (how));
    if (early)
        buf_puts (why, start->state == START_AWAITED ? " before it named its key" : " before it was admitted");
    if (early || !clean)
        launch_log_last_words (&start->log, why);
}

/* A courier that falls after GO takes only a tied worker with it; of another one its silence will tell. */
static bool is_told (const struct start *start)
{
    bool stands = start->state == START_ADMITTED && start->launch->launcher == LAUNCHER_SSH &&
                  !start->launch->start->tied;
    return stands || start->state == START_LEFT || start->state == START_GIVEN_UP;
}

static void on_ended (void *owner, int fd, uint32_t events)
{
    struct start *start = owner;
    struct launch *launch = start->launch;
    struct buf how, why;
    uint32_t rank = start->rank;
    bool clean;
    (void) fd, (void) events;
    start_listen (start); /* its last words may wait behind its end */
    buf_init (&how, LAUNCH_WHY_MAX_BYTES);
    buf_init (&why, LAUNCH_WHY_MAX_BYTES);
    if (launch_process_ended (start->process.pidfd, &how, &clean)) {
        bool told = is_told (start);
        say_end (start, &how, clean, &why);
        start_destroy (start);
        if (!told)
            launch_report (launch, rank, &why);
    }
    buf_release (&why);
    buf_release (&how);
}

static void on_output (void *owner, int fd, uint32_t events)
{
    (void) fd, (void) events;
    start_listen (owner);
}

int start_watch (struct start *start, struct err *err)
{
    struct loop *loop = start->launch->loop;
    if (loop_watch (loop, start->process.output_fd, EPOLLIN, on_output, start, err) != 0)
        return -1;
    return loop_watch (loop, start->process.pidfd, EPOLLIN, on_ended, start, err);
}

void start_give_up (struct start *start, const struct buf *why)
{
    launch_process_kill_group (&start->process);
    drop_fd (start->launch->loop, &start->process.input_fd);
    start_drop_output (start);
    start_set_state (start, START_GIVEN_UP);
    start_detach (start);
    launch_report (start->launch, start->rank, why);
}

void start_give_up_joining (struct start *start, const char *reason)
{
    struct buf why;
    buf_init (&why, LAUNCH_WHY_MAX_BYTES);
    buf_printf (&why, "the worker did not join: %s", reason);
    launch_log_last_words (&start->log, &why);
    start_give_up (start, &why);
    buf_release (&why);
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
    snprintf (why, sizeof why, "it did not name its key within %s", duration_print (launch->timeout_ms, timeout));
    for (struct start *start; (start = overdue (launch, now_ms));)
        start_give_up_joining (start, why);
    launch_timer_set (launch, earliest_deadline (launch));
}

int launch_timer_ready (struct launch *launch, struct err *err)
{
    if (launch->timer_fd >= 0)
        return 0;
    int fd = timerfd_create (CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0)
        return err_errno (err, ERR_IO, "no timer for the start of workers");
    if (loop_watch (launch->loop, fd, EPOLLIN, on_timer, launch, err) != 0) {
        (void) close (fd); /* a timer holds nothing */
        return -1;
    }
    launch->timer_fd = fd;
    return 0;
}

/* ---- from outside ---- */

void launch_admitted (struct launch *launch, uint32_t rank)
{
    assert (rank < HOSTS_MAX);
    struct start *start = launch->by_rank[rank];
    if (!start || start->state != START_KEYED)
        return;
    start_set_state (start, START_ADMITTED);
    (void) start_say (start, TEXT_LIT ("GO\n")); /* not heard: its end, on the pidfd, says so */
    if (!launch_is_remote (launch))
        drop_fd (launch->loop, &start->process.input_fd); /* a courier would take that for our end */
}

int launch_adopt (struct launch *launch, uint32_t rank, int64_t pid, uint64_t pid_start, struct err *err)
{
    assert (rank < HOSTS_MAX);
    if (launch_is_remote (launch))
        return 0;
    if (launch->by_rank[rank])
        return err_set (err, ERR_STATE, "the worker of rank %" PRIu32 " was started already and has not ended", rank);
    int pidfd = launch_process_find (pid, pid_start, err);
    if (pidfd < 0)
        return -1;
    struct start *start = start_create (launch, rank, START_ADOPTED);
    start->process.pid = (pid_t) pid;
    start->process.pidfd = pidfd;
    if (loop_watch (launch->loop, pidfd, EPOLLIN, on_ended, start, err) == 0)
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
