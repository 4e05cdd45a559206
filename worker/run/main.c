/* main.c - sliceup-worker: joins a run, or does one of the worker's own jobs. */
#include "common/io/process_capacity.h"
#include "common/io/program_start.h"
#include "worker/attempt/task.h"
#include "worker/builtin/cache_builtin.h"
#include "worker/builtin/preflight.h"
#include "worker/builtin/probe.h"
#include "worker/environment/restore.h"
#include "worker/exec/remote_exec.h"
#include "worker/facts/facts.h"
#include "worker/image/self.h"
#include "worker/link/instance_lock.h"
#include "worker/run/driver.h"
#include "worker/run/join_loop.h"
#include "worker/sandbox/confine.h"
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* Hold no pipe of the launcher but the one whose end ends a tied worker. What is printed from now on is the host's. */
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
    /* Its connections, programs and their pipes; libzmq's threads. Before anybody waits for it. */
    static const struct capacity_needs needs = { .descriptors = 48, .threads = 2, .bytes = 16 * 1024 * 1024 };
    if (process_capacity_check ("a worker", &needs, err) < 0)
        return -1;
    if (join_exchange_launch_line (join, STDIN_FILENO, STDOUT_FILENO, SLICEUP_VERSION, err) < 0)
        return -1;
    join_show_in_ps (join);
    if (join_enter_directory (join->directory, err) < 0 || detach (join->directory, join->tied, err) < 0)
        return -1;
    if (instance_lock_take_over (join->directory, err) < 0)
        return -1;
    return driver_run (join, SLICEUP_VERSION, log, err);
}

static int join_main (int argc, char **argv)
{
    if (argc != 1)
        return join_loop_main (argc, argv, SLICEUP_VERSION);
    struct join_config join = { 0 };
    struct err err = { 0 };
    struct log log = { .to = stderr, .program = "sliceup-worker" };
    int rc = join_and_work (&join, &log, &err);
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
    fprintf (stderr, "sliceup-worker: %s%s; see sliceup-worker --help\n",
             *word ? "unknown command " : "a command is required", word);
    return 2;
}
