/* alone: process */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/buf.h"
#include "common/io/clock.h"
#include "worker/process/exec.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMEOUT_MS = 20000 };

/* All of it holds whatever keeps the processes together; a group of tests for each way that this machine has. */
static struct containment *contained;

/* One program: its output, and how it ended. */
struct bench {
    struct exec *exec;
    struct exec_end end;
    int output[2];
    struct buf said;
};

static void bench_open (struct bench *bench)
{
    *bench = (struct bench){ 0 };
    assert_int_equal (pipe2 (bench->output, O_CLOEXEC), 0);
    buf_init (&bench->said, 1 << 20);
}

static void bench_close (struct bench *bench)
{
    exec_destroy (bench->exec);
    close (bench->output[0]);
    if (bench->output[1] >= 0)
        close (bench->output[1]);
    buf_release (&bench->said);
}

static void start_shell (struct bench *bench, const char *script, int channel_fd)
{
    char *argv[] = { (char *) "sh", (char *) "-c", (char *) script, NULL };
    char *envp[] = { (char *) "PATH=/usr/bin:/bin", (char *) "MARK=yes", NULL };
    struct spawn_request request = { .program = "/bin/sh",
                                     .argv = argv,
                                     .envp = envp,
                                     .directory = "/tmp",
                                     .output_fd = bench->output[1],
                                     .channel_fd = channel_fd };
    struct err err = { 0 };
    bench->exec = exec_start (&request, &err);
    if (!bench->exec)
        fail_msg ("%s", err.text);
    close (bench->output[1]);
    bench->output[1] = -1;
}

/* True: the end of output was reached. */
static bool read_some (struct bench *bench, int wait_ms)
{
    struct pollfd entry = { .fd = bench->output[0], .events = POLLIN };
    assert_true (poll (&entry, 1, wait_ms) >= 0 || errno == EINTR);
    if (!entry.revents)
        return false;
    char bytes[4096];
    ssize_t got = read (bench->output[0], bytes, sizeof bytes);
    assert_true (got >= 0);
    buf_add (&bench->said, bytes, (size_t) got);
    return got == 0;
}

static void wait_for_word (struct bench *bench, const char *word)
{
    uint64_t until_ms = clock_boot_ms () + TIMEOUT_MS;
    while (!text_find (buf_as_text (&bench->said), text_of (word), NULL)) {
        if (clock_boot_ms () > until_ms)
            fail_msg ("'%s' was never said", word);
        read_some (bench, 100);
    }
}

static void wait_until_gone (struct bench *bench)
{
    sigset_t child;
    sigemptyset (&child);
    sigaddset (&child, SIGCHLD);
    uint64_t until_ms = clock_boot_ms () + TIMEOUT_MS;
    for (;;) {
        exec_poll (bench->exec, clock_boot_ms ());
        if (exec_all_gone (bench->exec, &bench->end))
            return;
        assert_true (clock_boot_ms () < until_ms);
        const struct timespec slice = { 0, 20 * 1000 * 1000 };
        (void) sigtimedwait (&child, NULL, &slice);
    }
}

static void finish (struct bench *bench)
{
    wait_until_gone (bench);
    while (!read_some (bench, TIMEOUT_MS))
        ;
}

static void says (struct bench *bench, const char *what)
{
    if (!text_find (buf_as_text (&bench->said), text_of (what), NULL))
        fail_msg ("expected '%s' in: %s", what, buf_c (&bench->said));
}

/* But for the first process of the pid namespace, which stays for the next program. */
static bool no_child_is_left (void)
{
    pid_t got = waitpid (-1, NULL, WNOHANG);
    return containment_adopts_orphans (contained) ? got == 0 : got < 0 && errno == ECHILD;
}

static bool has_ended (pid_t pid)
{
    return kill (pid, 0) < 0 && errno == ESRCH;
}

/* ---- starting ---- */

static void exit_status_and_output_are_known (void **state)
{
    struct bench *b = *state;
    start_shell (b, "echo out; echo err >&2; exit 7", -1);
    finish (b);
    assert_true (WIFEXITED (b->end.status) && WEXITSTATUS (b->end.status) == 7);
    says (b, "out\n");
    says (b, "err\n");
    assert_int_equal (b->end.strays, 0);
    assert_true (b->end.peak_bytes > 100 * 1024);
}

static void a_signal_that_killed_it_is_known (void **state)
{
    struct bench *b = *state;
    start_shell (b, "kill -SEGV $$", -1);
    finish (b);
    assert_true (WIFSIGNALED (b->end.status) && WTERMSIG (b->end.status) == SIGSEGV);
}

