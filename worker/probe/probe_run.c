#include "worker/probe/probe_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/proc.h"
#include "worker/process/self.h"
#include "worker/process/spawn.h"
#include "worker/process/subprocess.h"

/* ---- strays ---- */

/* Processes that a plugin started and left: ended with it, also when they left its process group.
 *
 * Orphans below this process become its children (prctl(2), PR_SET_CHILD_SUBREAPER), and are found there. Children that
 * it had before are left alone. It knows nothing of plugins. One thread, in a process that has no other. */
enum { STRAYS_MAX = 1024 };

struct children_before {
    int before[STRAYS_MAX];
    uint32_t before_n;
};

/* One that outlives SIGKILL so long is held by a driver; one that goes on forking is for who contains us. */
enum { END_WAIT_MS = 5000, LOOK_AGAIN_MS = 5 };

static uint32_t list_children (pid_t *out)
{
    char thread[16];
    snprintf (thread, sizeof thread, "%d", (int) getpid ());
    return proc_children ("self", thread, out, STRAYS_MAX);
}

/* Before the one that may leave some is started. */
static int strays_adopt (struct children_before *strays, struct err *err)
{
    strays->before_n = list_children (strays->before);
    if (prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return err_errno (err, ERR_IO, "the probe cannot become the parent of processes that a plugin leaves running");
    return 0;
}

static bool was_before (const struct children_before *strays, int pid)
{
    for (uint32_t i = 0; i < strays->before_n; i++)
        if (strays->before[i] == pid)
            return true;
    return false;
}

/* A child that is not collected keeps its number, so the signal reaches nobody else. */
static bool end_one (int pid)
{
    int status = 0;
    (void) kill (pid, SIGKILL); /* it may be dead already */
    return waitpid (pid, &status, WNOHANG) == pid && WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL;
}

/* False: there is none. The children of one that is killed become ours, so it takes more than one look. */
static bool end_children (const struct children_before *strays, uint32_t *killed)
{
    int children[STRAYS_MAX];
    uint32_t n = list_children (children), ours = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (was_before (strays, children[i]))
            continue;
        *killed += end_one (children[i]);
        ours++;
    }
    return ours > 0;
}

/* When that one is collected: kills what is left, for a few seconds at most. How many it killed. */
static uint32_t strays_end (const struct children_before *strays)
{
    uint64_t deadline_ms = clock_boot_ms () + END_WAIT_MS;
    uint32_t killed = 0;
    while (end_children (strays, &killed) && clock_boot_ms () < deadline_ms)
        (void) poll (NULL, 0, LOOK_AGAIN_MS); /* an interrupted wait is a shorter one */
    return killed;
}

/* ---- probe run ---- */

extern char **environ;

/* What is left of the child after SIGKILL is the kernel's: a driver that does not let go must not hold us. */
enum { REAP_WAIT_MS = 10 * 1000, CHUNK_BYTES = 16 * 1024, REST_CHUNKS = 64, POLL_MOST_MS = 60 * 1000, FIXED_WORDS = 5 };

struct watch {
    const struct probe_request *request;
    struct probe_report *report;
    pid_t pid;
    int pid_fd, reporter_fd, output_fd;
    uint64_t reporter_bytes, echoed_bytes, received_ms;
    struct children_before strays;
};

/* ---- start ---- */

static int start_child (struct watch *watch, int reporter, int output, struct err *err)
{
    const struct probe_request *request = watch->request;
    const char *argv[FIXED_WORDS + OPTIONS_MAX + 1] = { "sliceup-worker", PROBE_WORD, PROBE_CHILD, request->plugin,
                                                        request->client ? PROBE_CHILD_CLIENT : "load" };
    LOCAL_ARENA arena = { 0 };
    assert (request->options_n <= OPTIONS_MAX);
    for (uint32_t i = 0; i < request->options_n; i++)
        argv[FIXED_WORDS + i] = request->options[i];
    struct self_exec start = self_make_exec ((char *const *) (uintptr_t) argv, &arena);
    struct spawn_request child = { .program = start.program,
                                   .argv = start.argv,
                                   .envp = environ,
                                   .directory = NULL,
                                   .output_fd = output,
                                   .channel_fd = reporter,
                                   .is_self = true };
    int rc = spawn_start (&child, &spawn_target_here, &watch->pid, err);
    return rc < 0 ? err_prefix (err, "the process that loads the plugin") : 0;
}

