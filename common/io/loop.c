#include "common/io/loop.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/io/clock.h"
#include "common/io/fd.h"

enum { EVENTS_A_PASS = 64, SIGNALS_A_PASS = 16 };

struct watch {
    int fd;
    bool forgotten; /* freed after this pass, since its events may still point here */
    loop_fd_fn *fn;
    void *owner;
    struct watch *next_dead;
};

struct loop {
    int epoll_fd, timer_fd, signal_fd;
    struct watch **by_fd;
    size_t by_fd_len;
    struct watch *dead;
    uint64_t deadline_ms, armed_ms;
    loop_signal_fn *signal_fn;
    void *signal_owner;
    loop_iteration_fn *pass_fn;
    void *pass_owner;
    bool stop;
};

/* ---- watches ---- */

static void by_fd_reach (struct loop *loop, int fd)
{
    size_t len = (size_t) fd + 1;
    if (len <= loop->by_fd_len)
        return;
    if (len < 2 * loop->by_fd_len)
        len = 2 * loop->by_fd_len;
    loop->by_fd = mem_grow (loop->by_fd, len, sizeof loop->by_fd[0]);
    memset (loop->by_fd + loop->by_fd_len, 0, (len - loop->by_fd_len) * sizeof loop->by_fd[0]);
    loop->by_fd_len = len;
}

static struct watch *watch_of (const struct loop *loop, int fd)
{
    return fd >= 0 && (size_t) fd < loop->by_fd_len ? loop->by_fd[fd] : NULL;
}

