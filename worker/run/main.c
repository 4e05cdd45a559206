/* main.c - sliceup-worker: joins a run, or does one of the worker's own jobs. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/duration.h"
#include "common/io/atomic_file.h"
#include "common/io/process_capacity.h"
#include "common/io/program_start.h"
#include "worker/attempt/task.h"
#include "worker/builtin/builtin.h"
#include "worker/environment/installed.h"
#include "worker/facts/host_fact_list.h"
#include "worker/process/self.h"
#include "worker/run/join.h"
#include "worker/sandbox/confine.h"

/* ---- join loop ---- */

/* `sliceup-worker join --ticket FILE`: a worker that a person or a service manager starts. It waits for a
 * run, works in it as every worker does, and ends with it (a service manager starts it again) or, with --stay, waits
 * for the next.
 *
 * With --stay each run has its own process, so that nothing of one reaches the next. */

enum { STATUS_DONE = 0, STATUS_USAGE = 2, STATUS_COULD_NOT = 3 };
enum { AGAIN_FIRST_MS = 1000, AGAIN_MOST_MS = 30000 }; /* --stay: pauses after a run that could not be served */

struct join_loop {
    const char *file, *directory, *version;
    uint64_t wait_ms;
    bool stay;
    struct log log;
    struct ticket ticket;
    char own_directory[PATH_MAX]; /* copy of `directory`, which the process title does not overwrite */
    char ticket_file[PATH_MAX];   /* absolute path of `file`; empty: not known */
};

static const char usage[] =
    "usage: sliceup-worker join --ticket FILE [--directory DIR] [--wait DURATION] [--stay]\n"
    "\n"
    "  --ticket FILE      this host's ticket (made by sliceup ticket); no other user may read the file\n"
    "  --directory DIR    the folder in which runs keep their files of this host (default: /var/tmp/sliceup)\n"
    "  --wait DURATION    exit with status 3 after waiting this long without a run, such as 10m (default: no limit)\n"
    "  --stay             after a run wait for the next one\n"
    "\n"
    "On SIGUSR1 it ends when it is in no run: at once, or after the run that it is in.\n";

/* ---- arguments ---- */

static int worker_take_arguments (struct join_loop *join_loop, int argc, char **argv, struct err *err)
{
    const char *wait = NULL;
    const struct word_option known[] = { { "--ticket", .value = &join_loop->file },
                                         { "--directory", .value = &join_loop->directory },
                                         { "--wait", .value = &wait },
                                         { "--stay", .set = &join_loop->stay } };
    if (word_options_read (argc, argv, known, sizeof known / sizeof *known, err) < 0)
        return err_prefix (err, "join");
    if (!join_loop->file || !*join_loop->file)
        return err_set (
            err, ERR_USAGE,
            "join: --ticket FILE is required; without any option, join reads the launch line from standard input");
    if (join_loop->directory[0] != '/')
        return err_set (err, ERR_USAGE, "join: --directory: expected an absolute path");
    if (wait && (!duration_parse (text_of (wait), &join_loop->wait_ms) || join_loop->wait_ms == 0))
        return err_set (err, ERR_USAGE, "join: --wait: expected a duration such as 90s or 10m");
    return 0;
}

/* ---- places ---- */

static int worker_place (const struct join_loop *join_loop, const char *kind, const char *name, char *out,
                         size_t out_bytes, struct err *err)
{
    int len = snprintf (out, out_bytes, "%s/%s/%s/%s", join_loop->directory, kind, name, join_loop->ticket.host);
    if (len < 0 || (size_t) len >= out_bytes)
        return err_set (err, ERR_LIMIT, "the path of --directory is too long");
    return 0;
}

/* The ticket first, because its path may be relative, and the worker leaves its first directory. */
static int get_ready (struct join_loop *join_loop, struct err *err)
{
    char instance_lock[PATH_MAX_BYTES + 1];
    snprintf (join_loop->own_directory, sizeof join_loop->own_directory, "%s", join_loop->directory);
    join_loop->directory = join_loop->own_directory;
    if (!realpath (join_loop->file, join_loop->ticket_file))
        join_loop->ticket_file[0] = '\0'; /* ticket_load says why */
    if (ticket_load (&join_loop->ticket, join_loop->file, err) < 0 ||
        join_enter_directory (join_loop->directory, err) < 0)
        return -1;
    if (worker_place (join_loop, "seats", join_loop->ticket.slice, instance_lock, sizeof instance_lock, err) < 0)
        return -1;
    return folder_make (instance_lock, 0700, err) < 0 ? -1 : instance_lock_take_over (instance_lock, err);
}

/* ---- one run ---- */

static int fill_join (const struct join_loop *join_loop, struct join_config *join, struct err *err)
{
    const struct ticket *ticket = &join_loop->ticket;
    snprintf (join->host, sizeof join->host, "%s", ticket->host);
    snprintf (join->slice, sizeof join->slice, "%s", ticket->slice);
    snprintf (join->address, sizeof join->address, "%s", ticket->address);
    snprintf (join->hub_key, sizeof join->hub_key, "%s", ticket->coordinator_key);
    join->control_port = ticket->control_port;
    join->bulk_port = ticket->bulk_port;
    join->keys = ticket->keys;
    join->trusted[TRUSTED_DIRECTORY] = join_loop->directory;
    join->trusted[TRUSTED_TICKET] = join_loop->ticket_file;
    return join_fill_process (join, err);
}