static void surroundings_are_what_was_ordered (void **state)
{
    struct bench *b = *state;
    start_shell (b,
                 "pwd; env; cat; umask; ulimit -c; echo; grep -E 'NoNewPrivs|SigBlk|SigIgn' /proc/self/status;"
                 "test $(ps -o sid= -p $$) = $$ && echo own session",
                 -1);
    finish (b);
    says (b, "/tmp\n");
    says (b, "MARK=yes\n");
    says (b, "0022\n0\n");
    says (b, "NoNewPrivs:\t1\n");
    says (b, "SigBlk:\t0000000000000000\n");
    says (b, "SigIgn:\t0000000000000000\n");
    says (b, "own session\n");
    assert_false (text_find (buf_as_text (&b->said), TEXT_LIT ("HOME="), NULL));
}

/* Not through a pipe, whose ends the shell itself still holds while `ls` looks; and never as the last command,
 * which a shell may become, the folder that `ls` reads with it. */
#define LIST_DESCRIPTORS "ls /proc/$$/fd; "

static void only_its_own_descriptors_are_open (void **state)
{
    struct bench *b = *state;
    int pair[2], leaked = open ("/dev/null", O_RDONLY); /* without close-on-exec, on purpose */
    assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    start_shell (b, LIST_DESCRIPTORS "echo over >&3", pair[1]);
    finish (b);
    close (pair[1]);
    says (b, "0\n1\n2\n3\n");
    assert_int_equal (b->said.len, strlen ("0\n1\n2\n3\n"));
    char word[8] = { 0 };
    assert_int_equal (read (pair[0], word, sizeof word - 1), 5);
    assert_string_equal (word, "over\n");
    assert_int_equal (read (pair[0], word, 1), 0); /* nobody else holds the other end */
    close (pair[0]);
    close (leaked);
}

static void without_a_channel_there_is_no_third_descriptor (void **state)
{
    struct bench *b = *state;
    start_shell (b, LIST_DESCRIPTORS ":", -1);
    finish (b);
    says (b, "0\n1\n2\n");
    assert_int_equal (b->said.len, strlen ("0\n1\n2\n"));
}

static void what_cannot_start_says_why (void **state)
{
    struct bench *b = *state;
    static const struct {
        const char *program, *directory, *why;
    } rows[] = {
        { "/nowhere/program", "/tmp", "executing it: No such file" },
        { "/etc/passwd", "/tmp", "executing it: Permission denied" },
        { "/bin/sh", "/nowhere", "entering the directory /nowhere: No such file" },
    };
    char *argv[] = { (char *) "x", NULL }, *envp[] = { NULL };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = { 0 };
        struct spawn_request request = { .program = rows[i].program,
                                         .argv = argv,
                                         .envp = envp,
                                         .channel_fd = -1,
                                         .directory = rows[i].directory,
                                         .output_fd = b->output[1] };
        assert_null (exec_start (&request, &err));
        if (!strstr (err.text, rows[i].why))
            fail_msg ("expected '%s' in '%s'", rows[i].why, err.text);
        assert_true (no_child_is_left ());
    }
}

/* ---- what outlives the program ---- */

static mode_t mask_of_files (void)
{
    mode_t mask = umask (0);
    umask (mask);
    return mask;
}

