/* alone: io */
#include <sys/epoll.h>

#include "common/io/clock.h"
#include "common/io/loop.h"
#include "test.h"

enum { LATE_MS = 20000 }; /* a pass this late means that something was missed */

struct lab {
    struct loop *loop;
    int pipes[3][2];
    int calls, passes, passes_wanted;
    int last_signal;
    int64_t last_pid;
    int last_value;
    int forget_fd;
    uint64_t deadline_ms;
    char order[16];
};

static void lab_open (struct lab *lab)
{
    struct err err;
    memset (lab, 0, sizeof *lab);
    lab->loop = loop_open (&err);
    assert_non_null (lab->loop);
    for (int i = 0; i < 3; i++)
        assert_int_equal (pipe2 (lab->pipes[i], O_CLOEXEC | O_NONBLOCK), 0);
    lab->forget_fd = -1;
    lab->deadline_ms = clock_boot_ms () + LATE_MS;
}

static void lab_close (struct lab *lab)
{
    loop_close (lab->loop);
    for (int i = 0; i < 3; i++) {
        close (lab->pipes[i][0]);
        close (lab->pipes[i][1]);
    }
}

TEST_FIXTURE (struct lab, lab_open, lab_close)

static void say (struct lab *lab, int which)
{
    assert_int_equal (write (lab->pipes[which][1], "x", 1), 1);
}

static void run (struct lab *lab)
{
    struct err err = { 0 };
    if (loop_run (lab->loop, &err) != 0)
        fail_msg ("%s", err.text);
}

/* Stops when enough happened; fails when it took too long. */
static void on_pass (void *owner)
{
    struct lab *lab = owner;
    lab->passes++;
    assert_true (clock_boot_ms () < lab->deadline_ms);
    loop_set_deadline (lab->loop, lab->deadline_ms);
    if (lab->calls >= lab->passes_wanted)
        loop_stop (lab->loop);
}

static void on_bytes (void *owner, int fd, uint32_t events)
{
    struct lab *lab = owner;
    char byte;
    assert_true (events & (EPOLLIN | EPOLLHUP));
    if (read (fd, &byte, 1) == 1)
        lab->calls++;
}

static void watch (struct lab *lab, int which, loop_fd_fn *fn)
{
    struct err err = { 0 };
    assert_int_equal (loop_watch (lab->loop, lab->pipes[which][0], EPOLLIN, fn, lab, &err), 0);
}

/* ---- descriptors ---- */

TEST_ON (lab, what_is_ready_is_called)
{
    watch (lab, 0, on_bytes);
    watch (lab, 1, on_bytes);
    say (lab, 0);
    say (lab, 1);
    say (lab, 1);
    lab->passes_wanted = 3;
    loop_set_iteration_fn (lab->loop, on_pass, lab);
    run (lab);
    assert_int_equal (lab->calls, 3);
}

TEST_ON (lab, only_the_wanted_events_are_told)
{
    watch (lab, 0, on_bytes);
    watch (lab, 1, on_bytes);
    assert_int_equal (loop_change (lab->loop, lab->pipes[0][0], 0, &t->err), 0);
    say (lab, 0);
    say (lab, 1);
    lab->passes_wanted = 1;
    loop_set_iteration_fn (lab->loop, on_pass, lab);
    run (lab);
    assert_int_equal (lab->calls, 1);
    assert_int_equal (loop_change (lab->loop, lab->pipes[0][0], EPOLLIN, &t->err), 0);
    lab->passes_wanted = 2;
    run (lab);
    assert_int_equal (lab->calls, 2);
}

/* Both ends of a pair forget each other: whoever is called first takes the event of the other away. */
static void on_forget_others (void *owner, int fd, uint32_t events)
{
    struct lab *lab = owner;
    on_bytes (owner, fd, events);
    for (int i = 0; i < 2; i++)
        loop_forget (lab->loop, lab->pipes[i][0]);
}

TEST_ON (lab, a_forgotten_descriptor_is_not_called_in_the_same_pass)
{
    watch (lab, 0, on_forget_others);
    watch (lab, 1, on_forget_others);
    say (lab, 0);
    say (lab, 1);
    lab->passes_wanted = 1;
    loop_set_iteration_fn (lab->loop, on_pass, lab);
    run (lab);
    assert_int_equal (lab->calls, 1);
}

/* The number is used again at once; the event of the old descriptor must not reach the new one. */
static void on_replace_other (void *owner, int fd, uint32_t events)
{
    struct lab *lab = owner;
    struct err err;
    int other = lab->pipes[0][0] == fd ? 1 : 0, old = lab->pipes[other][0], fresh[2];
    on_bytes (owner, fd, events);
    loop_forget (lab->loop, fd);
    loop_forget (lab->loop, old);
    close (old);
    close (lab->pipes[other][1]);
    assert_int_equal (pipe2 (fresh, O_CLOEXEC | O_NONBLOCK), 0);
    memcpy (lab->pipes[other], fresh, sizeof fresh);
    assert_true (fresh[0] == old || fresh[1] == old);
    lab->forget_fd = fresh[0];
    assert_int_equal (loop_watch (lab->loop, fresh[0], EPOLLIN, on_replace_other, lab, &err), 0);
}

TEST_ON (lab, an_event_of_a_closed_descriptor_does_not_reach_its_successor)
{
    watch (lab, 0, on_replace_other);
    watch (lab, 1, on_replace_other);
    say (lab, 0);
    say (lab, 1);
    lab->passes_wanted = 1;
    loop_set_iteration_fn (lab->loop, on_pass, lab);
    run (lab);
    assert_int_equal (lab->calls, 1);
    loop_forget (lab->loop, lab->forget_fd);
}