int loop_watch (struct loop *loop, int fd, uint32_t events, loop_fd_fn *fn, void *owner, struct err *err)
{
    assert (fd >= 0 && fn);
    assert (!watch_of (loop, fd)); /* watched twice, or closed before loop_forget */
    struct watch *watch = mem_alloc (sizeof *watch);
    *watch = (struct watch){ .fd = fd, .fn = fn, .owner = owner };
    struct epoll_event event = { .events = events, .data.ptr = watch };
    if (epoll_ctl (loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        mem_free (watch);
        return err_errno (err, ERR_IO, "epoll cannot watch descriptor %d (it can watch pipes, sockets and terminals)",
                          fd);
    }
    by_fd_reach (loop, fd);
    loop->by_fd[fd] = watch;
    return 0;
}

int loop_change (struct loop *loop, int fd, uint32_t events, struct err *err)
{
    struct watch *watch = watch_of (loop, fd);
    assert (watch);
    struct epoll_event event = { .events = events, .data.ptr = watch };
    if (epoll_ctl (loop->epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0)
        return err_errno (err, ERR_IO, "cannot change which events of descriptor %d are watched", fd);
    return 0;
}

void loop_forget (struct loop *loop, int fd)
{
    struct watch *watch = watch_of (loop, fd);
    if (!watch)
        return;
    /* Delete from epoll before close: a copy in another process would make epoll go on reporting it. */
    int rc = epoll_ctl (loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    assert (rc == 0); /* closed before it was forgotten */
    watch->forgotten = true;
    loop->by_fd[fd] = NULL;
    watch->next_dead = loop->dead;
    loop->dead = watch;
}

static void bury (struct loop *loop)
{
    while (loop->dead) {
        struct watch *watch = loop->dead;
        loop->dead = watch->next_dead;
        mem_free (watch);
    }
}

/* ---- signals ---- */

static void loop_on_signal (void *owner, int fd, uint32_t events)
{
    struct loop *loop = owner;
    struct signalfd_siginfo info;
    (void) events;
    for (int n = 0; n < SIGNALS_A_PASS && read (fd, &info, sizeof info) == (ssize_t) sizeof info; n++)
        loop->signal_fn (loop->signal_owner, (int) info.ssi_signo, (int64_t) info.ssi_pid,
                         info.ssi_code == SI_QUEUE ? info.ssi_int : 0);
}

/* The signals stay blocked when the loop is gone: a pending one would end the process while it cleans up. */
int loop_watch_signals (struct loop *loop, const int signals[], loop_signal_fn *fn, void *owner, struct err *err)
{
    assert (loop->signal_fd < 0 && fn);
    sigset_t set;
    sigemptyset (&set);
    for (const int *signal = signals; *signal; signal++)
        if (sigaddset (&set, *signal) != 0)
            return err_errno (err, ERR_IO, "signal %d cannot be caught: no such signal", *signal);
    int fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot create a descriptor for signals");
    loop->signal_fn = fn;
    loop->signal_owner = owner;
    if (loop_watch (loop, fd, EPOLLIN, loop_on_signal, loop, err) != 0) {
        close (fd);
        return -1;
    }
    int rc = pthread_sigmask (SIG_BLOCK, &set, NULL);
    assert (rc == 0);
    loop->signal_fd = fd;
    return 0;
}

/* ---- deadline ---- */

static void on_timer (void *owner, int fd, uint32_t events)
{
    struct loop *loop = owner;
    uint64_t expirations;
    (void) events;
    if (read (fd, &expirations, sizeof expirations) == (ssize_t) sizeof expirations)
        loop->deadline_ms = loop->armed_ms = UINT64_MAX;
}

static void arm (struct loop *loop)
{
    if (loop->deadline_ms == loop->armed_ms)
        return;
    struct itimerspec at = { 0 }; /* all zero: disarmed */
    if (loop->deadline_ms != UINT64_MAX) {
        at.it_value.tv_sec = (time_t) (loop->deadline_ms / 1000);
        at.it_value.tv_nsec = (long) (loop->deadline_ms % 1000) * 1000000;
        if (loop->deadline_ms == 0)
            at.it_value.tv_nsec = 1;
    }
    int rc = timerfd_settime (loop->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
    assert (rc == 0);
    loop->armed_ms = loop->deadline_ms;
}

void loop_set_deadline (struct loop *loop, uint64_t at_ms)
{
    loop->deadline_ms = at_ms;
}

/* ---- life ---- */

struct loop *loop_open (struct err *err)
{
    struct loop *loop = mem_alloc (sizeof *loop);
    loop->timer_fd = loop->signal_fd = -1;
    loop->deadline_ms = loop->armed_ms = UINT64_MAX;
    loop->epoll_fd = epoll_create1 (EPOLL_CLOEXEC);
    if (loop->epoll_fd < 0) {
        err_errno (err, ERR_IO, "cannot create an epoll descriptor");
        goto failed;
    }
    /* BOOTTIME, as clock_boot_ms: a deadline passes while the machine is suspended, too. */
    loop->timer_fd = timerfd_create (CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (loop->timer_fd < 0) {
        err_errno (err, ERR_IO, "cannot create a timer descriptor");
        goto failed;
    }
    if (loop_watch (loop, loop->timer_fd, EPOLLIN, on_timer, loop, err) != 0)
        goto failed;
    return loop;
failed:
    loop_close (loop);
    return NULL;
}

void loop_close (struct loop *loop)
{
    if (!loop)
        return;
    for (size_t fd = 0; fd < loop->by_fd_len; fd++)
        mem_free (loop->by_fd[fd]);
    bury (loop);
    mem_free (loop->by_fd);
    fd_close (loop->signal_fd);
    fd_close (loop->timer_fd);
    fd_close (loop->epoll_fd);
    mem_free (loop);
}

void loop_set_iteration_fn (struct loop *loop, loop_iteration_fn *fn, void *owner)
{
    loop->pass_fn = fn;
    loop->pass_owner = owner;
}

void loop_stop (struct loop *loop)
{
    loop->stop = true;
}

static int loop_pass (struct loop *loop, int wait_ms, struct err *err)
{
    struct epoll_event events[EVENTS_A_PASS];
    arm (loop);
    int n = epoll_wait (loop->epoll_fd, events, EVENTS_A_PASS, wait_ms);
    if (n < 0 && errno != EINTR)
        return err_errno (err, ERR_IO, "cannot wait for events (epoll)");
    for (int i = 0; i < n; i++) {
        struct watch *watch = events[i].data.ptr;
        if (!watch->forgotten)
            watch->fn (watch->owner, watch->fd, events[i].events);
    }
    bury (loop);
    if (loop->pass_fn)
        loop->pass_fn (loop->pass_owner);
    return 0;
}

/* The first pass does not wait: the owner sets its deadline and reads what edge-triggered descriptors announced. */
int loop_run (struct loop *loop, struct err *err)
{
    int rc = loop_pass (loop, 0, err);
    while (rc == 0 && !loop->stop)
        rc = loop_pass (loop, -1, err);
    loop->stop = false;
    return rc;
}

/* ---- work budgets ---- */

enum { US_A_SECOND = 1000 * 1000, BURST_US = 2 * US_A_SECOND };

struct work_budget work_budget_begin (uint32_t pieces, uint64_t ms)
{
    return (struct work_budget){ .pieces = pieces, .until_ms = clock_boot_ms () + ms };
}

bool work_budget_take (struct work_budget *budget)
{
    if (budget->pieces && clock_boot_ms () >= budget->until_ms)
        budget->pieces = 0;
    return budget->pieces && budget->pieces--;
}

/* Each piece advances `spent_us` by its part of a second; it is never before the present, nor far after it. */
bool rate_limit_take (struct rate_limit *limit, uint32_t a_second, uint64_t now_ms)
{
    uint64_t now_us = now_ms * 1000, piece_us = US_A_SECOND / a_second;
    uint64_t spent_us = limit->spent_us > now_us ? limit->spent_us : now_us;
    if (spent_us + piece_us > now_us + BURST_US)
        return false;
    limit->spent_us = spent_us + piece_us;
    return true;
}
