#include "worker/run/join_loop.h"

#include "common/base/duration.h"
#include "common/io/atomic_file.h"
#include "worker/link/instance_lock.h"
#include "worker/link/run_discovery.h"
#include "worker/link/ticket.h"
#include "worker/run/driver.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_DONE = 0, STATUS_USAGE = 2, STATUS_COULD_NOT = 3 };
enum { AGAIN_FIRST_MS = 1000, AGAIN_MOST_MS = 30000 }; /* --stay: pauses after a run that could not be served */

struct join_loop {
    const char *file, *directory, *version;
    uint64_t wait_ms;
    bool stay;
    struct log log;
    struct ticket ticket;
    char own_directory[PATH_MAX]; /* `directory`, where no title overwrites it */
    char ticket_file[PATH_MAX];   /* `file` as it was found from where this began; empty: not known */
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

static bool take_option (int argc, char **argv, int *i, const char *name, const char **value)
{
    size_t len = strlen (name);
    if (strncmp (argv[*i], name, len) != 0)
        return false;
    if (argv[*i][len] == '=')
        *value = argv[*i] + len + 1;
    else if (argv[*i][len] == '\0' && *i + 1 < argc)
        *value = argv[++*i];
    else
        return false;
    return **value != '\0';
}

static int take_arguments (struct join_loop *join_loop, int argc, char **argv, struct err *err)
{
    const char *wait = NULL;
    for (int i = 1; i < argc; i++) {
        if (take_option (argc, argv, &i, "--ticket", &join_loop->file) ||
            take_option (argc, argv, &i, "--directory", &join_loop->directory) ||
            take_option (argc, argv, &i, "--wait", &wait))
            continue;
        if (strcmp (argv[i], "--stay") != 0)
            return err_set (err, ERR_USAGE, "join: '%s' is not an option of join, or its value is missing", argv[i]);
        join_loop->stay = true;
    }
    if (!join_loop->file)
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

static int place (const struct join_loop *join_loop, const char *kind, const char *name, char *out, size_t out_bytes,
                  struct err *err)
{
    int len = snprintf (out, out_bytes, "%s/%s/%s/%s", join_loop->directory, kind, name, join_loop->ticket.host);
    if (len < 0 || (size_t) len >= out_bytes)
        return err_set (err, ERR_LIMIT, "the path of --directory is too long");
    return 0;
}

/* The ticket first: its path may be relative, and the worker keeps nothing of where it was started. */
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
    if (place (join_loop, "seats", join_loop->ticket.slice, instance_lock, sizeof instance_lock, err) < 0)
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
    join->trusted[JOIN_DIRECTORY] = join_loop->directory;
    join->trusted[JOIN_TICKET] = join_loop->ticket_file;
    return join_fill_process (join, err);
}

static int serve_run (const struct join_loop *join_loop, struct join_config *join, struct err *err)
{
    if (place (join_loop, "runs", join->run_hex, join->directory, sizeof join->directory, err) < 0 ||
        join_enter_directory (join->directory, err) < 0)
        return -1;
    join_show_in_ps (join);
    log_print (&join_loop->log, "host %s joins run %.8s", join->host, join->run_hex);
    if (instance_lock_take_over (join->directory, err) < 0)
        return -1;
    return driver_run (join, join_loop->version, &join_loop->log, err);
}

static int serve (const struct join_loop *join_loop)
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
    exit (serve (join_loop));
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

int join_loop_main (int argc, char **argv, const char *version)
{
    struct join_loop join_loop = { .directory = START_DIRECTORY_DEFAULT,
                                   .version = version,
                                   .log = { .to = stderr, .program = "sliceup-worker" } };
    struct err err = { 0 };
    int status = STATUS_COULD_NOT;
    if (take_arguments (&join_loop, argc, argv, &err) < 0) {
        log_print (&join_loop.log, "%s", err.text);
        fputs (usage, stderr);
        return STATUS_USAGE;
    }
    if (get_ready (&join_loop, &err) < 0)
        log_print (&join_loop.log, "%s", err.text);
    else
        status = join_loop.stay ? stay (&join_loop) : serve (&join_loop);
    explicit_bzero (&join_loop.ticket.keys, sizeof join_loop.ticket.keys);
    return status;
}
