/* main.c - sliceup-courier: takes one worker to one host. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "common/base/mem.h"
#include "common/io/clock.h"
#include "common/io/exhausted.h"
#include "common/io/standard_fds.h"
#include "coordinator/courier/guard.h"
#include "coordinator/courier/visit.h"
#include "coordinator/courier/way_srun.h"
#include "coordinator/courier/way_ssh.h"

/* The coordinator writes both lines before it does anything else. */
enum { ORDER_WAIT_MS = 10 * 1000, HOST_NAME_BYTES = 256 };

static const char help[] =
    "usage: sliceup-courier carry\n"
    "\n"
    "Takes one worker to its host, over ssh or Slurm. sliceup starts one for each host; people rarely do.\n"
    "It reads an order and a launch line from standard input and tells what it does on standard output:\n"
    "docs/spec/launch.md.\n"
    "\n"
    "Exit status: 0 the worker is there; 1 it is not, the last line says why; 2 usage, or no order.\n";

static struct way *open_ssh (const struct order *order, struct voice *voice, uint64_t until_ms,
                             char near_end[DIAL_ADDRESS_BYTES], struct err *err)
{
    struct guard guard = { .voice = voice, .until_ms = until_ms, .deadline_ms = order->deadline_ms,
                           .input_fd = STDIN_FILENO };
    if (guard_start (&guard, err) < 0)
        return NULL;
    struct way *way = way_ssh_open (order, voice, until_ms, near_end, err);
    guard_stop (&guard);
    return way;
}

static struct way *open_srun (const struct order *order, struct voice *voice, char near_end[HOST_NAME_BYTES],
                              struct err *err)
{
    voice_step (voice, STEP_CONNECT, "Slurm to start a job step (is the queue full?)");
    if (gethostname (near_end, HOST_NAME_BYTES) != 0) {
        err_errno (err, ERR_IO, "this machine's name is too long: set coordinator.address");
        return NULL;
    }
    fputs ("sliceup-courier: by Slurm, a worker ends when its job step does: this courier stays with it\n", stderr);
    return way_srun_open (order, err);
}

static int carry_out (struct order *order, struct voice *voice, struct input *input, uint64_t until_ms)
{
    char near_end[HOST_NAME_BYTES] = "";
    struct err err = { 0 };
    struct way *way = order->by == BY_SSH ? open_ssh (order, voice, until_ms, near_end, &err)
                                          : open_srun (order, voice, near_end, &err);
    struct visit_end end = { .status = 1, .refused = true };
    if (way && (!order->needs_address || order_set_address (order, near_end, &err) == 0)) {
        visit_run (order, voice, input, way, until_ms, &end);
    } else {
        end.step = voice->step;
        end.why = err;
    }
    if (way)
        way->ops->close (way, end.leave_ms);
    if (end.refused) /* last: the coordinator may kill us for it, and nothing must stay behind */
        voice_refused_in (voice, end.step, end.why.text);
    return end.status;
}

static int take_order (struct order *order, struct input *input, struct err *err)
{
    uint64_t until_ms = clock_boot_ms () + ORDER_WAIT_MS;
    struct text line, launch_line;
    if (input_await (input, until_ms, "the order", &line, err) < 0)
        return -1;
    char *courier_line = mem_alloc (line.len + 1); /* the next line may move it */
    memcpy (courier_line, line.ptr, line.len);
    struct text kept = { courier_line, line.len };
    int rc = input_await (input, until_ms, "the launch line", &launch_line, err);
    if (rc == 0)
        rc = order_parse (order, kept, launch_line, err);
    mem_free (courier_line);
    return rc;
}

static int carry (void)
{
    uint64_t began_ms = clock_boot_ms ();
    struct order order = { 0 };
    struct voice voice;
    struct input input;
    struct err err = { 0 };
    int status = 2;
    voice_init (&voice, STDOUT_FILENO);
    input_init (&input, STDIN_FILENO);
    signal (SIGPIPE, SIG_IGN); /* ends of pipes are seen where they are written to */
    if (take_order (&order, &input, &err) == 0)
        status = carry_out (&order, &voice, &input, began_ms + order.deadline_ms);
    else
        voice_refused (&voice, err.text);
    order_release (&order);
    input_release (&input);
    return status;
}

int main (int argc, char **argv)
{
    standard_fds_keep ();
    exhausted_tell ("sliceup-courier");
    json_set_alloc_funcs (mem_alloc, mem_free);
    if (argc == 2 && strcmp (argv[1], "--help") == 0)
        return fputs (help, stdout) < 0;
    if (argc == 2 && strcmp (argv[1], "carry") == 0)
        return carry ();
    fputs ("sliceup-courier is started by sliceup; see sliceup-courier --help\n", stderr);
    return 2;
}
