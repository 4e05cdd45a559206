/* alone: io */
/* What a process may not have is said before it is needed, and after a library gave up for want of it. */
#include "common/io/process_capacity.h"
#include "common/io/program_start.h"
#include "test.h"
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

struct said {
    int status;
    char text[1024];
};

/* The system's table of open files: the linker takes this before libc's. */
static bool table_is_full;

int eventfd (unsigned count, int flags)
{
    if (!table_is_full)
        return (int) syscall (SYS_eventfd2, count, flags);
    errno = ENFILE;
    return -1;
}

static void limit (int what, rlim_t soft, rlim_t hard)
{
    struct rlimit limit = { .rlim_cur = soft, .rlim_max = hard };
    if (setrlimit ((__rlimit_resource_t) what, &limit) != 0)
        _exit (9);
}

/* What a child of ours ended with, and what it said on standard error. */
static struct said child (void (*act) (void))
{
    int ends[2];
    struct said said = { 0 };
    assert_int_equal (pipe (ends), 0);
    pid_t pid = fork ();
    assert_true (pid >= 0);
    if (pid == 0) {
        dup2 (ends[1], STDERR_FILENO);
        close (ends[0]);
        close (ends[1]);
        act ();
        _exit (0);
    }
    close (ends[1]);
    for (size_t len = 0; len < sizeof said.text - 1;) {
        ssize_t n = read (ends[0], said.text + len, sizeof said.text - 1 - len);
        if (n <= 0)
            break;
        len += (size_t) n;
    }
    close (ends[0]);
    assert_int_equal (waitpid (pid, &said.status, 0), pid);
    return said;
}

static void check (const struct capacity_needs *needs)
{
    struct err err = { 0 };
    if (process_capacity_check ("this test", needs, &err) == 0)
        _exit (0);
    dprintf (STDERR_FILENO, "%s", err.text);
    _exit (err.code == ERR_LIMIT ? 3 : 4);
}

static void expect (const struct said *said, int status, const char *words)
{
    if (!WIFEXITED (said->status) || WEXITSTATUS (said->status) != status || !strstr (said->text, words))
        fail_msg ("status %x, expected exit %d, and \"%s\" in: %s", said->status, status, words, said->text);
}

/* ---- asked before ---- */

static void ask_for_200_files_of_300 (void)
{
    limit (RLIMIT_NOFILE, 32, 300);
    check (&(struct capacity_needs){ .descriptors = 200 });
}

static void ask_for_200_files_of_100 (void)
{
    limit (RLIMIT_NOFILE, 32, 100);
    check (&(struct capacity_needs){ .descriptors = 200 });
}

static void ask_for_files_of_a_full_table (void)
{
    table_is_full = true;
    limit (RLIMIT_NOFILE, 32, 100);
    check (&(struct capacity_needs){ .descriptors = 20 });
}

static void ask_for_much_memory (void)
{
    long pages = 0;
    FILE *sizes = fopen ("/proc/self/statm", "re");
    if (!sizes || fscanf (sizes, "%ld", &pages) != 1)
        _exit (9);
    fclose (sizes);
    rlim_t bytes = (rlim_t) pages * (rlim_t) sysconf (_SC_PAGESIZE) + (64 << 20);
    limit (RLIMIT_AS, bytes, bytes);
    check (&(struct capacity_needs){ .bytes = 1 << 30 });
}

/* Root may have as many as it likes. */
static void be_a_user_without_threads (void)
{
    limit (RLIMIT_NPROC, 0, 0);
    if (geteuid () == 0 && setuid (65534) != 0)
        _exit (9);
}

static void ask_for_threads (void)
{
    be_a_user_without_threads ();
    check (&(struct capacity_needs){ .threads = 4 });
}

static void ask_for_what_is_there (void)
{
    check (&(struct capacity_needs){ .descriptors = 64, .threads = 4, .bytes = 64 << 20 });
}

TEST (what_is_there_is_given)
{
    struct said said = child (ask_for_what_is_there);
    expect (&said, 0, "");
    said = child (ask_for_200_files_of_300); /* the limit is raised */
    expect (&said, 0, "");
}

TEST (what_is_not_there_is_said_with_its_limit)
{
    struct said said = child (ask_for_200_files_of_100);
    expect (
        &said, 3,
        "this test needs 200 more open files, but the limit of this process is 100 in all: raise its limit (ulimit -n");
    said = child (ask_for_files_of_a_full_table); /* no limit of this process is at fault, although it is raised */
    expect (&said, 3,
            "this test needs 20 more open files, but the file table of the system is full: end processes that hold "
            "many files, or raise fs.file-max");
    said = child (ask_for_threads);
    expect (&said, 3, "this test needs 4 threads, but the system allows 0: raise the limit (ulimit -u, TasksMax=, ");
    said = child (ask_for_much_memory);
    expect (&said, 3, "this test needs 1024 MiB more memory than this process can get (address space: ");
}

/* ---- told after ---- */

static void abort_without_files (void)
{
    exhaustion_install_handlers ("prog");
    limit (RLIMIT_NOFILE, 3, 3);
    abort ();
}

static void abort_with_a_full_table (void)
{
    limit (RLIMIT_CORE, 0, 0);
    exhaustion_install_handlers ("prog");
    table_is_full = true;
    abort ();
}

