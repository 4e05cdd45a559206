#include "coordinator/courier/transport.h"

#include "common/io/clock.h"
#include "common/io/fd.h"
#include "coordinator/courier/bootstrap_protocol.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time from SIGTERM to SIGKILL, which would leave a waiting job in the queue: less than the coordinator's grace for a
 * late courier (launch_private.h). */
enum { TERM_MS = 4 * 1000, LOOK_MS = 20, ARGUMENTS_MAX = 32 };
enum { NO_PROGRAM = 127, SAID_MAX_BYTES = 200 }; /* NO_PROGRAM: the shell's status */

struct transport_srun {
    struct transport transport;
    pid_t pid; /* 0: reaped */
    int status;
    int in, out, error; /* -1: closed */
};

/* ---- the running program ---- */

static size_t transport_srun_watch (struct transport *transport, bool to_send, struct pollfd entries[TRANSPORT_FDS_MAX])
{
    const struct transport_srun *srun = (const struct transport_srun *) transport;
    entries[0] = (struct pollfd){ .fd = srun->out, .events = POLLIN };
    entries[1] = (struct pollfd){ .fd = srun->error, .events = POLLIN };
    entries[2] = (struct pollfd){ .fd = to_send ? srun->in : -1, .events = POLLOUT };
    return 3;
}

static void drop (int *fd)
{
    fd_close (*fd); /* pipes: an error loses nothing */
    *fd = -1;
}

static ssize_t transport_srun_receive (struct transport *transport, enum transport_stream stream, void *bytes,
                                       size_t max)
{
    struct transport_srun *srun = (struct transport_srun *) transport;
    int *fd = stream == TRANSPORT_ERROR ? &srun->error : &srun->out;
    ssize_t n = *fd < 0 ? 0 : read (*fd, bytes, max);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n > 0)
        return n;
    drop (fd);
    return -1;
}

static ssize_t transport_srun_say (struct transport *transport, const void *bytes, size_t len)
{
    struct transport_srun *srun = (struct transport_srun *) transport;
    ssize_t n = srun->in < 0 ? -1 : write (srun->in, bytes, len); /* SIGPIPE is ignored (main.c) */
    return n < 0 && srun->in >= 0 && (errno == EAGAIN || errno == EINTR) ? 0 : n;
}

static void transport_srun_reap (struct transport_srun *srun, int flags)
{
    if (srun->pid > 0 && waitpid (srun->pid, &srun->status, flags) == srun->pid)
        srun->pid = 0;
}

static bool ended (struct transport *transport, struct buf *how)
{
    struct transport_srun *srun = (struct transport_srun *) transport;
    transport_srun_reap (srun, WNOHANG);
    if (srun->pid > 0)
        return false;
    if (WIFEXITED (srun->status))
        buf_printf (how, "exit status %d", WEXITSTATUS (srun->status));
    else
        buf_printf (how, "srun ended by signal %d", WTERMSIG (srun->status));
    return true;
}

static void wait_reaped (struct transport_srun *srun, uint64_t timeout_ms)
{
    uint64_t until_ms = clock_boot_ms () + timeout_ms;
    for (transport_srun_reap (srun, WNOHANG); srun->pid > 0 && clock_boot_ms () < until_ms;
         transport_srun_reap (srun, WNOHANG))
        (void) poll (NULL, 0, LOOK_MS);
}

static void close_transport (struct transport *transport, uint64_t leave_ms)
{
    struct transport_srun *srun = (struct transport_srun *) transport;
    drop (&srun->in);
    wait_reaped (srun, leave_ms);
    if (srun->pid > 0)
        (void) kill (srun->pid, SIGTERM); /* ours and not reaped: the number is not anybody else's */
    wait_reaped (srun, TERM_MS);
    if (srun->pid > 0) {
        (void) kill (srun->pid, SIGKILL);
        transport_srun_reap (srun, 0);
    }
    drop (&srun->out);
    drop (&srun->error);
    mem_free (srun);
}

