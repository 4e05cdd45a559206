/* selftest.c - `sliceup selftest`: does to runs of its own what goes wrong with real ones, and says which promises were
 * kept.
 *
 * Each try is a run in a home of its own, below a temporary folder. A child of this process drives it; what a person would
 * type then (resume, cancel, status, exec) runs as a program. Harm comes to that child alone, before it is reaped, and to
 * a worker of that run, by the pid and the start time with which it joined. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/program_start.h"
#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/planning.h"
#include "coordinator/monitor/follow.h"

enum { SELFTEST_TRIES = CLI_OWN };
enum { TRIES = 2, TRIES_MAX = 100, LOOK_MS = 50, SPARE_MS = 15 * 1000, CUTS = 18, LOOKS_A_CUT = 6, FDS_MAX = 4096 };
enum { RUNGS = 2, PRINTED_BYTES = 1000000, LOG_MAX_BYTES = 2 * PRINTED_BYTES, SET_MAX_BYTES = 1 << 16, WORDS_MAX = 20 };
/* How long most programs run. */
enum { STEADY_S = 5, STEADY_HERE_S = 2 };
/* What each prints first and last. */
#define BEGUN "begun\n"
#define OVER "over\n"

/* Of hosts of this machine, whose silence is told early. */
static const char slice_here[] =
    "slice: selftest\nhosts: local[0-2]\nlauncher: local\nprofile: plain\nladder: plain\n"
    "cache: {mode: off}\n"
    "limits: {join: 15s, suspect: 1s, lost: 10s, stop: 200ms, cascade: 1s, orphan: 1m, exit: 1m}\n";
/* With a signal, a pid and when that process began, in ticks since the boot: another process is left alone. */
static const char signal_script[] =
    "test \"$(sed \"s/.*) //\" /proc/$2/stat | cut -d \" \" -f 20)\" = \"$3\" && kill -s $1 $2";
/* With a run and its first digits: are its programs gone from this host, and its worker? With a third word: only the
 * programs of its first rung. */
static const char gone_script[] =
    "! grep -qsz \"^SLICEUP_OUTPUT_DIR=.*/runs/$1/\\(hosts/\\)*$SLICEUP_HOST/.*$3\" /proc/[0-9]*/environ && "
    "{ test $3 || ! grep -qsa \"[s]liceup-worker: run $2 host $SLICEUP_HOST \" /proc/[0-9]*/cmdline; }";

struct trial;
struct promise {
    const char *promise, *fault;
    const char *program;    /* of the first rung, for sh */
    uint32_t printed_bytes; /* beside BEGUN and OVER */
    int (*attempt) (struct trial *trial, struct err *err);
    /* what came of it */
    uint32_t tried, kept;
    uint64_t longest_ms;
    struct text why, next; /* why not, and the command that shows more; empty: it always was */
};

struct selftest {
    struct cli *cli;
    const char *given;                  /* the slice file; NULL: hosts of this machine */
    char folder[1024], slice[PATH_MAX]; /* of all tries; the file of their hosts */
    struct plan plan;                   /* of that file: its hosts, limits, and how they are reached */
    uint64_t timeout_ms;                /* of each wait: those limits, and time for this machine */
    struct text hosts;                  /* folded */
    struct arena arena;
    sigset_t signals;
    bool interrupted, stays; /* `stays`: the folder, since a try was not as it should be */
};

struct trial {
    struct selftest *selftest;
    struct promise *promise;
    uint32_t number; /* from 0 */
    struct cli cli;
    struct own_home home;
    struct arena arena;
    pid_t coordinator; /* our child; 0: it has ended */
    int exit_status;   /* of it, then */
    struct run_dir dir;
    struct board *board;
    struct follow *follow; /* NULL: there is no run yet */
    uint32_t host;         /* whose worker is harmed */
    bool stopped;          /* that worker, now */
    struct text asked;     /* the hosts that is_gone asks */
    bool of_first;         /* and only about programs of the first rung */
};