static void on_watch_next (void *owner, int fd, uint32_t events)
{
    struct lab *lab = owner;
    on_bytes (owner, fd, events);
    loop_forget (lab->loop, fd);
    watch (lab, 1, on_bytes);
    say (lab, 1);
}

TEST_ON (lab, a_callback_may_watch_and_forget)
{
    watch (lab, 0, on_watch_next);
    say (lab, 0);
    lab->passes_wanted = 2;
    loop_set_iteration_fn (lab->loop, on_pass, lab);
    run (lab);
    assert_int_equal (lab->calls, 2);
}

TEST_ON (lab, a_regular_file_is_refused_with_a_reason)
{
    int fd = open ("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true (fd >= 0);
    assert_int_equal (loop_watch (lab->loop, fd, EPOLLIN, on_bytes, lab, &t->err), -1);
    assert_int_equal (t->err.code, ERR_IO);
    loop_forget (lab->loop, fd); /* it is not watched: nothing happens */
    close (fd);
}

/* ---- deadlines ---- */

struct timing {
    struct loop *loop;
    uint64_t wanted_ms;
    int passes, passes_wanted;
};

static void on_timing (void *owner)
{
    struct timing *timing = owner;
    timing->passes++;
    if (timing->passes == timing->passes_wanted)
        loop_stop (timing->loop);
    else
        loop_set_deadline (timing->loop, timing->wanted_ms);
}

TEST_ON (lab, a_deadline_ends_the_wait_and_not_before)
{
    struct timing timing = { .loop = lab->loop, .wanted_ms = clock_boot_ms () + 60, .passes_wanted = 2 };
    loop_set_iteration_fn (lab->loop, on_timing, &timing);
    run (lab);
    assert_int_equal (timing.passes, 2);
    assert_true (clock_boot_ms () >= timing.wanted_ms);
}

TEST_ON (lab, a_deadline_in_the_past_is_now_each_time_it_is_set)
{
    const uint64_t pasts_ms[] = { 0, 1, 999, clock_boot_ms () };
    for (size_t i = 0; i < sizeof pasts_ms / sizeof pasts_ms[0]; i++) {
        struct timing timing = { .loop = lab->loop, .wanted_ms = pasts_ms[i], .passes_wanted = 5 };
        loop_set_iteration_fn (lab->loop, on_timing, &timing);
        run (lab);
        assert_int_equal (timing.passes, 5);
    }
}

static void on_no_deadline (void *owner)
{
    struct lab *lab = owner;
    if (lab->passes++ == 0) {
        loop_set_deadline (lab->loop, 0);
        loop_set_deadline (lab->loop, UINT64_MAX); /* taken back */
        say (lab, 0);
        return;
    }
    loop_stop (lab->loop);
}

TEST_ON (lab, a_deadline_taken_back_does_not_wake)
{
    watch (lab, 0, on_bytes);
    loop_set_iteration_fn (lab->loop, on_no_deadline, lab);
    run (lab);
    assert_int_equal (lab->calls, 1); /* woken by the pipe alone */
}

TEST_ON (lab, the_first_pass_does_not_wait)
{
    lab->passes_wanted = 0;
    loop_set_iteration_fn (lab->loop, on_pass, lab);
    run (lab);
    assert_int_equal (lab->passes, 1);
}

/* ---- signals ---- */

static void on_signal (void *owner, int signal, int64_t pid, int value)
{
    struct lab *lab = owner;
    lab->calls++;
    lab->last_signal = signal;
    lab->last_pid = pid;
    lab->last_value = value;
}

TEST_ON (lab, signals_arrive_with_their_sender)
{
    struct err err = { 0 };
    const int signals[] = { SIGUSR1, SIGCHLD, 0 };
    assert_int_equal (loop_watch_signals (lab->loop, signals, on_signal, lab, &err), 0);
    assert_int_equal (kill (getpid (), SIGUSR1), 0);
    lab->passes_wanted = 1;
    loop_set_iteration_fn (lab->loop, on_pass, lab);
    run (lab);
    assert_int_equal (lab->last_signal, SIGUSR1);
    assert_int_equal (lab->last_pid, getpid ());
    assert_int_equal (lab->last_value, 0);
    assert_int_equal (sigqueue (getpid (), SIGUSR1, (union sigval){ .sival_int = 2 }), 0);
    lab->passes_wanted = 2;
    run (lab);
    assert_int_equal (lab->last_value, 2);
    pid_t child = fork ();
    if (child == 0)
        _exit (0);
    lab->passes_wanted = 3;
    run (lab);
    assert_int_equal (lab->last_signal, SIGCHLD);
    assert_int_equal (lab->last_pid, child);
    assert_int_equal (waitpid (child, NULL, 0), child);
}

/* ---- clocks ---- */

TEST_ON (lab, clocks_agree_and_do_not_go_back)
{
    uint64_t last_ns = clock_boot_ns ();
    for (int i = 0; i < 1000; i++) {
        uint64_t now_ns = clock_boot_ns ();
        assert_true (now_ns >= last_ns);
        last_ns = now_ns;
    }
    assert_in_range (clock_boot_ms (), last_ns / 1000000, last_ns / 1000000 + LATE_MS);
    assert_true (clock_wall_ms () > 1577836800000u); /* 2020 */
}
