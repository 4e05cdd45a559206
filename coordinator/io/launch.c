/*                launch_start         its key line           launch_admitted
 *   (nothing) ---------------> AWAITED ------------> KEYED ----------------> ADMITTED      ADOPTED <--- launch_adopt
 *                                 | broken answer, flood, no answer in time                      |
 *                                 +----> GIVEN_UP: killed, reported, waits to be reaped          |
 *   From every state the end of the process leads to nothing again; it is reported, but for GIVEN_UP. */
#include "coordinator/io/launch_private.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "common/base/buf.h"
#include "common/base/duration.h"
#include "common/io/clock.h"
#include "common/model/hostset.h"
#include "coordinator/io/launch_log.h"
#include "coordinator/io/launch_process.h"
#include "coordinator/io/launch_words.h"

enum { PATIENCE_MS = 30 * 1000, WHY_MAX_BYTES = 1536 };

enum start_state { START_AWAITED = 1, START_KEYED, START_ADMITTED, START_ADOPTED, START_GIVEN_UP };

struct start {
    struct launch *launch;
    struct start *next;
    enum start_state state;
    uint32_t rank;
    struct launch_process process; /* descriptors are -1 when closed */
    uint64_t deadline_ms;          /* AWAITED */
    struct launch_ear *ear;        /* AWAITED */
    struct launch_log log;         /* none: ADOPTED */
};

struct launch {
    struct loop *loop;
    char *worker_path, *run_id_hex, *hub_address, *hub_public_key;
    uint16_t control_port, bulk_port;
    launch_keyed_fn *keyed;
    launch_exited_fn *exited;
    void *owner;
    uint64_t patience_ms;
    int timer_fd;
    uint64_t timer_ms;    /* when it fires; UINT64_MAX: never */
    struct start *starts; /* all of them, GIVEN_UP too */
    struct start *by_rank[HOSTS_MAX];
};

struct launch *launch_open (struct loop *loop, const struct launch_options *options)
{
    struct launch *launch = mem_alloc (sizeof *launch);
    launch->loop = loop;
    launch->worker_path = mem_text (options->worker_path);
    launch->run_id_hex = mem_text (options->run_id_hex);
    launch->hub_address = mem_text (options->hub_address);
    launch->hub_public_key = mem_text (options->hub_public_key);
    launch->control_port = options->control_port;
    launch->bulk_port = options->bulk_port;
    launch->keyed = options->keyed;
    launch->exited = options->exited;
    launch->owner = options->owner;
    launch->patience_ms = PATIENCE_MS;
    launch->timer_fd = -1;
    launch->timer_ms = UINT64_MAX;
    return launch;
}

