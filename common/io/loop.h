/* loop.h - one thread's event loop: descriptors, signals, one deadline. epoll, signalfd and timerfd behind it.
 *
 * Callbacks run on the thread that calls loop_run. A callback may add and remove watches, its own too. */
#ifndef SLICEUP_COMMON_IO_LOOP_H
#define SLICEUP_COMMON_IO_LOOP_H

#include "common/base/err.h"
#include <stdbool.h>
#include <stdint.h>

struct loop;
typedef void loop_fd_fn (void *owner, int fd, uint32_t events); /* EPOLLIN, EPOLLOUT, ... */
/* pid: sender, or child for SIGCHLD (may merge); value: what the sender queued with it, else 0. */
typedef void loop_signal_fn (void *owner, int signal, int64_t pid, int value);
typedef void loop_iteration_fn (void *owner);

struct loop *loop_open (struct err *err);
void loop_close (struct loop *loop);
int loop_watch (struct loop *loop, int fd, uint32_t events, loop_fd_fn *fn, void *owner, struct err *err);
int loop_change (struct loop *loop, int fd, uint32_t events, struct err *err);
void loop_forget (struct loop *loop, int fd); /* always call it before close (fd) */
/* Blocks `signals` (0-terminated) in this thread and delivers them here. Call before any other thread starts. */
int loop_watch_signals (struct loop *loop, const int signals[], loop_signal_fn *fn, void *owner, struct err *err);
/* Called at the end of every pass; it must set the next deadline with loop_set_deadline. */
void loop_set_iteration_fn (struct loop *loop, loop_iteration_fn *fn, void *owner);
/* BOOTTIME ms at which the next pass happens at the latest; UINT64_MAX: none. A deadline in the past: at once. */
void loop_set_deadline (struct loop *loop, uint64_t at_ms);
void loop_stop (struct loop *loop); /* loop_run returns after this pass */
int loop_run (struct loop *loop, struct err *err);

/* ---- how much of a pass a reader takes ---- */

/* Limits how much a reader takes at a time, so that a peer that sends without end does not delay
 * others.
 *
 * A work budget is one reader's part of one pass of the loop: a number of pieces and a time. The rest is read in the
 * next pass, which follows at once; in between, timers, signals and other readers have their turn. A rate limit is how
 * much one sender may send over time. Pure, but for work_budget_take's look at the clock. */

struct work_budget {
    uint32_t pieces;
    uint64_t until_ms;
};
struct work_budget work_budget_begin (uint32_t pieces, uint64_t ms); /* from now on */
bool work_budget_take (struct work_budget *budget);                  /* takes one more piece; false: used up */

/* `a_second` pieces a second, at most two seconds' worth at once. {0}: never used. */
struct rate_limit {
    uint64_t spent_us;
};
bool rate_limit_take (struct rate_limit *limit, uint32_t a_second, uint64_t now_ms); /* false: too many */

#endif