/* ---- its refusals ---- */

/* slurm_errno.c of Slurm 22.05 has the texts. */
static const struct {
    const char *words;
    enum step step;
    const char *advice;
} refusals[] = {
    { "Invalid partition", STEP_CONNECT, "correct slurm.partition (sinfo lists them)" },
    { "Invalid account", STEP_AUTHENTICATION, "correct slurm.account (sacctmgr show associations)" },
    { "not permitted", STEP_AUTHENTICATION, "ask for access, or choose another partition or account" },
    { "ccess denied", STEP_AUTHENTICATION, "ask for access, or choose another partition or account" },
    { "uthentication", STEP_AUTHENTICATION, "start munged on this machine and on Slurm's machines, with the same key" },
    { "munge", STEP_AUTHENTICATION, "start munged on this machine and on Slurm's machines, with the same key" },
    { "Invalid node name", STEP_RESOLVE, "use Slurm's host names (sinfo -N)" },
    { "not in this job", STEP_RESOLVE, "this host is not in the allocation (scontrol show hostnames lists its hosts)" },
    { "node list", STEP_RESOLVE, "use Slurm's host names (sinfo -N)" },
    { "node configuration is not available", STEP_CONNECT, "ask for fewer resources, or for other nodes" },
    { "contact slurm controller", STEP_CONNECT, "check that slurmctld is up" },
    { "configuration source", STEP_CONNECT, "check that this machine has a slurm.conf" },
    { "Invalid job id", STEP_CONNECT, "this allocation has ended: start again in a new one" },
    { "cannot be run", STEP_CONNECT, "check that srun is on the PATH of this machine" },
};

static void transport_srun_refuse (struct text said, const char *advice, struct err *err)
{
    LOCAL_BUF words = { .max = SAID_MAX_BYTES };
    transport_mask_job_ids (text_clip (said, SAID_MAX_BYTES), &words);
    err_set (err, ERR_REFUSED, "Slurm did not start the job step: %.*s%s%s", TEXT_ARG (buf_as_text (&words)),
             *advice ? "; " : "", advice);
}

static bool transport_srun_explain (struct text received, enum step *step, struct err *err)
{
    struct text said = transport_last_line (received);
    const char *advice = "";
    uint32_t at;
    if (!text_find (received, TEXT_LIT ("srun: "), &at))
        return false;
    *step = STEP_CONNECT;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        if (!*advice && text_find (received, text_of (refusals[i].words), &at)) {
            *step = refusals[i].step;
            advice = refusals[i].advice;
            struct text rest = { received.ptr + at, received.len - at };
            said = transport_last_line ((struct text){ received.ptr, at + text_take_until (&rest, '\n').len });
        }
    }
    transport_srun_refuse (said, advice, err);
    return true;
}

static const struct transport_ops ops = { .watch = transport_srun_watch,
                                          .receive = transport_srun_receive,
                                          .say = transport_srun_say,
                                          .ended = ended,
                                          .explain = transport_srun_explain,
                                          .close = close_transport };

/* ---- getting there ---- */

struct arguments {
    const char *items[ARGUMENTS_MAX + 1];
    size_t n;
    struct arena arena;
};

static void transport_srun_add (struct arguments *arguments, const char *option, const char *value)
{
    assert (arguments->n < ARGUMENTS_MAX);
    arguments->items[arguments->n++] = value ? text_format (&arguments->arena, "%s%s", option, value).ptr : option;
}

/* The names were checked (request.c), and what the user adds comes before what must hold. A worker gets the same
 * variables as a local one (launch_process.c), not all that are set here. */
