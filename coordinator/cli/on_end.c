#include "coordinator/cli/climb.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/program_start.h"
#include "common/model/hostset.h"

#define DONE "on_end.done"
/* A set of hosts in the environment: the kernel takes 128 KiB of a variable. */
enum { LOOK_MS = 100, VARIABLES_MAX = 4096, SET_MAX_BYTES = 64 * 1024 };

/* ---- what it is given ---- */

static bool on_end_is_own (const char *variable)
{
    static const char *const own[] = { "SLICEUP_RUN=",  "SLICEUP_SLICE=",    "SLICEUP_OUTCOME=",
                                       "SLICEUP_EXIT=", "SLICEUP_SENTENCE=", "SLICEUP_HOSTS_" };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strncmp (variable, own[i], strlen (own[i])) == 0)
            return true;
    return false;
}

/* The hosts that failed by themselves for `owner`; NONE: for whatever. Empty, too, where they would not fit. */
static struct text hosts_of (const struct run_hosts *hosts, enum owner owner, struct arena *arena)
{
    LOCAL_MEM struct text *names = mem_array (hosts->failed.n + 1, sizeof *names);
    LOCAL_BUF set = { .max = SET_MAX_BYTES };
    uint32_t n = 0;
    for (uint32_t i = 0; i < hosts->failed.n; i++)
        if (!owner || hosts->failed.items[i].owner == owner)
            names[n++] = hosts->failed.items[i].host;
    hostset_fold (names, n, &set);
    return set.overflow ? TEXT_LIT ("") : text_copy (arena, buf_as_text (&set));
}

/* SLICEUP_HOSTS_FAILED, and SLICEUP_HOSTS_DEVICE and the like of each owner that has some. */
static int add_hosts (char **out, const struct run_hosts *hosts, struct arena *arena)
{
    int n = 0;
    for (enum owner owner = OWNER_NONE; owner < OWNER_N; owner++) {
        struct text set = hosts_of (hosts, owner, arena), name = text_of (enum_name_of (&owner_names, owner));
        char *text = (char *) text_format (arena, "SLICEUP_HOSTS_%.*s=%.*s", owner ? (int) name.len : 6,
                                           owner ? name.ptr : "FAILED", TEXT_ARG (set))
                         .ptr;
        for (char *at = text; *at != '='; at++)
            *at = (char) toupper (*at);
        if (!owner || set.len)
            out[n++] = text;
    }
    return n;
}

static char **on_end_environment_of (const struct run_dir *dir, const struct run_end *end, struct arena *arena)
{
    char **out = arena_array (arena, VARIABLES_MAX + 1, sizeof *out);
    int n = 0;
    out[n++] = (char *) text_format (arena, "SLICEUP_RUN=%s", dir->id).ptr;
    out[n++] = (char *) text_format (arena, "SLICEUP_SLICE=%.*s", TEXT_ARG (end->slice)).ptr;
    out[n++] = (char *) text_format (arena, "SLICEUP_OUTCOME=%s", enum_name_of (&outcome_names, end->outcome)).ptr;
    out[n++] = (char *) text_format (arena, "SLICEUP_EXIT=%u", end->exit_status).ptr;
    out[n++] = (char *) text_format (arena, "SLICEUP_SENTENCE=%.*s", TEXT_ARG (end->sentence)).ptr;
    n += add_hosts (out + n, end->hosts, arena);
    for (char **variable = environ; *variable && n < VARIABLES_MAX; variable++)
        if (!on_end_is_own (*variable))
            out[n++] = *variable;
    return out;
}

static const char **words_of (const struct on_end *on_end, struct arena *arena)
{
    const char **words = arena_array (arena, on_end->command.n + 1, sizeof *words);
    for (uint32_t i = 0; i < on_end->command.n; i++)
        words[i] = text_copy (arena, on_end->command.items[i]).ptr;
    return words;
}