void launch_set_patience (struct launch *launch, uint64_t patience_ms)
{
    launch->patience_ms = patience_ms;
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

static struct start *start_create (struct launch *launch, uint32_t rank, enum start_state state)
{
    struct start *start = mem_alloc (sizeof *start);
    *start = (struct start) { .launch = launch, .next = launch->starts, .state = state, .rank = rank };
    start->process = (struct launch_process) { .pidfd = -1, .input_fd = -1, .output_fd = -1 };
    launch->starts = start;
    launch->by_rank[rank] = start;
    return start;
}

static void start_detach (struct start *start)
{
    if (start->launch->by_rank[start->rank] == start)
        start->launch->by_rank[start->rank] = NULL;
}

static void start_destroy (struct start *start)
{
    struct launch *launch = start->launch;
    struct start **at = &launch->starts;
    start_detach (start);
    while (*at != start)
        at = &(*at)->next;
    *at = start->next;
    drop_fd (launch->loop, &start->process.input_fd);
    drop_fd (launch->loop, &start->process.output_fd);
    drop_fd (launch->loop, &start->process.pidfd);
    launch_log_release (&start->log);
    mem_free (start->ear);
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
    mem_free (launch->worker_path);
    mem_free (launch);
}

/* ---- ends ---- */

/* No host, pid or path in it: equal causes of many hosts fold into one line. */
static void say_end (const struct start *start, const struct buf *how, bool clean, struct buf *why)
{
    bool early = start->state == START_AWAITED || start->state == START_KEYED;
    buf_puts (why, "the worker ");
    buf_text (why, buf_as_text (how));
    if (early)
        buf_puts (why, start->state == START_AWAITED ? " before it named its key" : " before it was admitted");
    if (early || !clean)
        launch_log_last_words (&start->log, why);
}

static void on_ended (void *owner, int fd, uint32_t events)
{
    struct start *start = owner;
    struct launch *launch = start->launch;
    struct buf how, why;
    uint32_t rank = start->rank;
    bool clean, told = start->state == START_GIVEN_UP;
    (void) fd, (void) events;
    buf_init (&how, WHY_MAX_BYTES);
    buf_init (&why, WHY_MAX_BYTES);
    if (launch_process_ended (start->process.pidfd, &how, &clean)) {
        say_end (start, &how, clean, &why);
        start_destroy (start);
        if (!told)
            launch->exited (launch->owner, rank, buf_as_text (&why)); /* last: it may start the next one */
    }
    buf_release (&why);
    buf_release (&how);
}

/* A worker that will not join: ended and reported now, reaped when it is gone. */
static void give_up (struct start *start, const char *reason)
{
    struct launch *launch = start->launch;
    struct buf why;
    buf_init (&why, WHY_MAX_BYTES);
    buf_printf (&why, "the worker did not join: %s", reason);
    launch_log_last_words (&start->log, &why);
    launch_process_kill_group (&start->process);
    drop_fd (launch->loop, &start->process.input_fd);
    drop_fd (launch->loop, &start->process.output_fd);
    start->state = START_GIVEN_UP;
    start_detach (start);
    launch->exited (launch->owner, start->rank, buf_as_text (&why)); /* last: it may start the next one */
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

static void timer_set (struct launch *launch, uint64_t at_ms)
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
    char why[128], patience[DURATION_TEXT_BYTES];
    (void) events;
    if (read (fd, &times, sizeof times) != sizeof times)
        return; /* set anew meanwhile */
    uint64_t now_ms = clock_boot_ms ();
    snprintf (why, sizeof why, "it did not name its key within %s", duration_print (launch->patience_ms, patience));
    for (struct start *start; (start = overdue (launch, now_ms));)
        give_up (start, why);
    timer_set (launch, earliest_deadline (launch));
}

static int timer_ready (struct launch *launch, struct err *err)
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

/* ---- the exchange ---- */

/* The socket takes far more than is ever said, so a short send is an answer too: nobody listens. */
static bool say (const struct start *start, struct text words)
{
    return send (start->process.input_fd, words.ptr, words.len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t) words.len;
}

static bool is_own (const struct start *start, const struct launch_answer *answer)
{
    uint64_t ticks;
    return answer->pid == start->process.pid && launch_process_start_time (answer->pid, &ticks) &&
           ticks == (uint64_t) answer->pid_start;
}

static void take_answer (struct start *start, const struct launch_answer *answer)
{
    struct launch *launch = start->launch;
    if (!is_own (start, answer)) {
        give_up (start, "it named another pid or start time than those of the process that was started");
        return;
    }
    drop_fd (launch->loop, &start->process.output_fd);
    mem_free (start->ear);
    start->ear = NULL;
    start->state = START_KEYED;
    launch->keyed (launch->owner, start->rank, text_of (answer->public_key)); /* last: it may do anything */
}

static void on_output (void *owner, int fd, uint32_t events)
{
    struct start *start = owner;
    char bytes[4096];
    struct launch_answer answer;
    struct err err = { 0 };
    (void) events;
    ssize_t n = read (fd, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        /* Its end is near, mostly: that, or the deadline, says more. */
        drop_fd (start->launch->loop, &start->process.output_fd);
        return;
    }
    int rc = launch_words_hear (start->ear, (struct text) { .ptr = bytes, .len = (uint32_t) n }, &answer, &err);
    if (rc > 0)
        take_answer (start, &answer);
    else if (rc < 0)
        give_up (start, err.text);
}

void launch_admitted (struct launch *launch, uint32_t rank)
{
    assert (rank < HOSTS_MAX);
    struct start *start = launch->by_rank[rank];
    if (!start || start->state != START_KEYED)
        return;
    start->state = START_ADMITTED;
    (void) say (start, TEXT_LIT ("GO\n")); /* not heard: its end, on the pidfd, says so */
    drop_fd (launch->loop, &start->process.input_fd);
}

/* ---- starting ---- */

static int start_process (struct start *start, const char *directory, struct err *err)
{
    struct launch *launch = start->launch;
    int log_fd = launch_log_open (&start->log, directory, err);
    if (log_fd < 0)
        return -1;
    int rc = launch_process_start (launch->worker_path, log_fd, &start->process, err);
    (void) close (log_fd); /* ours was never written to */
    if (rc == 0 && (loop_watch (launch->loop, start->process.output_fd, EPOLLIN, on_output, start, err) != 0 ||
                    loop_watch (launch->loop, start->process.pidfd, EPOLLIN, on_ended, start, err) != 0)) {
        launch_process_kill_group (&start->process);
        rc = -1;
    }
    return rc;
}

static int join_words (const struct launch *launch, uint32_t rank, struct text host, const char *directory,
                       struct buf *words, struct err *err)
{
    struct launch_join join = {
        .run_id_hex = launch->run_id_hex,
        .host = host,
        .rank = rank,
        .address = launch->hub_address,
        .control_port = launch->control_port,
        .bulk_port = launch->bulk_port,
        .hub_public_key = launch->hub_public_key,
        .directory = directory,
    };
    if (directory[0] != '/')
        return err_set (err, ERR_STATE, "%s is no place for a worker: expected an absolute path", directory);
    return launch_words_join (words, &join, err);
}

int launch_start (struct launch *launch, uint32_t rank, struct text host, const char *directory, struct err *err)
{
    struct buf words;
    int rc = -1;
    assert (rank < HOSTS_MAX);
    if (launch->by_rank[rank])
        return err_set (err, ERR_STATE, "the worker of rank %" PRIu32 " was started already and has not ended", rank);
    buf_init (&words, LAUNCH_LINE_MAX_BYTES + 1);
    if (timer_ready (launch, err) != 0 || join_words (launch, rank, host, directory, &words, err) != 0)
        goto out;
    struct start *start = start_create (launch, rank, START_AWAITED);
    if (start_process (start, directory, err) != 0) {
        start_destroy (start);
        goto out;
    }
    start->ear = mem_alloc (sizeof *start->ear);
    start->deadline_ms = clock_boot_ms () + launch->patience_ms;
    if (start->deadline_ms < launch->timer_ms)
        timer_set (launch, start->deadline_ms);
    (void) say (start, buf_as_text (&words)); /* not heard: its end or the deadline says so */
    rc = 0;
out:
    buf_release (&words);
    return rc;
}

int launch_adopt (struct launch *launch, uint32_t rank, int64_t pid, uint64_t pid_start, struct err *err)
{
    assert (rank < HOSTS_MAX);
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

void launch_kill (struct launch *launch, uint32_t rank)
{
    assert (rank < HOSTS_MAX);
    if (launch->by_rank[rank])
        launch_process_kill (launch->by_rank[rank]->process.pidfd);
}
