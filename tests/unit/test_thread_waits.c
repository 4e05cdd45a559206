/* alone: process */
#include "common/io/clock.h"
#include "test.h"
#include "worker/process/exec.h"
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { THREADS_N = 12, WAIT_MS = 10 * 1000 };

#define STATUS(state)                                                                                                  \
    "Name:\tpython3\nUmask:\t0022\nState:\t" state "\nTgid:\t22493\nPid:\t22493\nNSpid:\t22493\t7\n"                   \
    "SigCgt:\t0000000000000200\n"

TEST (the_texts_of_proc_become_words)
{
    static const struct {
        const char *status, *syscall, *wchan, *place;
    } cases[] = {
        { STATUS ("S (sleeping)"), "FUTEX 0x7ffc 0x80\n", "futex_do_wait", "sleeping in futex (futex_do_wait)" },
        { STATUS ("S (sleeping)"), "FUTEX 0x7ffc 0x80\n", "0", "sleeping in futex" },
        { STATUS ("R (running)"), "running\n", "0", "running" },
        { STATUS ("D (disk sleep)"), "", "", "waiting uninterruptibly" },
        { STATUS ("T (stopped)"), "-1 0x7ffc 0x80\n", "do_signal_stop", "stopped (do_signal_stop)" },
        { STATUS ("S (sleeping)"), "9999 0x1\n", "\x1b[31m", "sleeping in system call 9999 (\\x1b[31m)" },
        { "", "", "", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct thread_state found;
        char call[64];
        const char *rest = strstr (cases[i].syscall, "FUTEX ");
        snprintf (call, sizeof call, "%d %s", SYS_futex, rest ? rest + 6 : "");
        thread_state_read (text_of (cases[i].status), text_of (rest ? call : cases[i].syscall),
                           text_of (cases[i].wchan), &found);
        assert_string_equal (found.place, cases[i].place);
        assert_int_equal (found.pid, cases[i].status[0] ? 7 : 0);
        assert_true (found.caught == (cases[i].status[0] ? 1ull << (SIGUSR1 - 1) : 0));
    }
}

TEST (what_is_no_text_of_proc_is_bounded)
{
    struct thread_state found;
    char many[4096];
    memset (many, 'x', sizeof many);
    memcpy (many, "Name:\t", 6);
    thread_state_read ((struct text){ many, sizeof many }, (struct text){ many, sizeof many },
                       (struct text){ many, sizeof many }, &found);
    assert_true (strlen (found.name) < sizeof found.name && strlen (found.place) < sizeof found.place);
    thread_state_read (TEXT_LIT ("NSpid:\t7\t99999999999\nSigCgt:\tzz\n"), TEXT_LIT ("18446744073709551615 0"),
                       (struct text){ 0 }, &found);
    assert_true (found.pid == 0 && found.caught == 0);
}

/* ---- a real process ---- */

static void *sleep_for_ever (void *nothing)
{
    for (;;)
        (void) poll (NULL, 0, 1000 * 1000);
    return nothing;
}

static void handle (int signal_number)
{
    (void) signal_number;
}

static _Noreturn void play (int ready_fd, bool catches)
{
    pthread_t thread;
    if (catches)
        (void) signal (SIGUSR1, handle);
    for (int i = 0; i < THREADS_N; i++)
        if (pthread_create (&thread, NULL, sleep_for_ever, NULL) != 0)
            _exit (1);
    if (fork () == 0) {
        (void) prctl (PR_SET_PDEATHSIG, SIGKILL);
        (void) sleep_for_ever (NULL);
    }
    if (write (ready_fd, "x", 1) != 1)
        _exit (1);
    for (;;)
        (void) pause ();
}

static pid_t start (bool catches)
{
    int ready[2];
    char byte;
    assert_int_equal (pipe (ready), 0);
    pid_t pid = fork ();
    assert_true (pid >= 0);
    if (pid == 0) {
        (void) prctl (PR_SET_PDEATHSIG, SIGKILL);
        (void) setsid ();
        play (ready[1], catches);
    }
    assert_int_equal (read (ready[0], &byte, 1), 1);
    close (ready[0]);
    close (ready[1]);
    return pid;
}

static bool lists (pid_t pid, const char *words)
{
    struct buf out;
    buf_init (&out, 1 << 16);
    assert_int_equal (thread_waits_print (pid, 0, 0, clock_boot_ms () + WAIT_MS, &out), 0);
    bool found = text_find (buf_as_text (&out), text_of (words), NULL);
    buf_release (&out);
    return found;
}

static void end (pid_t pid)
{
    assert_int_equal (kill (-pid, SIGKILL), 0);
    assert_int_equal (waitpid (pid, NULL, 0), pid);
}

/* Threads that were just made may still be on their way into their wait. */
TEST (equal_threads_are_one_line_and_children_are_looked_at)
{
    uint64_t until_ms = clock_boot_ms () + WAIT_MS;
    pid_t pid = start (false);
    while (!(lists (pid, ": 12 threads sleeping in ") && lists (pid, "main thread sleeping in ") &&
             lists (pid, " poll ")) &&
           clock_boot_ms () < until_ms)
        (void) poll (NULL, 0, 10);
    assert_true (lists (pid, "unit_test_threa: 12 threads sleeping in "));
    assert_true (lists (pid, "main thread sleeping in "));
    assert_false (lists (pid, "not listed"));
    assert_int_equal (kill (pid, SIGSTOP), 0);
    while (!lists (pid, "main thread stopped") && clock_boot_ms () < until_ms)
        (void) poll (NULL, 0, 10);
    assert_true (lists (pid, "main thread stopped"));
    end (pid);
}

TEST (only_who_has_a_handler_is_found)
{
    struct buf *out = test_buf (t);
    pid_t catches = start (true), dies = start (false);
    uint64_t until_ms = clock_boot_ms () + WAIT_MS;
    assert_int_equal (thread_waits_print (catches, (uint32_t) catches, SIGUSR1, until_ms, out), catches);
    assert_int_equal (thread_waits_print (catches, (uint32_t) catches, SIGUSR2, until_ms, out), 0);
    assert_int_equal (thread_waits_print (catches, (uint32_t) dies, SIGUSR1, until_ms, out), 0);
    assert_int_equal (thread_waits_print (catches, (uint32_t) catches, 4000, until_ms, out), 0);
    assert_int_equal (thread_waits_print (dies, (uint32_t) dies, SIGUSR1, until_ms, out), 0);
    assert_int_equal (thread_waits_print (getpid (), (uint32_t) catches, SIGUSR1, until_ms, out), catches);
    end (catches);
    end (dies);
}

TEST (it_stops_when_time_is_over)
{
    struct buf *out = test_buf (t);
    pid_t pid = start (false);
    assert_int_equal (thread_waits_print (pid, 0, 0, clock_boot_ms (), out), 0);
    assert_text (out, "more threads or processes are not listed\n");
    end (pid);
}

TEST (a_process_that_is_gone_has_no_line)
{
    struct buf *out = test_buf (t);
    assert_int_equal (thread_waits_print (0x7fffffff, 1, SIGUSR1, clock_boot_ms () + WAIT_MS, out), 0);
    assert_int_equal (out->len, 0);
}