/* ---- time, and commands ---- */

static void nap (struct selftest *selftest)
{
    static const struct timespec step = { .tv_nsec = LOOK_MS * 1000 * 1000 };
    if (sigtimedwait (&selftest->signals, NULL, &step) > 0)
        selftest->interrupted = true;
}

/* As a shell says it; -1: the child still runs. */
static int exit_status_of (pid_t pid)
{
    int status = 0;
    pid_t ended = waitpid (pid, &status, WNOHANG);
    if (ended != pid)
        return ended < 0 && errno == ECHILD ? EXIT_COULD_NOT : -1; /* it is no child any more, so its pid is nobody's */
    return WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
}

static const char *path_of (struct trial *trial, const char *name)
{
    return text_format (&trial->arena, "%s/%s", trial->home.path, name).ptr;
}

/* Its exit status; -1: it could not be started, or took too long. What it prints is kept by the command's name. */
static int run_sliceup (struct trial *trial, const char *const *words)
{
    const char *argv[WORDS_MAX] = { trial->cli.program, "--home", trial->home.path };
    for (int i = 0; words[i] && i + 4 < WORDS_MAX; i++)
        argv[3 + i] = words[i];
    LOCAL_FD out = open (path_of (trial, words[0]), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const struct program program = { .argv = argv, .envp = environ, .in = -1, .out = out, .error = out };
    pid_t pid = 0;
    int status = -1;
    uint64_t until_ms = clock_boot_ms () + trial->selftest->timeout_ms;
    if (out < 0 || program_start (&pid, &program) != 0)
        return -1;
    while ((status = exit_status_of (pid)) < 0 && clock_boot_ms () < until_ms)
        nap (trial->selftest);
    if (status < 0 && kill (pid, SIGKILL) == 0)
        (void) waitpid (pid, NULL, 0);
    return status;
}
#define SLICEUP(trial, ...) run_sliceup (trial, (const char *const[]){ __VA_ARGS__, NULL })
#define ON_HOSTS(trial, hosts, ...)                                                                                    \
    SLICEUP (trial, "exec", "--slice", (trial)->selftest->slice, "-w", hosts, "--", "sh", "-c", __VA_ARGS__)

/* ---- the run of a try ---- */

/* Its programs are ours; its hosts, limits, and how they are reached, are those of the slice file, and nothing else. */
static int drive (struct trial *trial)
{
    const struct plan *wanted = &trial->selftest->plan;
    struct plan plan = { 0 };
    struct text slice = text_format (&trial->arena,
                                     "slice: selftest\nhosts: 'h[0-%u]'\nprofile: plain\nladder: '%s'\nsignatures: []\n"
                                     "cache: {mode: off}\n",
                                     wanted->hosts.n - 1, path_of (trial, "ladder.yaml"));
    int status = planning_load_text (&trial->cli, "selftest", slice, &trial->arena, &plan);
    if (status != EXIT_HOLDS)
        return status;
    plan.launcher = wanted->launcher;
    plan.start = wanted->start;
    plan.limits = wanted->limits;
    plan.hosts = wanted->hosts;
    for (uint32_t i = 0; i < plan.hosts.n; i++)
        plan.hosts.items[i].env_dir = (struct text){ 0 };
    return run_new (&trial->cli, &plan, &trial->arena, &(struct run_choices){ 0 });
}

/* In a session of its own: the Ctrl-C of our terminal is ours. */
static pid_t start_coordinator (struct trial *trial)
{
    fflush (NULL);
    pid_t pid = fork ();
    if (pid != 0)
        return pid > 0 ? pid : 0;
    (void) close_range (STDERR_FILENO + 1, ~0U, 0); /* whose connections of others would be cut with its own */
    int out = open (path_of (trial, "run"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), in = open ("/dev/null", O_RDONLY);
    if (setsid () < 0 || dup2 (in, STDIN_FILENO) < 0 || dup2 (out, STDOUT_FILENO) < 0 || dup2 (out, STDERR_FILENO) < 0)
        _exit (EXIT_COULD_NOT);
    trial->cli.plain = true;
    trial->cli.color = false;
    int status = drive (trial);
    fflush (NULL);
    _exit (status);
}

typedef bool condition_fn (struct trial *trial);

static int wait_until (struct trial *trial, condition_fn *holds, const char *what, struct err *err)
{
    for (uint64_t until_ms = clock_boot_ms () + trial->selftest->timeout_ms;; nap (trial->selftest)) {
        if (trial->coordinator && (trial->exit_status = exit_status_of (trial->coordinator)) >= 0)
            trial->coordinator = 0;
        if (!trial->follow && run_dir_find (&trial->dir, trial->home.path, "last", NULL) == 0)
            trial->follow = follow_open (&trial->dir, board_take_fact, trial->board);
        if (trial->follow && follow_read_journal (trial->follow, err) < 0)
            return -1;
        if (holds (trial))
            return 0;
        if (trial->selftest->interrupted || clock_boot_ms () >= until_ms)
            return err_set (err, ERR_STATE, "not within %s: %s", DURATION_TEXT (trial->selftest->timeout_ms), what);
    }
}

static struct text printed (const struct trial *trial, uint32_t rung, uint32_t host, struct buf *out)
{
    char path[RUN_PATH_BYTES];
    const struct attempt_key first = { rung, PASS_ONCE, 1 };
    (void) file_read (run_dir_log_path (&trial->dir, &trial->board->plan, host, &first, path), out, NULL);
    return buf_as_text (out);
}

static bool is_over (struct trial *trial)
{
    return !trial->coordinator;
}

/* One that is over may have been begun too fast to be seen. */
static bool is_begun (struct trial *trial)
{
    bool begun = trial->board->opened;
    for (uint32_t i = 0; begun && i < trial->board->plan.hosts.n; i++) {
        LOCAL_BUF out = { .max = LOG_MAX_BYTES };
        begun = text_starts (printed (trial, 0, i, &out), BEGUN);
    }
    return begun || is_over (trial);
}

/* None in the first try, one more in each that follows. */
static bool has_results (struct trial *trial)
{
    uint32_t n = 0, hosts_n = trial->board->plan.hosts.n;
    for (uint32_t i = 0; i < hosts_n; i++)
        n += trial->board->hosts[i].attempts.n && trial->board->hosts[i].attempts.items[0].ended;
    return n >= trial->number % (hosts_n + 1);
}

static bool is_gone (struct trial *trial)
{
    return ON_HOSTS (trial, text_copy (&trial->arena, trial->asked).ptr, gone_script, "sh", trial->dir.id,
                     text_format (&trial->arena, "%.8s", trial->dir.id).ptr,
                     trial->of_first ? "/0[.]once[.]" : "") == EXIT_HOLDS;
}

static bool is_at_second_rung (struct trial *trial)
{
    return is_over (trial) || (trial->board->running && trial->board->key.rung == 1);
}

static bool is_told_silent (struct trial *trial)
{
    (void) SLICEUP (trial, "status", "--json");
    json_auto_t *status = json_load_file (path_of (trial, "status"), 0, NULL);
    const json_t *list = json_object_get (json_object_get (status, "hosts"), "list");
    return json_is_integer (json_object_get (json_array_get (list, trial->host), "silent_ms"));
}

/* ---- what must hold ---- */

/* It passed the rung as if nothing had happened: its program ran once, and all that it printed is here. */
static int check_host (const struct trial *trial, uint32_t rung, uint32_t host, struct err *err)
{
    const struct board_host *at = &trial->board->hosts[host];
    struct text name = trial->board->plan.hosts.items[host].name;
    LOCAL_BUF buf = { .max = LOG_MAX_BYTES };
    struct text out = printed (trial, rung, host, &buf);
    uint32_t expected = (uint32_t) strlen (BEGUN OVER) + (rung == 0 ? trial->promise->printed_bytes : 0);
    if (out.len == expected && text_starts (out, BEGUN) && text_ends (out, OVER) && at->rungs_passed > rung &&
        at->attempts.n <= RUNGS)
        return 0;
    return err_set (err, ERR_STATE,
                    "of what %.*s printed at rung %u %u bytes are here, expected %u; it passed %u rungs in %u attempts",
                    TEXT_ARG (name), rung + 1, out.len, expected, at->rungs_passed, at->attempts.n);
}

static int check_passed (struct trial *trial, struct err *err)
{
    int rc = wait_until (trial, is_over, "the end of the run", err);
    if (rc == 0 && trial->exit_status != EXIT_HOLDS)
        rc = err_set (err, ERR_STATE, "the run ended with exit status %d: %.*s", trial->exit_status,
                      TEXT_ARG (trial->board->sentence));
    for (uint32_t i = 0; rc == 0 && i < RUNGS * trial->board->plan.hosts.n; i++)
        rc = check_host (trial, i % RUNGS, i / RUNGS, err);
    return rc;
}

/* ERR_LIMIT: this cannot be done here. */
static int signal_worker (struct trial *trial, const char *name, struct err *err)
{
    const struct board_host *at = &trial->board->hosts[trial->host];
    const char *host = text_copy (&trial->arena, trial->board->plan.hosts.items[trial->host].name).ptr,
               *pid = text_format (&trial->arena, "%" PRIu64, at->pid).ptr,
               *began = text_format (&trial->arena, "%" PRIu64, at->pid_start).ptr;
    if (ON_HOSTS (trial, host, signal_script, "sh", name, pid, began) == EXIT_HOLDS)
        return 0;
    return err_set (err, ERR_LIMIT, "SIG%s did not reach the worker of %s: %s", name, host, path_of (trial, "exec"));
}

static int try_killed_worker (struct trial *trial, struct err *err)
{
    const struct board *board = trial->board;
    if (signal_worker (trial, "KILL", err) < 0)
        return -1;
    trial->asked = board->plan.hosts.items[trial->host].name;
    if (wait_until (trial, is_gone, "the program of a killed worker is dead", err) < 0 ||
        wait_until (trial, is_over, "the end of a run that lost a worker", err) < 0)
        return -1;
    if (trial->exit_status == EXIT_HOLDS)
        return err_set (err, ERR_LIMIT, "the run had passed before the worker of %.*s was killed",
                        TEXT_ARG (trial->asked));
    if (trial->exit_status != EXIT_BROKEN || board->hosts[trial->host].life != BOARD_LOST ||
        !strstr (text_copy (&trial->arena, board->sentence).ptr, text_copy (&trial->arena, trial->asked).ptr))
        return err_set (err, ERR_STATE, "the worker of %.*s was killed, and the run ended with exit status %d: %.*s",
                        TEXT_ARG (trial->asked), trial->exit_status, TEXT_ARG (board->sentence));
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < board->plan.hosts.n; i++)
        rc = i == trial->host ? 0 : check_host (trial, 0, i, err);
    return rc;
}

static int try_stopped_worker (struct trial *trial, struct err *err)
{
    if (signal_worker (trial, "STOP", err) < 0)
        return -1;
    trial->stopped = true;
    if (wait_until (trial, is_told_silent, "sliceup status tells that a stopped worker is silent", err) < 0 ||
        signal_worker (trial, "CONT", err) < 0)
        return -1;
    trial->stopped = false;
    return check_passed (trial, err);
}

static int try_killed_coordinator (struct trial *trial, struct err *err)
{
    if (wait_until (trial, has_results, "results are recorded", err) < 0)
        return -1;
    if (!trial->coordinator || kill (trial->coordinator, SIGKILL) < 0 || waitpid (trial->coordinator, NULL, 0) < 0)
        return err_set (err, ERR_LIMIT, "the run ended before its coordinator could be killed");
    trial->coordinator = 0;
    trial->exit_status = SLICEUP (trial, "resume", trial->dir.id);
    return check_passed (trial, err);
}

static int try_second_coordinator (struct trial *trial, struct err *err)
{
    int status = SLICEUP (trial, "resume", trial->dir.id);
    if (status != EXIT_COULD_NOT)
        return err_set (err, ERR_STATE, "sliceup resume of a run that is driven ended with exit status %d", status);
    return check_passed (trial, err);
}

/* Of the child alone: its descriptors are shared with it for a moment. */
static uint32_t close_connections (pid_t pid)
{
    uint32_t n = 0;
    LOCAL_FD pidfd = pidfd_open (pid, 0);
    for (int i = 0; pidfd >= 0 && i < FDS_MAX; i++) {
        struct sockaddr_storage peer;
        socklen_t len = sizeof peer;
        LOCAL_FD fd = pidfd_getfd (pidfd, i, 0);
        n += fd >= 0 && getpeername (fd, (struct sockaddr *) &peer, &len) == 0 &&
             (peer.ss_family == AF_INET || peer.ss_family == AF_INET6) && shutdown (fd, SHUT_RDWR) == 0;
    }
    return n;
}

static int try_cut_links (struct trial *trial, struct err *err)
{
    if (close_connections (trial->coordinator) == 0)
        return err_set (err, ERR_LIMIT, "this system lets nobody close the connections of a child (pidfd_getfd)");
    for (uint32_t i = 1; i < CUTS && trial->coordinator; i++) {
        nap (trial->selftest);
        if (i % LOOKS_A_CUT == 0)
            (void) close_connections (trial->coordinator);
    }
    return check_passed (trial, err);
}

/* Looked for in the second rung: the worker's own end takes everything along. */
static int try_left_process (struct trial *trial, struct err *err)
{
    trial->asked = trial->selftest->hosts;
    trial->of_first = true;
    if (wait_until (trial, is_at_second_rung, "the second rung begins", err) < 0)
        return -1;
    if (!is_gone (trial))
        return err_set (err, ERR_STATE, "what a program of the first rung started lives in the second");
    trial->of_first = false;
    return check_passed (trial, err);
}

static int try_cancel (struct trial *trial, struct err *err)
{
    int status = SLICEUP (trial, "cancel", trial->dir.id);
    if (wait_until (trial, is_over, "the end of a cancelled run", err) < 0)
        return -1;
    return status == EXIT_HOLDS && trial->exit_status == EXIT_CANCELLED
               ? 0
               : err_set (err, ERR_STATE, "sliceup cancel ended with exit status %d, and the run with %d", status,
                          trial->exit_status);
}

#define STEADY "echo begun; sleep $STEADY_S; echo over", 0
#define STEADY_TWICE "echo begun; sleep $((2 * STEADY_S)); echo over", 0 /* until sliceup exec has reached its host */
static struct promise promises[] = {
    { "a dead worker is named, and its program is dead", "SIGKILL to a worker",
      "sleep 600 >/dev/null 2>&1 & " STEADY_TWICE, .attempt = try_killed_worker },
    { "a silent worker is told, and nothing is lost", "SIGSTOP, SIGCONT to a worker", STEADY_TWICE,
      .attempt = try_stopped_worker },
    { "resume loses nothing and starts nothing twice", "SIGKILL to the coordinator", STEADY,
      .attempt = try_killed_coordinator },
    { "a run has one coordinator", "resume while it is driven", STEADY, .attempt = try_second_coordinator },
    { "workers connect again, and nothing is lost", "their connections are closed", STEADY, .attempt = try_cut_links },
    { "what a program started ends with it", "a process leaves its session",
      "(trap \"\" HUP INT TERM; setsid sleep 600 >/dev/null 2>&1 &); echo begun; sleep 0.2; echo over", 0,
      .attempt = try_left_process },
    { "cancel ends what does not listen", "SIGINT and SIGTERM are ignored",
      "trap \"\" INT TERM; echo begun; while :; do sleep 60; done", 0, .attempt = try_cancel },
    { "what a program prints arrives whole", "1 MB, as fast as it may",
      "echo begun; for i in 1 2 3 4 5; do head -c 200000 /dev/zero | tr \"\\0\" x; sleep 0.8; done; echo over",
      PRINTED_BYTES, .attempt = check_passed },
};
enum { PROMISES_N = sizeof promises / sizeof promises[0] };

/* ---- a try ---- */

static int begin (struct trial *trial, struct err *err)
{
    const struct promise *promise = trial->promise;
    const char *name = text_format (&trial->arena, "%td.%u", promise - promises + 1, trial->number + 1).ptr;
    uint32_t steady_s = trial->selftest->given ? STEADY_S : STEADY_HERE_S;
    struct text ladder = text_format (
        &trial->arena,
        "ladder: selftest\nrungs:\n  - {id: first, command: [env, STEADY_S=%u, sh, -c, '%s']}\n"
        "  - {id: second, command: [sh, -c, 'echo begun; sleep %u; echo over']}\n",
        steady_s, promise->program, promise->attempt == try_left_process ? steady_s : 0);
    if (run_own_home (&trial->cli, trial->selftest->folder, name, &trial->home, err) < 0 ||
        atomic_file_write (path_of (trial, "ladder.yaml"), ladder.ptr, ladder.len, 0600, err) < 0)
        return -1;
    trial->coordinator = start_coordinator (trial);
    if (wait_until (trial, is_begun, "programs begin on all hosts", err) == 0 &&
        (trial->coordinator || trial->exit_status < EXIT_USAGE))
        return 0;
    return err_set (err, ERR_IO, "a run of the selftest could not begin: see %s", path_of (trial, "run"));
}

/* Whatever came of it, its workers and its coordinator end. */
static void end (struct trial *trial)
{
    struct err ignored = { 0 };
    if (trial->stopped)
        (void) signal_worker (trial, "CONT", &ignored);
    if (trial->follow && !trial->board->ended)
        (void) SLICEUP (trial, "cancel", "--now", trial->dir.id);
    if (trial->coordinator && kill (trial->coordinator, SIGKILL) == 0)
        (void) waitpid (trial->coordinator, NULL, 0);
    follow_close (trial->follow);
    board_destroy (trial->board);
    arena_release (&trial->arena);
}

static int try_once (struct selftest *selftest, struct promise *promise, uint32_t number)
{
    struct trial trial = {
        .selftest = selftest, .promise = promise, .number = number, .cli = *selftest->cli, .exit_status = EXIT_COULD_NOT
    };
    struct err err = { 0 };
    uint64_t began_ms = clock_boot_ms ();
    trial.board = board_create (BOARD_JUDGED_STATE);
    trial.host = number % selftest->plan.hosts.n;
    int rc = begin (&trial, &err);
    if (rc == 0 && (rc = promise->attempt (&trial, &err)) == 0) {
        trial.asked = selftest->hosts;
        rc = wait_until (&trial, is_gone, "no worker and no program of the run is left on its hosts", &err);
    }
    end (&trial);
    uint64_t took_ms = clock_boot_ms () - began_ms;
    if (selftest->interrupted)
        return EXIT_CANCELLED;
    if (rc == 0)
        (void) folder_remove (trial.home.path, NULL);
    selftest->stays |= rc < 0;
    promise->longest_ms = took_ms > promise->longest_ms ? took_ms : promise->longest_ms;
    promise->kept += rc == 0;
    promise->tried += err.code != ERR_LIMIT && err.code != ERR_IO;
    if (rc < 0 && !promise->why.len) {
        promise->why = text_copy (&selftest->arena, text_of (err.text));
        promise->next = text_format (&selftest->arena, "sliceup%s explain", trial.home.hint);
    }
    return err.code == ERR_IO ? cli_fail (selftest->cli, &err) : EXIT_HOLDS;
}

static void print_row (const struct promise *row)
{
    printf ("%-48s %-30s %5u %5u %7.1f s\n", row->promise, row->fault, row->tried, row->kept,
            (double) row->longest_ms / 1000);
    if (row->why.len) {
        LOCAL_BUF why = { .max = 16 * ERR_TEXT_BYTES };
        buf_escaped (&why, row->why, 0); /* it may quote a host */
        buf_escaped_after (&why, "; next: ", row->kept < row->tried ? row->next : (struct text){ 0 }, 0);
        printf ("  %s: %s\n", row->kept < row->tried ? "broken" : "not tried", buf_c (&why));
    }
    fflush (stdout);
}

static int try_all (struct selftest *selftest, uint32_t tries, bool json)
{
    int status = EXIT_HOLDS, broken = EXIT_HOLDS;
    if (!json)
        printf ("%-48s %-30s %5s %5s %9s\n", "PROMISE", "FAULT", "TRIED", "KEPT", "LONGEST");
    for (struct promise *row = promises; row < promises + PROMISES_N && status == EXIT_HOLDS; row++) {
        for (uint32_t n = 0; n < tries && status == EXIT_HOLDS; n++) {
            if (!json && !selftest->cli->plain)
                printf ("%s: try %u of %u\r", row->promise, n + 1, tries);
            status = try_once (selftest, row, n);
        }
        if (!json)
            print_row (row);
        broken = row->kept < row->tried ? EXIT_BROKEN : broken;
    }
    return status ? status : broken;
}

static int print_json (const struct selftest *selftest, int status)
{
    json_t *rows = json_array ();
    for (const struct promise *row = promises; row < promises + PROMISES_N; row++)
        json_array_append_new (rows,
                               json_pack ("{s:s, s:s, s:i, s:i, s:I, s:s?, s:s?}", "promise", row->promise, "fault",
                                          row->fault, "tried", (int) row->tried, "kept", (int) row->kept, "longest_ms",
                                          (json_int_t) row->longest_ms, "why", row->why.ptr, "next", row->next.ptr));
    int written = cli_print_json (selftest->cli, "sliceup.selftest/1",
                                  json_pack ("{s:s?, s:i, s:i, s:o}", "slice", selftest->given, "hosts_n",
                                             (int) selftest->plan.hosts.n, "exit_status", status, "promises", rows));
    return written == EXIT_HOLDS ? status : written;
}

/* ---- the command ---- */

static int make_folder (struct selftest *selftest, struct err *err)
{
    const char *below = getenv ("TMPDIR");
    char wanted[512];
    snprintf (wanted, sizeof wanted, "%s/sliceup-selftest-XXXXXX", below && below[0] == '/' ? below : "/tmp");
    LOCAL_MEM char *real = mkdtemp (wanted) ? realpath (wanted, NULL) : NULL;
    if (!real || strlen (real) >= sizeof selftest->folder)
        return err_errno (err, ERR_IO, "cannot make a folder for the runs of the selftest, %s", wanted);
    snprintf (selftest->folder, sizeof selftest->folder, "%s", real);
    snprintf (selftest->slice, sizeof selftest->slice, "%s/slice.yaml", real);
    if (!selftest->given)
        return atomic_file_write (selftest->slice, slice_here, sizeof slice_here - 1, 0600, err);
    return realpath (selftest->given, selftest->slice) ? 0 : err_errno (err, ERR_USAGE, "--slice %s", selftest->given);
}

/* Hosts that have a run are left alone. */
static int check_hosts (const struct selftest *selftest, struct err *err)
{
    LOCAL_LIVE_RUNS runs = { 0 };
    if (selftest->plan.launcher == LAUNCHER_JOIN)
        return err_set (err, ERR_USAGE, "--slice %s has launcher: join, whose hosts let nobody in", selftest->given);
    if (!selftest->given || !selftest->cli->home[0])
        return 0;
    if (live_runs_read (selftest->cli->home, true, &runs, err) < 0)
        return -1;
    return live_runs_check_hosts (&runs, selftest->cli->hint, &selftest->plan, NULL, err);
}

static int prepare (struct selftest *selftest)
{
    struct err err = { 0 };
    struct plan *plan = &selftest->plan;
    if (make_folder (selftest, &err) < 0)
        return cli_fail (selftest->cli, &err);
    struct cli own = *selftest->cli;
    own.home = own.home_named = selftest->folder; /* the user's need not be there */
    int status = planning_load_slice_only (&own, selftest->slice, &selftest->arena, plan);
    if (status != EXIT_HOLDS || check_hosts (selftest, &err) < 0)
        return status ? status : cli_fail (selftest->cli, &err);
    selftest->hosts = plan_fold_all_hosts (plan, SET_MAX_BYTES, &selftest->arena);
    selftest->timeout_ms = SPARE_MS + plan->limits.join_ms + plan->limits.lost_ms + 2 * plan->limits.stop_ms +
                           plan->limits.cascade_ms;
    sigemptyset (&selftest->signals);
    sigaddset (&selftest->signals, SIGINT);
    sigaddset (&selftest->signals, SIGTERM);
    sigaddset (&selftest->signals, SIGHUP);
    sigprocmask (SIG_BLOCK, &selftest->signals, NULL);
    signal (SIGCHLD, SIG_DFL); /* ignored, the pids of our children would be free before we look */
    return EXIT_HOLDS;
}

static int selftest_run (struct cli *cli, const struct cli_arguments *arguments)
{
    bool json = arguments->values[CLI_JSON];
    struct selftest selftest = { .cli = cli, .given = arguments->values[CLI_SLICE] };
    int status = prepare (&selftest);
    bool tried = status == EXIT_HOLDS;
    if (tried)
        status = try_all (&selftest, cli_number (arguments, SELFTEST_TRIES, TRIES), json);
    if (tried && json)
        status = print_json (&selftest, status);
    if (selftest.folder[0] && !selftest.stays)
        (void) folder_remove (selftest.folder, NULL);
    arena_release (&selftest.arena);
    return status;
}

static const struct cli_option options[] = {
    { CLI_SLICE, "--slice", .value = "FILE", .help = "on the hosts of this slice file, not on three of this machine",
      .kind = KIND_SLICE },
    { SELFTEST_TRIES, "--tries", .value = "N", .help = "try each promise so often (default: 2)", .kind = KIND_NUMBER,
      .most = TRIES_MAX },
    { OPTION_JSON ("print JSON: docs/spec/selftest.schema.json") },
    { 0 },
};

const struct cli_command selftest_command = {
    .name = "selftest",
    .task = TASK_FIRST,
    .summary = "kill, stop and cut runs of its own, and say which promises were kept",
    .help =
        "Begins small runs of its own, does to each what goes wrong with real ones, and says which promises were kept "
        "how often. The programs of these runs are those of a shell: no package, cache or device is used. All of it "
        "lies "
        "in a new folder below TMPDIR, which is removed unless a try went wrong.\n"
        "\n"
        "Harmed are only the coordinator of such a run, and a worker of it, known by its pid and the time when it "
        "began. "
        "Links are cut by closing the connections of that coordinator; a network that loses packets is not tried.\n"
        "\n"
        "With --slice the hosts of the file are tried, before a big launch: by its limits, reached as it says, and "
        "signalled by sliceup exec. Nothing else of it counts: no environment is built, no cache is touched, and no "
        "on_end runs. The hosts keep sliceup's worker and the folders of these runs below start.directory. Hosts with "
        "a "
        "run of this home are refused, and so are those that join by themselves.",
    .examples = "sliceup selftest\n"
                "sliceup selftest --slice slice.yaml --tries 1\n",
    .exit_status = "0 every promise that was tried was kept, 1 one was broken, 2 usage or configuration, 3 a run could "
                   "not begin, 130 interrupted.",
    .options = options,
    .needs_no_home = true,
    .run = selftest_run,
};