static void abort_without_threads (void)
{
    limit (RLIMIT_CORE, 0, 0);
    exhaustion_install_handlers ("prog");
    be_a_user_without_threads ();
    abort ();
}

static void run_out_of_nobody_knows_what (void)
{
    mem_exit_exhausted (0);
}

static void run_out_of_5_bytes (void)
{
    mem_exit_exhausted (5);
}

static void abort_with_all_there_is (void)
{
    limit (RLIMIT_CORE, 0, 0);
    exhaustion_install_handlers ("prog");
    abort ();
}

static void abort_where_nobody_waits_for_children (void)
{
    signal (SIGCHLD, SIG_IGN);
    abort_with_all_there_is ();
}

static void abort_from_elsewhere (void)
{
    limit (RLIMIT_CORE, 0, 0);
    exhaustion_install_handlers ("prog");
    kill (getpid (), SIGABRT);
    for (;;)
        pause ();
}

TEST (a_library_that_gives_up_for_want_of_something_ends_with_a_sentence)
{
    struct said said = child (abort_without_files);
    expect (&said, 3, "prog: this process cannot get more open files (ulimit -n, LimitNOFILE=): raise its limit");
    said = child (abort_with_a_full_table);
    expect (&said, 3,
            "prog: this process cannot get more open files, because the file table of the system is full: end "
            "processes that hold many files, or raise fs.file-max, then resume");
    said = child (abort_without_threads);
    expect (&said, 3,
            "prog: this process cannot get more threads (ulimit -u, TasksMax=, pids.max of its control group)");
}

TEST (memory_that_is_refused_is_said_with_its_size_where_that_is_known)
{
    struct said said = child (run_out_of_5_bytes);
    expect (&said, 3, "sliceup: out of memory (asked for 5 bytes): raise this process's limits");
    said = child (run_out_of_nobody_knows_what);
    expect (&said, 3, "sliceup: out of memory: raise this process's limits");
}

TEST (any_other_abort_stays_one)
{
    void (*const acts[]) (void) = { abort_with_all_there_is, abort_where_nobody_waits_for_children,
                                    abort_from_elsewhere };
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        struct said said = child (acts[i]);
        assert_true (WIFSIGNALED (said.status) && WTERMSIG (said.status) == SIGABRT);
        assert_string_equal (said.text, "");
    }
}

/* ---- what programs are started with ---- */

/* Other threads open files meanwhile: the linker takes this before libc's. */
static uint32_t own_limits_set;

int setrlimit (__rlimit_resource_t what, const struct rlimit *limit)
{
    own_limits_set += what == RLIMIT_NOFILE;
    return prlimit (0, what, limit, NULL);
}

static void start_a_program_that_tells_its_limit (void)
{
    struct err err = { 0 };
    const char *const argv[] = { "sh", "-c", "read go; ulimit -S -n >&2", NULL };
    struct program sh = { .argv = argv, .envp = environ, .out = 1, .error = 2, .apart = POSIX_SPAWN_SETSID };
    int ends[2], status;
    pid_t pid;
    limit (RLIMIT_NOFILE, 32, 300);
    if (process_capacity_check ("this test", &(struct capacity_needs){ .descriptors = 200 }, &err) < 0 ||
        pipe2 (ends, O_CLOEXEC) < 0)
        _exit (9);
    own_limits_set = 0;
    sh.in = ends[0];
    if (program_start (&pid, &sh) != 0 || write (ends[1], "\n", 1) != 1)
        _exit (9);
    waitpid (pid, &status, 0);
    struct rlimit own = { 0 };
    (void) getrlimit (RLIMIT_NOFILE, &own);
    _exit (own_limits_set || own.rlim_cur != 300 ? 8 : WEXITSTATUS (status));
}

TEST (a_program_gets_the_limit_that_this_process_began_with_and_this_process_keeps_its_own)
{
    struct said said = child (start_a_program_that_tells_its_limit);
    expect (&said, 0, "32\n");
}

/* ---- the size of a file ---- */

static void write_past_the_largest_file (void)
{
    int fd = memfd_create ("file", MFD_CLOEXEC);
    limit (RLIMIT_FSIZE, 0, 0);
    exhaustion_install_handlers ("prog");
    bool failed = write (fd, "x", 1) < 0;
    struct err err = { 0 };
    err_errno (&err, ERR_IO, "prog");
    dprintf (STDERR_FILENO, "%s", err.text);
    _exit (failed ? 3 : 0);
}

static void execute_another (void)
{
    limit (RLIMIT_CORE, 0, 0);
    exhaustion_install_handlers ("prog");
    execl ("/bin/sh", "sh", "-c", "kill -XFSZ $$", (char *) NULL);
    _exit (9);
}

TEST (a_file_that_may_not_grow_is_an_error_of_its_writer)
{
    struct said said = child (write_past_the_largest_file);
    expect (&said, 3, "prog: File too large (raise this process's limit: ulimit -f, LimitFSIZE=");
}

TEST (what_is_executed_has_the_default_of_that)
{
    struct said said = child (execute_another);
    assert_true (WIFSIGNALED (said.status) && WTERMSIG (said.status) == SIGXFSZ);
}
