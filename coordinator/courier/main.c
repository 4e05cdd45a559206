/* main.c - sliceup-courier: takes one worker to one host. */
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "common/io/program_start.h"
#include "coordinator/courier/bootstrap_session.h"

/* ---- watchdog ---- */

/* Ends a courier that waits inside a library, at its deadline or when its coordinator ends.
 *
 * Calls to the name service, an agent or libssh may block for ever. The watchdog is a thread that reports this and ends
 * the process (status 1); the kernel cleans up. It knows only the reporter. The owner's thread starts and stops it, and
 * must not read the input in between. */
struct watchdog {
    struct reporter *reporter;
    uint64_t until_ms;    /* BOOTTIME */
    uint64_t deadline_ms; /* its length, for people */
    int input_fd;         /* borrowed: its end is the coordinator's */
    int wake_fd;
    pthread_t thread;
};

static bool courier_is_over (const struct pollfd *input)
{
    int unread = 0;
    if (!(input->revents & (POLLHUP | POLLRDHUP | POLLERR)))
        return false;
    return ioctl (input->fd, FIONREAD, &unread) != 0 || unread == 0;
}

/* All that a ProxyCommand started: a courier leads its process group, if sliceup started it. */
static void courier_end_group (void)
{
    signal (SIGTERM, SIG_IGN);
    if (getpgrp () == getpid ())
        (void) kill (0, SIGTERM);
}

static void *courier_watch (void *owner)
{
    struct watchdog *watchdog = owner;
    struct pollfd entries[] = { { .fd = watchdog->wake_fd, .events = POLLIN },
                                { .fd = watchdog->input_fd, .events = POLLRDHUP } };
    for (;;) {
        uint64_t now_ms = clock_boot_ms ();
        if (now_ms >= watchdog->until_ms) {
            struct err err;
            reporter_describe_timeout (watchdog->reporter, watchdog->deadline_ms, TEXT_LIT (""), &err);
            reporter_send_refused (watchdog->reporter, err.text);
            courier_end_group (), _exit (1);
        }
        if (poll (entries, 2, (int) (watchdog->until_ms - now_ms)) < 0)
            continue; /* EINTR */
        if (entries[0].revents)
            return NULL;
        if (courier_is_over (&entries[1]))
            courier_end_group (), _exit (1); /* nobody is left to report to */
        if (entries[1].revents)
            entries[1].fd = -1; /* it wrote more before it ended: the owner reads that */
    }
}

/* The first four members are filled in. */
static int watchdog_start (struct watchdog *watchdog, struct err *err)
{
    watchdog->wake_fd = eventfd (0, EFD_CLOEXEC);
    if (watchdog->wake_fd < 0)
        return err_errno (err, ERR_IO, "cannot create an eventfd for the watchdog of start.deadline");
    errno = pthread_create (&watchdog->thread, NULL, courier_watch, watchdog);
    if (errno == 0)
        return 0;
    err_errno (err, ERR_IO, "cannot start a thread for the watchdog of start.deadline");
    (void) close (watchdog->wake_fd);
    return -1;
}

static void watchdog_stop (struct watchdog *watchdog)
{
    ssize_t n = write (watchdog->wake_fd, &(uint64_t){ 1 }, sizeof (uint64_t));
    assert (n == sizeof (uint64_t)); /* eventfd(2): fails only at its largest value */
    int rc = pthread_join (watchdog->thread, NULL);
    assert (rc == 0);
    (void) close (watchdog->wake_fd);
}

/* ---- main ---- */

/* The coordinator writes both lines before it does anything else. */
enum { REQUEST_WAIT_MS = 10 * 1000, HOST_NAME_BYTES = 256 };

static const char help[] =
    "usage: sliceup-courier carry | exec\n"
    "\n"
    "carry starts one worker on its host, over ssh or Slurm; exec runs one command there, and is a pipe to it.\n"
    "sliceup starts one courier for each host; it is rarely run by hand. It reads an order (and for carry a launch\n"
    "line) from standard input and reports its steps on standard output: docs/spec/launch.md.\n"
    "\n"
    "Exit status: 0 the worker was started; 1 it was not, and the last line has the reason; 2 usage, or no order.\n";

static char password[REQUEST_PASSWORD_MAX_BYTES + 1];

/* No image of this process is written while it has the password, and no other process of its user may look at it. */
static int password_take (struct request_ssh *ssh, struct courier_input *input, uint64_t until_ms, struct err *err)
{
    struct text line;
    (void) prctl (PR_SET_DUMPABLE, 0);
    if (input_await_line (input, until_ms, "the password", &line, err) < 0)
        return -1;
    bool fits = text_to_c (line, password, sizeof password);
    explicit_bzero (input->bytes, input->taken_bytes);
    explicit_bzero (input->bytes + input->len, INPUT_LINE_MAX_BYTES - input->len);
    ssh->password = password;
    return fits ? 0 : err_set (err, ERR_LIMIT, "the password is longer than %d bytes", REQUEST_PASSWORD_MAX_BYTES);
}