static int serve_run (const struct join_loop *join_loop, struct join_config *join, struct err *err)
{
    if (worker_place (join_loop, "runs", join->run_hex, join->directory, sizeof join->directory, err) < 0 ||
        join_enter_directory (join->directory, err) < 0)
        return -1;
    join_show_in_ps (join);
    log_print (&join_loop->log, "host %s joins run %.8s", join->host, join->run_hex);
    if (instance_lock_take_over (join->directory, err) < 0)
        return -1;
    return driver_run (join, join_loop->version, &join_loop->log, err);
}

static int worker_serve (const struct join_loop *join_loop)
{
    struct join_config join = { 0 };
    struct err err = { 0 };
    int rc = fill_join (join_loop, &join, &err);
    if (rc == 0)
        rc = run_discovery_wait (&join, join_loop->version, join_loop->wait_ms, &join_loop->log, &err);
    if (rc == RUN_DISCOVERY_CAME)
        rc = serve_run (join_loop, &join, &err);
    if (rc < 0)
        log_print (&join_loop->log, "%s", err.text);
    explicit_bzero (&join.keys, sizeof join.keys);
    return rc < 0 ? STATUS_COULD_NOT : STATUS_DONE;
}

/* ---- one run after another ---- */

/* Runs in a process of its own, which gets SIGTERM when its parent ends. */
static void serve_in_child (const struct join_loop *join_loop, pid_t parent, const sigset_t *before)
{
    if (prctl (PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid () != parent)
        exit (STATUS_COULD_NOT);
    sigprocmask (SIG_SETMASK, before, NULL);
    exit (worker_serve (join_loop));
}

/* Until the child is gone, or for `most_ms` when there is none (0). True: this process was told to end. */
static bool attend (pid_t child, const sigset_t *received, uint64_t most_ms, int *status)
{
    bool leaving = false;
    for (;;) {
        struct timespec most = { .tv_sec = (time_t) (most_ms / 1000), .tv_nsec = (long) (most_ms % 1000) * 1000000 };
        int signal_number = child ? sigwaitinfo (received, NULL) : sigtimedwait (received, NULL, &most);
        if (signal_number > 0 && signal_number != SIGCHLD) {
            leaving = true;
            if (child)
                kill (child, signal_number);
        }
        if (!child && (leaving || (signal_number < 0 && errno == EAGAIN)))
            return leaving;
        if (child && waitpid (child, status, WNOHANG) == child)
            return leaving;
    }
}

static int stay (const struct join_loop *join_loop)
{
    sigset_t received, before;
    uint64_t pause_ms = AGAIN_FIRST_MS;
    pid_t parent = getpid ();
    sigemptyset (&received);
    const int wanted[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1 };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        sigaddset (&received, wanted[i]);
    sigprocmask (SIG_BLOCK, &received, &before);
    for (;;) {
        int status = 0;
        pid_t child = fork ();
        if (child == 0)
            serve_in_child (join_loop, parent, &before);
        if (child > 0 && attend (child, &received, 0, &status))
            return STATUS_DONE;
        bool good = child > 0 && WIFEXITED (status) && WEXITSTATUS (status) == STATUS_DONE;
        pause_ms = good ? AGAIN_FIRST_MS : pause_ms;
        if (!good && attend (0, &received, pause_ms, &status))
            return STATUS_DONE;
        if (!good && (pause_ms *= 2) > AGAIN_MOST_MS)
            pause_ms = AGAIN_MOST_MS;
    }
}

/* The arguments after "join". Returns the exit status. */
static int join_loop_main (int argc, char **argv, const char *version)
{
    struct join_loop join_loop = { .directory = START_DIRECTORY_DEFAULT,
                                   .version = version,
                                   .log = { .to = stderr, .program = "sliceup-worker" } };
    struct err err = { 0 };
    int status = STATUS_COULD_NOT;
    if (worker_take_arguments (&join_loop, argc, argv, &err) < 0) {
        log_print (&join_loop.log, "%s", err.text);
        fputs (usage, stderr);
        return STATUS_USAGE;
    }
    if (get_ready (&join_loop, &err) < 0)
        log_print (&join_loop.log, "%s", err.text);
    else
        status = join_loop.stay ? stay (&join_loop) : worker_serve (&join_loop);
    explicit_bzero (&join_loop.ticket.keys, sizeof join_loop.ticket.keys);
    return status;
}

/* ---- main ---- */

static const char help[] =
    "usage: sliceup-worker COMMAND\n"
    "\n"
    "One worker runs on each host of a run. The coordinator starts it; people rarely do.\n"
    "\n"
    "  join           join a run: read the launch line from standard input, answer, wait for GO, and work;\n"
    "                 or join with a ticket: --ticket FILE [--directory DIR] [--wait DURATION] [--stay]\n"
    "  facts          print the facts of this host as JSON lines\n"
    "  preflight      check whether this host has what a worker needs: [--directory DIR] [--python PYTHON]\n"
    "                 [--json | --brief]\n"
    "  restore        build or check the Python environment of a pin file: --pins FILE --env-dir DIR --python PYTHON\n"
    "  cache          check whether a shared compile cache can be used here, and what protects it: --root DIR\n"
    "                 [--least LEVEL]\n"
    "  probe          check step by step, without Python, whether a PJRT plugin works here: --plugin PATH\n"
    "  exec           (for sliceup exec) run the command that standard input brings, and report its output and end\n"
    "  task           (for the worker itself) do work that takes long: prepare, seal, audit and more\n"
    "  confine        (for the worker itself) set up a sandbox without the right to write the cache, and execute a\n"
    "                 program in it\n"
    "\n"
    "  --help         print this text\n"
    "  --version      print the version of this build\n"
    "\n"
    "Exit status: 0 done; 1 it ran and something did not hold; 2 usage; 3 it could not run.\n";

/* Closes the launcher's pipes, except the one whose end ends a tied worker. Later output stays on the host. */
static int detach (const char *directory, bool tied, struct err *err)
{
    char path[PATH_MAX];
    if (snprintf (path, sizeof path, "%s/worker.log", directory) >= (int) sizeof path)
        return err_set (err, ERR_LIMIT, "the path %s is too long", directory);
    int null_fd = open ("/dev/null", O_RDWR | O_CLOEXEC);
    if (null_fd < 0)
        return err_errno (err, ERR_IO, "cannot open /dev/null");
    int log_fd = open (path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rc = log_fd < 0 ? err_errno (err, ERR_IO, "cannot open %s", path) : 0;
    if (rc == 0 && ((!tied && dup2 (null_fd, 0) < 0) || dup2 (null_fd, 1) < 0 || dup2 (log_fd, 2) < 0))
        rc = err_errno (err, ERR_IO, "cannot redirect standard input and output");
    if (log_fd > 2)
        close (log_fd);
    if (null_fd > 2)
        close (null_fd);
    return rc;
}

static int join_and_work (struct join_config *join, const struct log *log, struct err *err)
{
    /* For its connections, programs and their pipes, and libzmq's threads. Checked before it joins. */
    static const struct capacity_needs needs = { .descriptors = 48, .threads = 2, .bytes = 16 * 1024 * 1024 };
    if (process_capacity_check ("a worker", &needs, err) < 0)
        return -1;
    if (join_exchange_launch_line (join, STDIN_FILENO, STDOUT_FILENO, SLICEUP_VERSION, err) < 0)
        return -1;
    join_show_in_ps (join);
    if (join_enter_directory (join->directory, err) < 0 || detach (join->directory, join->tied, err) < 0)
        return -1;
    (void) unlink (JOIN_WAY_FILE); /* of an earlier worker */
    if (instance_lock_take_over (join->directory, err) < 0)
        return -1;
    return driver_run (join, SLICEUP_VERSION, log, err);
}

static int join_main (int argc, char **argv)
{
    bool brought = argc > 1 && strcmp (argv[1], "--else") == 0; /* by a courier, to a host that nobody knows */
    if (argc != 1 && !brought)
        return join_loop_main (argc, argv, SLICEUP_VERSION);
    struct join_config join = { 0 };
    struct err err = { 0 };
    struct log log = { .to = stderr, .program = "sliceup-worker" };
    int rc = brought ? preflight_demand (NULL, NULL, &err) : 0;
    if (rc < 0)
        self_become_else (argv, IMAGE_EXIT_UNFIT, err.text);
    else
        rc = join_and_work (&join, &log, &err);
    if (rc < 0)
        log_print (&log, "%s", err.text);
    explicit_bzero (&join.keys, sizeof join.keys);
    return rc < 0 ? 3 : 0;
}

static const struct {
    const char *name;
    int (*run) (int argc, char **argv);
} commands[] = {
    { "join", join_main },           { "facts", facts_main }, { "preflight", preflight_main },
    { "restore", restore_main },     { "task", task_main },   { "confine", confine_main },
    { "cache", cache_builtin_main }, { "probe", probe_main }, { "exec", remote_exec_main },
    { "ways", ways_main },
};

int main (int argc, char **argv)
{
    standard_fds_keep ();
    exhaustion_install_handlers ("sliceup-worker");
    json_set_alloc_funcs (mem_alloc, mem_free);
    self_init (argv[0]);
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp (word, "--help") == 0)
        return fputs (help, stdout) < 0;
    if (strcmp (word, "--version") == 0)
        return puts ("sliceup-worker " SLICEUP_VERSION) < 0;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp (word, commands[i].name) == 0)
            return commands[i].run (argc - 1, argv + 1);
    }
    LOCAL_BUF shown = { .max = 1 << 16 };
    buf_escaped_after (&shown, "unknown command ", text_of (word), 0);
    fprintf (stderr, "sliceup-worker: %s; see sliceup-worker --help\n",
             *word ? buf_c (&shown) : "a command is required");
    return 2;
}