static void arguments_of (struct arguments *arguments, const struct request *request)
{
    const struct request_slurm *slurm = &request->slurm;
    transport_srun_add (arguments, "srun", NULL);
    for (uint32_t i = 0; i < slurm->options_n; i++)
        transport_srun_add (arguments, slurm->options[i], NULL);
    if (*slurm->account)
        transport_srun_add (arguments, "--account=", slurm->account);
    if (*slurm->partition)
        transport_srun_add (arguments, "--partition=", slurm->partition);
    if (getenv ("SLURM_JOB_ID"))
        transport_srun_add (arguments, "--overlap", NULL);
    transport_srun_add (arguments, "--nodelist=", request->host);
    const char *const fixed[] = {
        "--nodes=1", "--ntasks=1", "--job-name=sliceup", "--unbuffered", "--chdir=/",     "--export=PATH,HOME,LANG,TZ",
        "/bin/sh",   "-c",         "eval \"$1\"",        "sh",           bootstrap_script
    };
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        transport_srun_add (arguments, fixed[i], NULL);
}

/* Unsets variables that srun takes as options (srun(1), INPUT ENVIRONMENT VARIABLES) and no option undoes, because each
 * would change the data in the pipes. */
static void forget_streams (void)
{
    static const char *const names[] = { "SLURM_LABELIO",    "SLURM_STDINMODE",  "SLURM_STDOUTMODE",
                                         "SLURM_STDERRMODE", "SLURM_MULTI_PROG", "SLURM_PTY" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void) unsetenv (names[i]); /* fails for a name with '=' only */
}

/* In the child. srun must not outlive us: its step would hold the node. */
static _Noreturn void become (const struct arguments *arguments, const int ends[3], pid_t parent)
{
    forget_streams ();
    signal (SIGPIPE, SIG_DFL);
    if (prctl (PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid () != parent)
        _exit (NO_PROGRAM);
    for (int i = 0; i < 3; i++)
        if (dup2 (ends[i], i) < 0)
            _exit (NO_PROGRAM);
    execvp (arguments->items[0], (char *const *) arguments->items);
    dprintf (2, "srun: cannot be run: %s\n", strerrordesc_np (errno));
    _exit (NO_PROGRAM);
}

static void transport_srun_close_all (const int fds[6])
{
    for (int i = 0; i < 6; i++)
        fd_close (fds[i]);
}

/* [0] and [1] of each are as pipe(2) has them; ours do not block. */
static int open_pipes (int pipes[6])
{
    for (int i = 0; i < 6; i++)
        pipes[i] = -1;
    for (int i = 0; i < 6; i += 2)
        if (pipe2 (pipes + i, O_CLOEXEC) != 0)
            return -1;
    for (int i = 0; i < 3; i++)
        if (fcntl (pipes[(int[]){ 1, 2, 4 }[i]], F_SETFL, O_NONBLOCK) != 0)
            return -1;
    return 0;
}

static int transport_srun_start (struct transport_srun *srun, const struct arguments *arguments, struct err *err)
{
    int pipes[6];
    pid_t parent = getpid ();
    if (open_pipes (pipes) != 0 || (srun->pid = fork ()) < 0) {
        err_errno (err, ERR_IO, "cannot create a pipe or process for srun");
        transport_srun_close_all (pipes);
        return -1;
    }
    if (srun->pid == 0)
        become (arguments, (int[]){ pipes[0], pipes[3], pipes[5] }, parent);
    transport_srun_close_all ((int[]){ pipes[0], -1, -1, pipes[3], -1, pipes[5] });
    srun->in = pipes[1];
    srun->out = pipes[2];
    srun->error = pipes[4];
    return 0;
}

struct transport *transport_srun_open (const struct request *request, struct err *err)
{
    struct transport_srun *srun = mem_alloc (sizeof *srun);
    struct arguments arguments = { 0 };
    *srun = (struct transport_srun){ .transport.ops = &ops, .in = -1, .out = -1, .error = -1 };
    arguments_of (&arguments, request);
    int rc = transport_srun_start (srun, &arguments, err);
    arena_release (&arguments.arena);
    if (rc == 0)
        return &srun->transport;
    mem_free (srun);
    return NULL;
}