/* A program begins in the memory of this process, and with other signals, limits and places than ours. */
static void this_process_stays_as_it_was (void **state)
{
    struct bench *b = *state;
    char before[PATH_MAX], after[PATH_MAX];
    sigset_t blocked;
    struct rlimit core;
    mode_t mask = umask (027);
    pid_t session = getsid (0);
    int dumpable = prctl (PR_GET_DUMPABLE), no_new_rights = prctl (PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    assert_non_null (getcwd (before, sizeof before));
    start_shell (b, "exit 0", -1);
    finish (b);
    assert_non_null (getcwd (after, sizeof after));
    assert_string_equal (after, before);
    assert_int_equal (mask_of_files (), 027);
    umask (mask);
    assert_int_equal (sigprocmask (SIG_BLOCK, NULL, &blocked), 0);
    assert_true (sigismember (&blocked, SIGCHLD) && !sigismember (&blocked, SIGTERM));
    assert_true (signal (SIGPIPE, SIG_IGN) == SIG_IGN);
    assert_true (getrlimit (RLIMIT_CORE, &core) == 0 && core.rlim_cur == core.rlim_max);
    assert_true (prctl (PR_GET_DUMPABLE) == dumpable && getsid (0) == session);
    assert_int_equal (prctl (PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), no_new_rights);
}

static void what_it_left_running_is_killed_and_counted (void **state)
{
    struct bench *b = *state;
    start_shell (b, "sleep 1000 & sleep 1000 & exit 0", -1);
    finish (b); /* reaches the end of output: nobody holds the pipe */
    assert_int_equal (b->end.status, 0);
    assert_int_equal (b->end.strays, 2);
}

static void escapees_into_other_sessions_are_killed_and_counted (void **state)
{
    struct bench *b = *state;
    start_shell (b,
                 "trap '' INT TERM HUP;"
                 "(setsid sh -c 'trap \"\" INT TERM HUP; setsid sleep 1000 & sleep 1000' &); exit 3",
                 -1);
    finish (b);
    assert_int_equal (b->end.unkillable, 0);
    assert_true (WEXITSTATUS (b->end.status) == 3);
    assert_true (b->end.strays >= 1 && b->end.strays <= 4);
    assert_true (no_child_is_left ());
}

#define FILLS_MEMORY "x=$(head -c 40000000 /dev/zero | tr '\\0' a); echo ready; "

static void memory_is_known_however_it_ended (void **state)
{
    (void) state;
    static const struct {
        const char *script;
        bool hard;
    } rows[] = {
        { FILLS_MEMORY "exit 0", false },
        { FILLS_MEMORY "trap '' INT TERM; while :; do sleep 0.01; done", true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bench b;
        bench_open (&b);
        start_shell (&b, rows[i].script, -1);
        wait_for_word (&b, "ready");
        if (rows[i].hard)
            exec_stop (b.exec, true, 200, clock_boot_ms ());
        wait_until_gone (&b);
        assert_true (b.end.peak_bytes > 40000000 && b.end.peak_bytes < 1000000000);
        bench_close (&b);
    }
}

static void children_that_ended_by_themselves_are_no_strays (void **state)
{
    struct bench *b = *state;
    start_shell (b, "(sh -c 'exit 4' &) | cat; exit 0", -1); /* cat ends when the orphan has */
    siginfo_t info;
    assert_int_equal (waitid (P_PID, (id_t) exec_pid (b->exec), &info, WEXITED | WNOWAIT), 0);
    finish (b); /* collects the program first, then the orphan */
    assert_int_equal (b->end.strays, 0);
}

static void the_program_dies_with_this_process (void **state)
{
    struct bench *b = *state;
    pid_t middle = fork ();
    if (middle == 0) {
        setenv ("CMOCKA_TEST_ABORT", "1", 1); /* a failure there must not go on with the other tests */
        start_shell (b, "trap '' INT TERM HUP; echo $$; while :; do sleep 1000; done", -1);
        pause ();
        _exit (0);
    }
    close (b->output[1]);
    b->output[1] = -1;
    wait_for_word (b, "\n");
    pid_t program = (pid_t) atol (buf_c (&b->said));
    assert_true (program > 1 && !has_ended (program));
    kill (middle, SIGKILL);
    assert_int_equal (waitpid (middle, NULL, 0), middle);
    uint64_t until_ms = clock_boot_ms () + TIMEOUT_MS;
    while (!has_ended (program)) { /* it and its `sleep` become our children, since we adopt orphans */
        assert_true (clock_boot_ms () < until_ms);
        (void) waitpid (-1, NULL, WNOHANG);
    }
    kill (-program, SIGKILL); /* its `sleep` has no parent-death signal of its own */
    while (waitpid (-1, NULL, 0) > 0)
        ;
}

/* ---- stopping ---- */

struct stop_row {
    const char *what, *script;
    bool hard;
    int signal_number; /* that ended it; 0: it exited with `code` */
    int code;
    uint64_t least_ms; /* how long politeness must have lasted */
};

static const struct stop_row stop_rows[] = {
    { "unwinds on SIGINT", "trap 'exit 9' INT; echo ready; while :; do sleep 0.01; done", false, 0, 9, 0 },
    { "ignores SIGINT", "trap '' INT; trap 'exit 8' TERM; echo ready; while :; do sleep 0.01; done", false, 0, 8, 200 },
    { "ignores all", "trap '' INT TERM HUP; echo ready; while :; do sleep 0.01; done", false, SIGKILL, 0, 400 },
    { "is stopped", "trap '' INT; echo ready; kill -STOP $$", false, SIGTERM, 0, 200 },
    { "hard", "trap 'exit 9' INT; trap 'exit 8' TERM; echo ready; while :; do sleep 0.01; done", true, SIGKILL, 0, 0 },
};

static void stopping_is_polite_then_certain (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof stop_rows / sizeof stop_rows[0]; i++) {
        const struct stop_row *row = &stop_rows[i];
        struct bench b;
        bench_open (&b);
        start_shell (&b, row->script, -1);
        wait_for_word (&b, "ready");
        uint64_t began_ms = clock_boot_ms ();
        exec_stop (b.exec, row->hard, 200, began_ms);
        wait_until_gone (&b);
        uint64_t took_ms = clock_boot_ms () - began_ms;
        int status = b.end.status;
        bool right = row->signal_number ? WIFSIGNALED (status) && WTERMSIG (status) == row->signal_number
                                        : WIFEXITED (status) && WEXITSTATUS (status) == row->code;
        if (!right || took_ms < row->least_ms)
            fail_msg ("%s: status %x after %lu ms", row->what, (unsigned) status, (unsigned long) took_ms);
        bench_close (&b);
    }
}

static void hard_overtakes_polite (void **state)
{
    struct bench *b = *state;
    start_shell (b, "trap '' INT TERM; echo ready; while :; do sleep 0.01; done", -1);
    wait_for_word (b, "ready");
    uint64_t began_ms = clock_boot_ms ();
    exec_stop (b->exec, false, 3600 * 1000, began_ms);
    assert_true (exec_deadline_ms (b->exec) == began_ms + 3600 * 1000);
    exec_stop (b->exec, true, 3600 * 1000, began_ms);
    wait_until_gone (b);
    assert_int_equal (WTERMSIG (b->end.status), SIGKILL);
}

static int setup (void **state)
{
    struct bench *bench = mem_alloc (sizeof *bench);
    bench_open (bench);
    *state = bench;
    return 0;
}

static int teardown (void **state)
{
    bench_close (*state);
    mem_free (*state);
    return 0;
}

static int group_setup (void **state)
{
    (void) state;
    sigset_t child;
    sigemptyset (&child);
    sigaddset (&child, SIGCHLD);
    struct rlimit core;
    assert_int_equal (getrlimit (RLIMIT_CORE, &core), 0);
    core.rlim_cur = core.rlim_max; /* so that the program's own limit is seen */
    assert_int_equal (setrlimit (RLIMIT_CORE, &core), 0);
    signal (SIGPIPE, SIG_IGN); /* as the worker does: the program must not inherit it */
    return sigprocmask (SIG_BLOCK, &child, NULL) || exec_adopt_orphans (NULL);
}

#define T(name) cmocka_unit_test_setup_teardown (name, setup, teardown)

static int run_contained (enum containment_level level, const char *directory)
{
    const struct CMUnitTest tests[] = {
        T (exit_status_and_output_are_known),
        T (a_signal_that_killed_it_is_known),
        T (surroundings_are_what_was_ordered),
        T (only_its_own_descriptors_are_open),
        T (without_a_channel_there_is_no_third_descriptor),
        T (what_cannot_start_says_why),
        T (this_process_stays_as_it_was),
        T (what_it_left_running_is_killed_and_counted),
        T (escapees_into_other_sessions_are_killed_and_counted),
        T (children_that_ended_by_themselves_are_no_strays),
        T (memory_is_known_however_it_ended),
        T (stopping_is_polite_then_certain),
        T (hard_overtakes_polite),
    };
    const struct log log = { .to = stderr, .program = "test_exec" };
    contained = containment_choose (level, directory, &log);
    int failed = 0;
    if (containment_level (contained) == level) {
        exec_set_containment (contained);
        failed = _cmocka_run_group_tests (containment_name (level), tests, sizeof tests / sizeof tests[0], group_setup,
                                          NULL);
        exec_set_containment (NULL);
    }
    containment_close (contained);
    contained = NULL;
    return failed;
}

int main (void)
{
    const struct CMUnitTest alone[] = {
        T (the_program_dies_with_this_process),
    };
    char directory[] = "/tmp/test_exec.XXXXXX";
    int failed = cmocka_run_group_tests (alone, group_setup, NULL);
    if (!mkdtemp (directory))
        return 1;
    for (enum containment_level level = CONTAINMENT_SUBREAPER; level <= CONTAINMENT_PID_NAMESPACE; level++)
        failed += run_contained (level, directory);
    return rmdir (directory) || failed;
}