static int start (struct watch *watch, struct err *err)
{
    int reporter[2] = { -1, -1 }, output[2] = { -1, -1 };
    int rc = 0;
    if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reporter) < 0 || pipe2 (output, O_CLOEXEC) < 0 ||
        fcntl (output[0], F_SETFL, O_NONBLOCK) < 0)
        rc = err_errno (err, ERR_IO, "cannot make a pipe to the probe");
    if (rc == 0)
        rc = start_child (watch, reporter[1], output[1], err);
    fd_close (reporter[1]);
    fd_close (output[1]);
    watch->reporter_fd = reporter[0];
    watch->output_fd = output[0];
    if (rc < 0)
        return -1;
    watch->pid_fd = (int) syscall (SYS_pidfd_open, watch->pid, 0);
    return watch->pid_fd < 0 ? err_errno (err, ERR_IO, "cannot watch the probe's process") : 0;
}

/* ---- listening ---- */

/* `bytes`: as they came; NULL: they are no statement. */
static bool receive_statement (struct watch *watch, const struct probe_statement *said, struct text bytes)
{
    struct probe_report *report = watch->report;
    uint64_t now_ms = clock_boot_ms (), ms = now_ms - watch->received_ms;
    uint32_t steps_before = report->steps_n;
    watch->received_ms = now_ms;
    if (!probe_report_receive (report, said, bytes, ms))
        return false;
    if (report->steps_n > steps_before && watch->request->begins)
        watch->request->begins (watch->request->listener, report->steps[report->steps_n - 1].stage);
    return true;
}

static void echo (struct watch *watch, const char *bytes, size_t len)
{
    size_t room = ECHO_BYTES_MAX - watch->echoed_bytes;
    len = len < room ? len : room;
    watch->echoed_bytes += len;
    if (watch->request->echo_fd >= 0)
        (void) fd_write (watch->request->echo_fd, bytes, len); /* a log that cannot be written is no reason to stop */
}

/* The end of an output says what went wrong. */
static void probe_run_keep (struct watch *watch, const char *bytes, size_t len)
{
    struct buf *output = &watch->report->output;
    size_t half = output->max / 2;
    watch->report->output_bytes += len;
    echo (watch, bytes, len);
    if (len > half) {
        bytes += len - half;
        len = half;
    }
    if (output->len + len > output->max) {
        memmove (output->ptr, output->ptr + output->len - half, half);
        output->len = half;
    }
    buf_add (output, bytes, len);
}