static struct transport *open_ssh (const struct request *request, struct reporter *reporter, uint64_t until_ms,
                                   char near_end[DIAL_ADDRESS_BYTES], struct err *err)
{
    struct watchdog watchdog = {
        .reporter = reporter, .until_ms = until_ms, .deadline_ms = request->deadline_ms, .input_fd = STDIN_FILENO
    };
    if (watchdog_start (&watchdog, err) < 0)
        return NULL;
    struct transport *transport = transport_ssh_open (request, reporter, until_ms, near_end, err);
    explicit_bzero (password, sizeof password); /* from here on nobody reads it */
    (void) prctl (PR_SET_DUMPABLE, 1);
    watchdog_stop (&watchdog);
    return transport;
}

static struct transport *open_srun (const struct request *request, struct reporter *reporter,
                                    char near_end[HOST_NAME_BYTES], struct err *err)
{
    reporter_send_step (reporter, STEP_CONNECT, "Slurm to start a job step (is the queue full?)");
    if (gethostname (near_end, HOST_NAME_BYTES) != 0) {
        err_errno (err, ERR_IO, "the name of this machine is too long: set coordinator.address");
        return NULL;
    }
    fputs ("sliceup-courier: the worker runs in a Slurm job step; this courier runs as long as the worker\n", stderr);
    return transport_srun_open (request, err);
}

static int courier_carry_out (struct request *request, struct reporter *reporter, struct courier_input *input,
                              uint64_t until_ms)
{
    char near_end[HOST_NAME_BYTES] = "";
    struct err err = { 0 };
    struct transport *transport = request->by == BY_SSH ? open_ssh (request, reporter, until_ms, near_end, &err)
                                                        : open_srun (request, reporter, near_end, &err);
    struct bootstrap_session_end end = { .status = 1, .refused = true };
    if (transport && (!request->needs_address || !*near_end || request_set_way (request, near_end, NULL, &err) == 0)) {
        bootstrap_session_run (request, reporter, input, transport, until_ms, &end);
    } else {
        end.step = reporter->step;
        end.why = err;
    }
    if (end.pipes)
        end.leave_ms = command_pipe_run (input, transport);
    if (transport)
        transport->ops->close (transport, end.leave_ms);
    if (end.refused) /* last, because the coordinator may kill us then, and nothing must be left */
        reporter_send_refused_in (reporter, end.step, end.why.text);
    return end.status;
}

static int courier_take_request (struct request *request, struct courier_input *input, bool exec, struct err *err)
{
    uint64_t until_ms = clock_boot_ms () + REQUEST_WAIT_MS;
    struct text line, launch_line = { 0 };
    if (input_await_line (input, until_ms, "the order", &line, err) < 0)
        return -1;
    LOCAL_MEM char *courier_line = mem_alloc (line.len + 1); /* the next line may move it */
    memcpy (courier_line, line.ptr, line.len);
    struct text kept = { courier_line, line.len };
    int rc = exec ? 0 : input_await_line (input, until_ms, "the launch line", &launch_line, err);
    if (rc == 0 && (rc = request_parse (request, kept, launch_line, err)) == 0 && request->ssh.password)
        rc = password_take (&request->ssh, input, until_ms, err);
    return rc;
}

static void show_in_ps (const struct request *request)
{
    char title[REQUEST_NAME_MAX_BYTES + 64];
    snprintf (title, sizeof title, "sliceup-courier: host %.*s over %s", REQUEST_NAME_MAX_BYTES, request->host,
              request->by == BY_SSH ? "ssh" : "Slurm");
    process_title_set (title);
}

/* True: the coordinator ended meanwhile. */
static bool courier_pauses (const struct request *request, uint64_t *began_ms)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLRDHUP };
    bool ended = request->pause_ms && poll (&input, 1, (int) request->pause_ms) > 0;
    *began_ms += request->pause_ms;
    return ended;
}

static int carry (bool exec)
{
    uint64_t began_ms = clock_boot_ms ();
    struct request request = { 0 };
    struct reporter reporter;
    struct courier_input input;
    struct err err = { 0 };
    int status = 2;
    reporter_init (&reporter, STDOUT_FILENO);
    input_init (&input, STDIN_FILENO);
    signal (SIGPIPE, SIG_IGN); /* writes report closed pipes */
    if (courier_take_request (&request, &input, exec, &err) == 0) {
        show_in_ps (&request);
        if (courier_pauses (&request, &began_ms))
            return 1;
        status = courier_carry_out (&request, &reporter, &input, began_ms + request.deadline_ms);
    } else {
        reporter_send_refused (&reporter, err.text);
    }
    request_release (&request);
    input_release (&input);
    courier_end_group ();
    return status;
}

int main (int argc, char **argv)
{
    standard_fds_keep ();
    exhaustion_install_handlers ("sliceup-courier");
    json_set_alloc_funcs (mem_alloc, mem_free);
    if (argc == 2 && strcmp (argv[1], "--help") == 0)
        return fputs (help, stdout) < 0;
    if (argc == 2 && strcmp (argv[1], "carry") == 0)
        return carry (false);
    if (argc == 2 && strcmp (argv[1], "exec") == 0)
        return carry (true);
    fputs ("sliceup-courier is started by sliceup; see sliceup-courier --help\n", stderr);
    return 2;
}
