/* alone: process */
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "leftovers.h"
#include "test.h"
#include "worker/process/exec.h"
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Somebody is no user of any system, and not the one that unmapped ids show as. */
enum { TIMEOUT_MS = 20000, NOT_HERE = 77, SOMEBODY = 47110 };

/* One owner of programs: its directory, and a file in it that is locked as long as anything it started lives. */
struct bench {
    char directory[64], held[96];
    char said[1 << 14];
    struct containment *containment;
    struct exec *exec;
    struct exec_end end;
};

static void bench_open (struct bench *bench)
{
    snprintf (bench->directory, sizeof bench->directory, "/tmp/test_contain.XXXXXX");
    assert_non_null (mkdtemp (bench->directory));
    snprintf (bench->held, sizeof bench->held, "%s/held", bench->directory);
}

/* Of a test that failed: nobody else would know its name. */
static void remove_leaf (const struct bench *bench)
{
    char record[96];
    struct buf leaf;
    snprintf (record, sizeof record, "%s/worker.cgroup", bench->directory);
    buf_init (&leaf, 4096);
    if (file_read (record, &leaf, NULL) == 0 && strstr (buf_c (&leaf), "/sliceup-"))
        (void) rmdir (buf_c (&leaf));
    buf_release (&leaf);
}

static void bench_close (struct bench *bench)
{
    exec_destroy (bench->exec);
    exec_set_containment (NULL);
    containment_close (bench->containment);
    leftovers_end ();
    remove_leaf (bench);
    assert_int_equal (folder_remove (bench->directory, NULL), 0);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

/* What the log says is kept in `said`. */
static enum containment_level choose (struct bench *bench, enum containment_level most)
{
    struct log log = { .to = fmemopen (bench->said, sizeof bench->said, "w"), .program = "test" };
    assert_non_null (log.to);
    bench->containment = containment_choose (most, bench->directory, &log);
    fclose (log.to);
    exec_set_containment (bench->containment);
    return containment_level (bench->containment);
}

static void need (struct bench *bench, enum containment_level level)
{
    if (choose (bench, level) == level)
        return;
    print_message ("not on this machine: %s", bench->said);
    skip ();
}

static void says (const struct bench *bench, const char *what)
{
    assert_has (bench->said, what);
}

/* ---- programs ---- */

static struct exec *start (const struct bench *bench, const char *script, int output_fd, bool outside)
{
    char *argv[] = { (char *) "sh", (char *) "-c", (char *) script, NULL };
    char *envp[] = { (char *) "PATH=/usr/bin:/bin", NULL };
    struct spawn_request request = { .program = "/bin/sh",
                                     .argv = argv,
                                     .envp = envp,
                                     .directory = bench->directory,
                                     .output_fd = output_fd,
                                     .channel_fd = -1 };
    struct err err = { 0 };
    struct exec *exec = outside ? exec_start_on_host (&request, &err) : exec_start (&request, &err);
    if (!exec)
        fail_msg ("%s", err.text);
    return exec;
}

static void wait_until_gone (struct bench *bench)
{
    uint64_t until_ms = clock_boot_ms () + TIMEOUT_MS;
    for (;;) {
        exec_poll (bench->exec, clock_boot_ms ());
        if (exec_all_gone (bench->exec, &bench->end))
            break;
        assert_true (clock_boot_ms () < until_ms);
        poll (NULL, 0, 2);
    }
    exec_destroy (bench->exec);
    bench->exec = NULL;
}

/* Runs it to its end; what it printed is in `said`. */
static void run (struct bench *bench, const char *script, bool outside)
{
    char path[96];
    struct buf out;
    snprintf (path, sizeof path, "%s/out", bench->directory);
    int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true (fd >= 0);
    bench->exec = start (bench, script, fd, outside);
    close (fd);
    wait_until_gone (bench);
    buf_init (&out, sizeof bench->said - 1);
    assert_int_equal (file_read (path, &out, NULL), 0);
    snprintf (bench->said, sizeof bench->said, "%s", buf_c (&out));
    buf_release (&out);
}

static bool held (const struct bench *bench)
{
    int fd = open (bench->held, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    assert_true (fd >= 0);
    bool free = flock (fd, LOCK_EX | LOCK_NB) == 0;
    close (fd);
    return !free;
}

static void wait_until_let_go (const struct bench *bench)
{
    uint64_t until_ms = clock_boot_ms () + TIMEOUT_MS;
    while (held (bench)) {
        if (clock_boot_ms () > until_ms)
            fail_msg ("something that was started still lives");
        while (waitpid (-1, NULL, WNOHANG) > 0)
            ;
        poll (NULL, 0, 2);
    }
}

/* ---- which way it is ---- */

TEST_ON (b, no_better_way_is_taken_than_was_asked_for)
{
    assert_int_equal (choose (b, CONTAINMENT_SUBREAPER), CONTAINMENT_SUBREAPER);
    says (b, "processes of a program are contained by: subreaper; if this worker is killed with SIGKILL, processes "
             "that a program started may continue to run");
    containment_close (b->containment);
    assert_true (choose (b, CONTAINMENT_CGROUP) <= CONTAINMENT_CGROUP);
}

TEST_ON (b, nothing_is_left_of_a_way_that_was_given_back)
{
    char record[96];
    snprintf (record, sizeof record, "%s/worker.cgroup", b->directory);
    need (b, CONTAINMENT_CGROUP);
    struct buf *leaf = test_buf (t);
    assert_int_equal (file_read (record, leaf, NULL), 0);
    assert_int_equal (access (buf_c (leaf), F_OK), 0);
    exec_set_containment (NULL);
    containment_close (b->containment);
    b->containment = NULL;
    assert_int_equal (access (buf_c (leaf), F_OK), -1);
    assert_int_equal (access (record, F_OK), -1);
}

static void drop_rights (void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[2] = { { 0 } };
    assert_int_equal (syscall (SYS_capset, &header, none), 0);
}

/* A failed assertion in a forked process must not go on with the other tests there (cmocka's own word for that). */
static void end_at_a_failure (void)
{
    setenv ("CMOCKA_TEST_ABORT", "1", 1);
}

/* Runs `body` in a process of its own, whose failure is this test's. */
static void elsewhere (struct bench *bench, void (*body) (struct bench *bench))
{
    fflush (NULL);
    pid_t pid = fork ();
    assert_true (pid >= 0);
    if (pid == 0) {
        end_at_a_failure ();
        assert_int_equal (exec_adopt_orphans (NULL), 0);
        body (bench);
        exec_set_containment (NULL);
        containment_close (bench->containment);
        _exit (0);
    }
    int status = -1;
    assert_int_equal (waitpid (pid, &status, 0), pid);
    if (WIFEXITED (status) && WEXITSTATUS (status) == NOT_HERE)
        skip ();
    assert_int_equal (status, 0);
}

static void choose_without_rights (struct bench *bench)
{
    drop_rights ();
    bool good = choose (bench, CONTAINMENT_PID_NAMESPACE) < CONTAINMENT_PID_NAMESPACE &&
                strstr (
                    bench->said,
                    "cannot make a pid namespace for programs: cannot make the init process: Operation not permitted");
    if (!good) {
        fprintf (stderr, "%s", bench->said);
        _exit (1);
    }
    run (bench, "(setsid sleep 1000 &); exit 3", false);
    if (WEXITSTATUS (bench->end.status) != 3 || bench->end.strays != 1)
        _exit (2);
}

TEST_ON (bench, a_root_without_rights_gets_what_is_left_and_the_reason)
{
    if (geteuid () != 0)
        skip ();
    elsewhere (bench, choose_without_rights);
}

static void be_somebody (struct bench *bench)
{
    if (setgroups (0, NULL) || setgid (SOMEBODY) || setuid (SOMEBODY) || prctl (PR_SET_DUMPABLE, 1))
        _exit (1);
    if (choose (bench, CONTAINMENT_PID_NAMESPACE) == CONTAINMENT_PID_NAMESPACE)
        return;
    fprintf (stderr, "%s", bench->said);
    bool refused = strstr (bench->said, "in a user namespace of its own") || strstr (bench->said, "cannot mount /proc");
    _exit (refused ? NOT_HERE : 2);
}

static void run_as_somebody (struct bench *bench)
{
    be_somebody (bench);
    run (bench, "id -u; id -g; grep CapEff /proc/self/status; touch made; (setsid sleep 1000 &); exit 5", false);
    if (WEXITSTATUS (bench->end.status) != 5 || bench->end.strays != 1 ||
        !strstr (bench->said, "47110\n47110\nCapEff:\t0000000000000000\n"))
        _exit (3);
    if (prctl (PR_GET_DUMPABLE) != 1) /* nothing that a program's process did to our memory's rights lasts */
        _exit (5);
    struct stat st;
    char made[96];
    snprintf (made, sizeof made, "%s/made", bench->directory);
    if (stat (made, &st) < 0 || st.st_uid != SOMEBODY)
        _exit (4);
}

TEST_ON (b, who_is_not_root_gets_a_pid_namespace_as_well)
{
    if (geteuid () != 0)
        skip ();
    assert_int_equal (chown (b->directory, SOMEBODY, SOMEBODY), 0);
    elsewhere (b, run_as_somebody);
}

static pid_t only_child (void);

/* The rights that a new process has in its user namespace for a moment must leave no trace in its owner. */
static void run_again_as_somebody (struct bench *bench)
{
    be_somebody (bench);
    for (int i = 0; i < 3; i++) {
        run (bench, "echo again", false);
        if (strcmp (bench->said, "again\n") != 0 || prctl (PR_GET_DUMPABLE) != 1)
            _exit (3);
        siginfo_t info;
        pid_t pid_namespace = only_child ();
        if (kill (pid_namespace, SIGKILL) || waitid (P_PID, (id_t) pid_namespace, &info, WEXITED | WNOWAIT))
            _exit (4);
    }
}

TEST_ON (b, who_is_not_root_gets_another_pid_namespace_when_one_died)
{
    if (geteuid () != 0)
        skip ();
    assert_int_equal (chown (b->directory, SOMEBODY, SOMEBODY), 0);
    elsewhere (b, run_again_as_somebody);
}

/* Its root is the host's once more, by another mount; only the test's own folder is another one there. */
static void change_root (struct bench *bench)
{
    char root[96], own[192];
    snprintf (root, sizeof root, "%s/root", bench->directory);
    snprintf (own, sizeof own, "%s%s", root, bench->directory);
    if (unshare (CLONE_NEWNS) || mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        _exit (NOT_HERE);
    if (mkdir (root, 0755) || mount ("/", root, NULL, MS_BIND | MS_REC, NULL) ||
        mount ("tmpfs", own, "tmpfs", 0, NULL) || chroot (root) || chdir (bench->directory))
        _exit (1);
    int fd = open ("inside", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || close (fd))
        _exit (1);
}

static void run_in_another_root (struct bench *bench)
{
    change_root (bench);
    if (choose (bench, CONTAINMENT_PID_NAMESPACE) != CONTAINMENT_PID_NAMESPACE) {
        fprintf (stderr, "%s", bench->said);
        _exit (NOT_HERE);
    }
    run (bench, "test -e inside && echo in it; test -d /proc/1 && ls -d /proc/[0-9]* | wc -l", false);
    if (strncmp (bench->said, "in it\n", 6) == 0 && atol (bench->said + 6) <= 6)
        return;
    fprintf (stderr, "said: %s\n", bench->said);
    _exit (2);
}

TEST_ON (bench, programs_of_a_worker_in_a_chroot_run_in_it)
{
    if (geteuid () != 0)
        skip ();
    elsewhere (bench, run_in_another_root);
}

/* ---- what it is for ---- */

#define ESCAPES                                                                                                        \
    "exec 9>>held; flock -s 9; "                                                                                       \
    "(setsid sh -c 'trap \"\" INT TERM HUP; (setsid sleep 1000 &); sleep 1000' &); "                                   \
    "echo ready > ready.new; mv ready.new ready; sleep 1000"

/* An owner that starts a program with escapees, and is killed. */
static void kill_an_owner (struct bench *bench, enum containment_level level)
{
    char ready[96];
    snprintf (ready, sizeof ready, "%s/ready", bench->directory);
    pid_t owner = fork ();
    assert_true (owner >= 0);
    if (owner == 0) {
        end_at_a_failure ();
        int null_fd = open ("/dev/null", O_WRONLY | O_CLOEXEC);
        if (exec_adopt_orphans (NULL) < 0 || choose (bench, level) != level)
            _exit (1);
        start (bench, ESCAPES, null_fd, false);
        for (;;)
            pause ();
    }
    uint64_t until_ms = clock_boot_ms () + TIMEOUT_MS;
    while (access (ready, F_OK) < 0) {
        if (clock_boot_ms () > until_ms || waitpid (owner, NULL, WNOHANG) != 0)
            fail_msg ("its program never began");
        poll (NULL, 0, 2);
    }
    assert_true (held (bench));
    kill (owner, SIGKILL);
    assert_int_equal (waitpid (owner, NULL, 0), owner);
}

TEST_ON (b, in_a_pid_namespace_everything_dies_with_its_owner)
{
    need (b, CONTAINMENT_PID_NAMESPACE);
    exec_set_containment (NULL);
    containment_close (b->containment);
    b->containment = NULL;
    kill_an_owner (b, CONTAINMENT_PID_NAMESPACE);
    wait_until_let_go (b);
}

TEST_ON (b, in_a_cgroup_the_next_owner_ends_what_is_left)
{
    need (b, CONTAINMENT_CGROUP);
    exec_set_containment (NULL);
    containment_close (b->containment);
    b->containment = NULL;
    kill_an_owner (b, CONTAINMENT_CGROUP);
    poll (NULL, 0, 100);
    assert_true (held (b));                /* or this test would show nothing */
    choose (b, CONTAINMENT_PID_NAMESPACE); /* whatever its own way is */
    says (b, "this worker ended processes that an earlier worker of this directory left in its cgroup");
    wait_until_let_go (b);
}

TEST_ON (b, a_file_that_names_another_cgroup_is_refused)
{
    static const char *const paths[] = { "/sys/fs/cgroup", "relative", "/sys/fs/cgroup/sliceup-0123456789abcdef", "" };
    char record[96];
    snprintf (record, sizeof record, "%s/worker.cgroup", b->directory);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        assert_int_equal (atomic_file_write (record, paths[i], strlen (paths[i]), 0600, NULL), 0);
        choose (b, CONTAINMENT_SUBREAPER);
        says (b, "worker.cgroup does not name a control group that a worker made; remove this file");
        exec_set_containment (NULL);
        containment_close (b->containment);
        b->containment = NULL;
    }
}

TEST_ON (b, a_folder_that_is_no_cgroup_is_refused)
{
    char record[96], path[128], hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of (b->directory, strlen (b->directory));
    snprintf (record, sizeof record, "%s/worker.cgroup", b->directory);
    snprintf (path, sizeof path, "%s/sliceup-%.16s", b->directory, digest_hex (&digest, hex));
    assert_int_equal (mkdir (path, 0700), 0);
    assert_int_equal (atomic_file_write (record, path, strlen (path), 0600, NULL), 0);
    choose (b, CONTAINMENT_SUBREAPER);
    says (b, "is not a control group");
    assert_int_equal (access (path, F_OK), 0);
}

/* ---- the pid namespace ---- */

TEST_ON (b, programs_find_themselves_in_proc)
{
    need (b, CONTAINMENT_PID_NAMESPACE);
    run (b,
         "test $(readlink /proc/self) != '' && test \"$(ps -o args= -p $$ | cut -c1-5)\" = 'sh -c' && echo found;"
         "test -d /proc/1 && ls -d /proc/[0-9]* | wc -l",
         false);
    long seen = strncmp (b->said, "found\n", 6) == 0 ? atol (b->said + 6) : 0;
    if (seen < 2 || seen > 6) /* the first process, the shell, ls, wc */
        fail_msg ("said: %s", b->said);
}

TEST_ON (b, a_program_that_looks_at_the_host_sees_all_of_it)
{
    char expected[96];
    need (b, CONTAINMENT_PID_NAMESPACE);
    snprintf (expected, sizeof expected, "test -d /proc/%d/fd && test $PPID = %d && echo seen", getpid (), getpid ());
    run (b, expected, true);
    assert_string_equal (b->said, "seen\n");
    run (b, expected, false);
    assert_string_equal (b->said, "");
}

static pid_t only_child (void)
{
    char path[64];
    int first = 0, second = 0;
    snprintf (path, sizeof path, "/proc/self/task/%d/children", getpid ());
    FILE *file = fopen (path, "re");
    assert_non_null (file);
    int n = fscanf (file, "%d %d", &first, &second);
    fclose (file);
    assert_int_equal (n, 1);
    return first;
}

TEST_ON (b, its_first_process_holds_nothing_of_its_owner)
{
    char path[64], words[64] = "", here[64];
    int leaked = open ("/dev/null", O_RDONLY); /* without close-on-exec, on purpose */
    need (b, CONTAINMENT_PID_NAMESPACE);
    pid_t pid_namespace = only_child ();
    snprintf (path, sizeof path, "ls /proc/%d/fd", pid_namespace);
    for (int looks = 0; looks < 50 && strcmp (b->said, "0\n1\n") != 0; looks++)
        run (b, path, true); /* it may not yet have closed the root that it has just handed over */
    assert_string_equal (b->said, "0\n1\n");
    snprintf (path, sizeof path, "/proc/%d/cwd", pid_namespace);
    assert_int_equal (readlink (path, here, sizeof here), 1);
    snprintf (path, sizeof path, "/proc/%d/cmdline", pid_namespace);
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    assert_true (fd >= 0 && read (fd, words, sizeof words - 1) > 0);
    assert_string_equal (words, "sliceup-worker init");
    close (fd);
    close (leaked);
}

TEST_ON (b, a_namespace_that_died_is_made_anew)
{
    need (b, CONTAINMENT_PID_NAMESPACE);
    pid_t pid_namespace = only_child ();
    b->exec = start (b, "sleep 1000", 2, false);
    kill (pid_namespace, SIGKILL);
    wait_until_gone (b);
    assert_true (WIFSIGNALED (b->end.status) && WTERMSIG (b->end.status) == SIGKILL);
    assert_int_equal (b->end.unkillable, 0);
    run (b, "echo again", false);
    assert_string_equal (b->said, "again\n");
    assert_int_not_equal (only_child (), pid_namespace);
    siginfo_t info;
    pid_namespace = only_child ();
    kill (pid_namespace, SIGKILL); /* and when nobody was looking */
    assert_int_equal (waitid (P_PID, (id_t) pid_namespace, &info, WEXITED | WNOWAIT), 0);
    run (b, "echo and again", false);
    assert_string_equal (b->said, "and again\n");
}

TEST_ON (b, a_program_given_up_does_not_disturb_the_next)
{
    need (b, CONTAINMENT_PID_NAMESPACE);
    b->exec = start (b, "exec 9>>held; flock -s 9; (setsid sleep 1000 &); sleep 1000", 2, false);
    exec_destroy (b->exec);
    b->exec = NULL;
    wait_until_let_go (b);
    run (b, "(setsid sleep 1000 &); (setsid sleep 1000 &); exit 6", false);
    assert_int_equal (WEXITSTATUS (b->end.status), 6);
    assert_int_equal (b->end.strays, 2);
}

int main (int argc, char **argv)
{
    sigset_t child;
    sigemptyset (&child);
    sigaddset (&child, SIGCHLD);
    if (sigprocmask (SIG_BLOCK, &child, NULL) || exec_adopt_orphans (NULL))
        return 1;
    return test_run (argc, argv);
}