/* A chunk at a time, so that one that never ends does not keep us from the clock. False: nothing more comes. */
static bool drain_output (struct watch *watch)
{
    char chunk[CHUNK_BYTES];
    ssize_t got = read (watch->output_fd, chunk, sizeof chunk);
    if (got > 0)
        probe_run_keep (watch, chunk, (size_t) got);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

/* One packet. `*good` becomes false when what comes is not to be used any more: it is not the probe's, or more than a
 * probe says. */
static enum packet drain_reporter (struct watch *watch, bool *good)
{
    struct probe_statement said;
    struct text raw;
    enum packet packet = packet_receive (watch->reporter_fd, &probe_statement_record, &said, &raw,
                                         &watch->report->arena);
    if (packet == PACKET_NONE || packet == PACKET_OVER)
        return packet;
    watch->reporter_bytes += raw.len;
    *good = watch->reporter_bytes <= REPORTER_BYTES_MAX
                ? receive_statement (watch, packet == PACKET_RECORD ? &said : NULL, raw)
                : receive_statement (watch, NULL, TEXT_LIT ("endless"));
    return packet;
}

/* What is there now, and no more than a pipe can hold: whoever is left behind may write on. */
static void drain_rest (struct watch *watch)
{
    bool good = true;
    while (good && drain_reporter (watch, &good) >= PACKET_RECORD)
        ;
    for (int i = 0; i < REST_CHUNKS; i++) {
        errno = 0;
        if (!drain_output (watch) || errno == EAGAIN)
            break;
    }
}

struct open_streams {
    bool reporter, output, good;
}; /* what may still send; good: its statements still count */

/* False: the process is over. */
static bool wait_and_receive (struct watch *watch, struct open_streams *open_streams, int wait_ms)
{
    struct pollfd fds[] = { { .fd = watch->pid_fd, .events = POLLIN },
                            { .fd = open_streams->reporter ? watch->reporter_fd : -1, .events = POLLIN },
                            { .fd = open_streams->output ? watch->output_fd : -1, .events = POLLIN } };
    if (poll (fds, 3, wait_ms) < 0)
        return true;
    if (fds[1].revents)
        open_streams->reporter = drain_reporter (watch, &open_streams->good) != PACKET_OVER;
    if (fds[2].revents)
        open_streams->output = drain_output (watch);
    if (!fds[0].revents || !open_streams->good)
        return true;
    drain_rest (watch);
    return false;
}

/* Until the process ends, babbles, or its time is over. */
static void probe_run_follow (struct watch *watch)
{
    struct open_streams open_streams = { true, true, true };
    uint64_t deadline_ms = clock_boot_ms () + watch->request->limit_ms;
    for (uint64_t now_ms = clock_boot_ms (); open_streams.good && now_ms < deadline_ms; now_ms = clock_boot_ms ()) {
        uint64_t left_ms = deadline_ms - now_ms;
        if (!wait_and_receive (watch, &open_streams, left_ms < POLL_MOST_MS ? (int) left_ms : POLL_MOST_MS))
            return;
    }
    /* One that has said what is wrong and cannot end, since a driver holds it, has still said it. */
    enum probe_end said = watch->report->end;
    if (said == PROBE_RUNNING || said == PROBE_WORKS)
        watch->report->end = PROBE_HUNG;
}

/* ---- the end ---- */

/* False: it outlived SIGKILL so long. */
static bool probe_run_reap (struct watch *watch, int *status)
{
    uint64_t deadline_ms = clock_boot_ms () + REAP_WAIT_MS;
    struct rusage usage;
    pid_t pid = 0;
    while (pid == 0 && clock_boot_ms () < deadline_ms) {
        struct pollfd one = { .fd = watch->pid_fd, .events = POLLIN };
        (void) poll (&one, 1, 1000); /* an interrupted wait is a shorter one */
        pid = wait4 (watch->pid, status, WNOHANG, &usage);
        if (pid < 0 && errno == EINTR)
            pid = 0;
    }
    if (pid == watch->pid)
        watch->report->peak_bytes = (uint64_t) usage.ru_maxrss * 1024;
    return pid == watch->pid;
}

static void probe_run_note_end (struct watch *watch, int status)
{
    struct probe_report *report = watch->report;
    if (report->end != PROBE_RUNNING && !(report->end == PROBE_WORKS && status != 0))
        return;
    if (WIFSIGNALED (status)) {
        report->end = PROBE_CRASHED;
        report->signal = WTERMSIG (status);
    } else {
        report->end = PROBE_LEFT;
        report->status = WEXITSTATUS (status);
    }
}

static void probe_run_note (struct probe_report *report, struct text text)
{
    if (report->notes_n < NOTES_MOST)
        report->notes[report->notes_n++] = text;
}

/* The group is killed before its leader, who cannot leave it, is collected: until then nobody else can have its
 * number. */
static void probe_run_end (struct watch *watch)
{
    int status = 0;
    struct probe_report *report = watch->report;
    if (report->steps_n)
        report->steps[report->steps_n - 1].ms += clock_boot_ms () - watch->received_ms;
    (void) kill (-watch->pid, SIGKILL); /* an error says that nobody is left */
    if (probe_run_reap (watch, &status))
        probe_run_note_end (watch, status);
    else
        probe_run_note (report,
                        text_format (&report->arena, "the probe, process %d, survived SIGKILL: a driver may block it",
                                     (int) watch->pid));
    uint32_t strays = strays_end (&watch->strays);
    if (strays)
        probe_run_note (report,
                        text_format (&report->arena, "the plugin left %u process%s running; the probe ended them",
                                     strays, strays == 1 ? "" : "es"));
}

static void close_watch (struct watch *watch)
{
    fd_close (watch->pid_fd);
    fd_close (watch->reporter_fd);
    fd_close (watch->output_fd);
}

int probe_run (const struct probe_request *request, struct probe_report *report, struct err *err)
{
    struct watch watch = { .request = request, .report = report, .pid_fd = -1, .reporter_fd = -1, .output_fd = -1 };
    report->limit_ms = request->limit_ms;
    report->client = request->client;
    watch.received_ms = clock_boot_ms ();
    int rc = strays_adopt (&watch.strays, err);
    if (rc == 0)
        rc = start (&watch, err);
    if (rc == 0)
        probe_run_follow (&watch);
    if (watch.pid > 0)
        probe_run_end (&watch);
    if (rc == 0)
        probe_judge (report);
    close_watch (&watch);
    return rc;
}