/* Its standard output is our standard error: ours may hold JSON. */
static int on_end_start (const struct cli *cli, const struct run_dir *dir, const struct run_end *end, pid_t *pid)
{
    LOCAL_ARENA arena = { 0 };
    char folder[RUN_PATH_BYTES];
    const struct program program = { .argv = words_of (end->on_end, &arena),
                                     .envp = on_end_environment_of (dir, end, &arena),
                                     .in = open (RUN_PATH (dir, "receipt.json"), O_RDONLY | O_CLOEXEC),
                                     .out = 2,
                                     .error = 2,
                                     .folder = run_dir_path (dir, "", folder),
                                     .apart = POSIX_SPAWN_SETSID };
    mode_t own = umask (cli->umask);
    int rc = program.in < 0 ? errno : program_start (pid, &program);
    (void) umask (own);
    fd_close (program.in);
    return rc;
}

/* ---- its end ---- */

static bool interrupted (void)
{
    static const struct timespec at_once = { 0 };
    sigset_t set;
    sigemptyset (&set);
    sigaddset (&set, SIGINT);
    sigaddset (&set, SIGTERM);
    return sigtimedwait (&set, NULL, &at_once) > 0;
}

/* NULL: it ended by itself, and is not reaped yet. */
static const char *on_end_wait_for (pid_t pid, uint64_t timeout_ms)
{
    uint64_t until_ms = clock_boot_ms () + timeout_ms;
    struct pollfd ended = { .fd = pidfd_open (pid, 0), .events = POLLIN };
    const char *why = ended.fd < 0 ? "it could not be watched" : NULL;
    while (!why && poll (&ended, 1, LOOK_MS) == 0)
        why = interrupted () ? "a signal came" : clock_boot_ms () >= until_ms ? "its time was over" : NULL;
    fd_close (ended.fd);
    return why;
}

static void on_end_say (const struct log *log, const struct run_end *end, const char *killed, int status)
{
    char limit[DURATION_TEXT_BYTES];
    LOCAL_BUF line = { .max = 16 * TEXT_MAX_BYTES };
    buf_puts (&line, "the command of on_end, ");
    buf_escaped (&line, end->on_end->command.items[0], 0);
    if (killed)
        buf_printf (&line, ", was killed, since %s (limit %s)", killed,
                    duration_print (end->on_end->timeout_ms, limit));
    else if (WIFSIGNALED (status))
        buf_printf (&line, ", was killed by signal %d", WTERMSIG (status));
    else
        buf_printf (&line, ", exited with status %d", WEXITSTATUS (status));
    log_print (log, "%s; the run's outcome stays as it is", buf_c (&line));
}

static void mark_done (const struct log *log, const struct run_dir *dir, int status)
{
    char text[32];
    struct err err = { 0 };
    int len = snprintf (text, sizeof text, "%d\n", WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status));
    if (atomic_file_write (RUN_PATH (dir, DONE), text, (size_t) len, 0600, &err) < 0)
        log_print (log, "sliceup resume would run the command of on_end again: %s", err.text);
}

void on_end_run (const struct cli *cli, const struct run_dir *dir, const struct run_end *end)
{
    const struct log *log = &cli->log;
    pid_t pid = 0;
    int status = 0;
    if (end->on_end->command.n == 0 || access (RUN_PATH (dir, DONE), F_OK) == 0)
        return;
    int rc = on_end_start (cli, dir, end, &pid);
    if (rc != 0) {
        log_print (log, "the command of on_end, %.*s, cannot be started: %s; the run's outcome stays as it is",
                   TEXT_ARG (end->on_end->command.items[0]), strerror (rc));
        return;
    }
    const char *killed = on_end_wait_for (pid, end->on_end->timeout_ms);
    (void) kill (-pid, SIGKILL); /* its group, also what it left behind; the pid is its own until it is reaped */
    while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (killed || status != 0)
        on_end_say (log, end, killed, status);
    mark_done (log, dir, status);
}
