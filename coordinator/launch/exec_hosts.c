#include "coordinator/launch/exec_hosts.h"

#include "common/base/duration.h"
#include "common/io/clock.h"
#include "coordinator/launch/launch_private.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* srun may end by itself. A host that prints without end must not delay the others. */
enum { LEAVE_MS = 10 * 1000, KILLED_MS = 2 * 1000, PIECES_A_LOOK = 8 };

/* The process of a host that starts or runs. */
struct child {
    struct exec_hosts *hosts;
    uint32_t host;
    struct launch_process process;
    int error_fd;
    struct buf unsent; /* what its socket had no room for */
    uint64_t fed_bytes;
    bool fed_all;
    struct launch_parser parser;
    struct frame_reader reader;
};
struct slot {
    struct exec_host told;
    struct child *child; /* NULL: not started, or reaped */
    uint64_t until_ms;   /* deadline of the present wait; UINT64_MAX: none */
};
struct exec_hosts {
    struct exec_options options;
    struct launch_bundle bundle;
    struct arena arena; /* texts of ends */
    struct slot *slots;
    uint32_t next, active_n, over_n; /* next to start; started and not over; over */
    bool stopping, killing;
};

static bool is_remote (const struct exec_hosts *hosts)
{
    return hosts->options.plan->launcher != LAUNCHER_LOCAL;
}

static bool exec_hosts_is_over (const struct slot *slot)
{
    return slot->told.state >= EXEC_ENDED;
}

static const struct plan_host *plan_host (const struct exec_hosts *hosts, uint32_t host)
{
    return &hosts->options.plan->hosts.items[hosts->options.ranks[host]];
}

/* ---- ends ---- */

static void child_drop_pipes (struct child *child)
{
    launch_drop_fd (child->hosts->options.loop, &child->process.input_fd);
    launch_drop_fd (child->hosts->options.loop, &child->process.output_fd);
}

static void child_destroy (struct child *child)
{
    child_drop_pipes (child);
    launch_drop_fd (child->hosts->options.loop, &child->process.pidfd);
    if (child->error_fd >= 0)
        (void) close (child->error_fd);
    buf_release (&child->unsent);
    mem_free (child);
}

/* Kills its local process, except srun, which must end by itself to inform Slurm. */
static void let_go (struct exec_hosts *hosts, struct slot *slot)
{
    struct child *child = slot->child;
    bool leaves = hosts->options.plan->launcher == LAUNCHER_SLURM && slot->told.state == EXEC_ENDED;
    if (!child)
        return;
    child_drop_pipes (child);
    slot->until_ms = clock_boot_ms () + (leaves ? LEAVE_MS : KILLED_MS);
    if (!leaves)
        launch_process_kill_group (&child->process);
}

static void exec_hosts_end (struct exec_hosts *hosts, uint32_t host, enum exec_state state, const char *why)
{
    struct slot *slot = &hosts->slots[host];
    if (exec_hosts_is_over (slot))
        return;
    hosts->active_n -= slot->told.state != EXEC_QUEUED;
    hosts->over_n++;
    slot->told.state = state;
    slot->told.why = why ? text_copy (&hosts->arena, text_of (why)).ptr : "";
    slot->until_ms = UINT64_MAX;
    let_go (hosts, slot);
    hosts->options.ended (hosts->options.owner, host);
}

static void end_with (struct child *child, enum exec_state state, const char *before, const char *why)
{
    LOCAL_BUF sentence = { .max = 8 * LAUNCH_WHY_MAX_BYTES };
    buf_puts (&sentence, before);
    buf_escaped (&sentence, text_of (why), 0); /* it quotes the host */
    launch_process_append_last_line (child->error_fd, 0, &sentence);
    struct text kept = text_clip (buf_as_text (&sentence), LAUNCH_WHY_MAX_BYTES);
    exec_hosts_end (child->hosts, child->host, state, text_copy (&child->hosts->arena, kept).ptr);
}

/* ---- what is told ---- */

/* What has no room now follows when there is. That nobody reads is seen by its end. */
static void child_flush (struct child *child)
{
    struct buf *unsent = &child->unsent;
    ssize_t n = unsent->len ? send (child->process.input_fd, unsent->ptr, unsent->len, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
    size_t sent = n > 0 ? (size_t) n : 0;
    if (sent)
        memmove (unsent->ptr, unsent->ptr + sent, unsent->len - sent);
    unsent->len -= sent;
}

static void exec_hosts_tell (struct child *child, const struct buf *words)
{
    buf_add_text (&child->unsent, buf_as_text (words));
    child_flush (child);
}

/* The next piece of the file, once all before it is sent. */
static void child_feed (void *owner, int fd, uint32_t events)
{
    struct child *child = owner;
    const struct exec_options *options = &child->hosts->options;
    char piece[FRAME_MAX_BYTES];
    (void) events;
    child_flush (child);
    if (child->unsent.len == 0 && !child->fed_all) {
        ssize_t n = pread (options->input_fd, piece, sizeof piece, (off_t) child->fed_bytes);
        child->fed_bytes += n > 0 ? (uint64_t) n : 0;
        child->fed_all = n <= 0; /* shorter than it was: the command compares */
        frame_put (&child->unsent, REMOTE_INPUT, (struct text){ piece, n > 0 ? (uint32_t) n : 0 });
        child_flush (child);
    }
    if (child->unsent.len == 0 && child->fed_all)
        loop_forget (child->hosts->options.loop, fd);
}

static void tell_letter (struct child *child, enum remote_letter letter)
{
    LOCAL_BUF words = { .max = 16 };
    frame_put (&words, (char) letter, TEXT_LIT (""));
    exec_hosts_tell (child, &words);
}

static void tell_command (struct child *child)
{
    struct exec_hosts *hosts = child->hosts;
    struct remote_command command = *hosts->options.command;
    char name[HOST_NAME_MAX_BYTES + 1];
    (void) text_to_c (plan_host (hosts, child->host)->name, name, sizeof name); /* the configuration bounds names */
    command.host = name;
    command.rank = hosts->options.ranks[child->host];
    command.fed = hosts->options.input_fd > 0;
    command.silence_ms = is_remote (hosts) ? EXEC_SILENCE_MS : 0;
    LOCAL_BUF words = { .max = 2 * REMOTE_WORDS_MAX_BYTES };
    remote_command_put (&command, &words);
    exec_hosts_tell (child, &words);
    if (command.fed && loop_watch (hosts->options.loop, child->process.input_fd, EPOLLOUT, child_feed, child, NULL) < 0)
        child_drop_pipes (child); /* its end reports that */
    hosts->slots[child->host].told.state = EXEC_RUNS;
    hosts->slots[child->host].until_ms = clock_boot_ms () + command.timeout_ms + EXEC_ENDING_MS;
}

/* ---- what is heard ---- */

static void exec_hosts_take_word (struct child *child, const struct launch_report *report)
{
    char before[LAUNCH_STEP_BYTES + 3];
    switch (report->word) {
    case WORD_EXEC: tell_command (child); break;
    case WORD_REFUSED:
        snprintf (before, sizeof before, "%s: ", report->step);
        launch_process_kill_group (&child->process);
        end_with (child, EXEC_NOT_REACHED, before, report->why);
        break;
    default: break; /* its steps, and remarks for whoever keeps a bundle */
    }
}

static void exec_hosts_take_frame (struct child *child, const struct frame *frame)
{
    struct exec_hosts *hosts = child->hosts;
    struct exec_host *told = &hosts->slots[child->host].told;
    struct err err;
    if (frame->letter == REMOTE_OUTPUT) {
        hosts->options.output (hosts->options.owner, child->host, frame->bytes);
        return;
    }
    if (frame->letter != REMOTE_END)
        return; /* of a later version */
    if (remote_end_take (frame->bytes, &told->end, &err) < 0) {
        end_with (child, EXEC_LOST, "", err.text);
        return;
    }
    told->end.why = text_copy (&hosts->arena, told->end.why);
    exec_hosts_end (hosts, child->host, EXEC_ENDED, NULL);
}

static void exec_hosts_take_bytes (struct child *child, struct text bytes)
{
    const struct slot *slot = &child->hosts->slots[child->host];
    struct launch_report report;
    struct frame frame;
    struct err err = { 0 };
    int rc = 1;
    while (rc > 0 && slot->told.state == EXEC_STARTS)
        if ((rc = launch_protocol_receive (&child->parser, &bytes, &report, &err)) > 0)
            exec_hosts_take_word (child, &report);
    if (rc < 0)
        end_with (child, EXEC_NOT_REACHED, "", err.text);
    while (rc > 0 && slot->told.state == EXEC_RUNS)
        if ((rc = frame_read (&child->reader, &bytes, &frame, &err)) > 0)
            exec_hosts_take_frame (child, &frame);
    if (rc < 0 && !exec_hosts_is_over (slot))
        end_with (child, EXEC_LOST, "what the host sends cannot be read: ", err.text);
}

/* False: nothing more now. */
static bool listen_once (struct child *child)
{
    char bytes[2 * FRAME_MAX_BYTES];
    ssize_t n = child->process.output_fd < 0 ? 0 : read (child->process.output_fd, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0)
        launch_drop_fd (child->hosts->options.loop, &child->process.output_fd); /* its process's end says more */
    else
        exec_hosts_take_bytes (child, (struct text){ bytes, (uint32_t) n });
    return child->process.output_fd >= 0;
}

static void exec_hosts_on_output (void *owner, int fd, uint32_t events)
{
    (void) fd, (void) events;
    for (int i = 0; i < PIECES_A_LOOK && listen_once (owner); i++)
        ;
}

static void exec_hosts_on_ended (void *owner, int fd, uint32_t events)
{
    struct child *child = owner;
    struct exec_hosts *hosts = child->hosts;
    struct slot *slot = &hosts->slots[child->host];
    bool clean;
    (void) fd, (void) events;
    while (listen_once (child)) /* its last output may come after its end */
        ;
    LOCAL_BUF how = { .max = LAUNCH_WHY_MAX_BYTES };
    if (!launch_process_reap (child->process.pidfd, &how, &clean))
        return;
    if (!exec_hosts_is_over (slot) && slot->told.state == EXEC_STARTS)
        end_with (child, EXEC_NOT_REACHED, is_remote (hosts) ? "start: the courier " : "start: the worker ",
                  buf_c (&how));
    else if (!exec_hosts_is_over (slot))
        end_with (child, EXEC_LOST, is_remote (hosts) ? "the connection ended first: the courier " : "the worker ",
                  buf_c (&how));
    child_destroy (child);
    slot->child = NULL;
    slot->until_ms = UINT64_MAX;
}

/* ---- starts ---- */

static int exec_hosts_start_process (struct exec_hosts *hosts, struct child *child, struct err *err)
{
    bool remote = is_remote (hosts);
    const struct launch_program program = { .path = remote ? hosts->options.courier_path : hosts->options.worker_path,
                                            .word = "exec",
                                            .courier = remote,
                                            .as_user = !remote || plan_host (hosts, child->host)->ssh.command.len > 0 };
    child->error_fd = memfd_create ("sliceup-exec", MFD_CLOEXEC);
    if (child->error_fd < 0)
        return err_errno (err, ERR_IO, "cannot make a file for the messages of a courier");
    if (launch_process_start (&program, child->error_fd, &child->process, err) != 0)
        return -1;
    if (loop_watch (hosts->options.loop, child->process.output_fd, EPOLLIN, exec_hosts_on_output, child, err) == 0 &&
        loop_watch (hosts->options.loop, child->process.pidfd, EPOLLIN, exec_hosts_on_ended, child, err) == 0)
        return 0;
    launch_process_kill_group (&child->process);
    return -1;
}

static int exec_hosts_start (struct exec_hosts *hosts, struct child *child, struct err *err)
{
    const struct plan *plan = hosts->options.plan;
    struct courier_request request = { .launcher = plan->launcher,
                                       .start = &plan->start,
                                       .password = hosts->options.password.len > 0,
                                       .host = plan_host (hosts, child->host) };
    LOCAL_BUF order = { .max = COURIER_LINE_MAX_BYTES };
    int rc = is_remote (hosts) ? launch_put_order (&request, &hosts->bundle, &order, err) : 0;
    if (rc == 0)
        rc = exec_hosts_start_process (hosts, child, err);
    if (rc == 0 && order.len)
        exec_hosts_tell (child, &order);
    if (rc == 0 && request.password) /* past every buffer; there is room, as for a start (launch_begin.c) */
        (void) send (child->process.input_fd, hosts->options.password.ptr, hosts->options.password.len, MSG_NOSIGNAL);
    return rc;
}

static void exec_hosts_begin (struct exec_hosts *hosts, uint32_t host)
{
    struct slot *slot = &hosts->slots[host];
    struct child *child = mem_alloc (sizeof *child);
    struct err err = { 0 };
    *child = (struct child){ .hosts = hosts, .host = host, .error_fd = -1, .parser.courier = is_remote (hosts) };
    buf_init (&child->unsent, COURIER_LINE_MAX_BYTES + 2 * REMOTE_WORDS_MAX_BYTES + 2 * FRAME_MAX_BYTES);
    child->process = (struct launch_process){ .pidfd = -1, .input_fd = -1, .output_fd = -1 };
    slot->told.state = EXEC_STARTS;
    slot->until_ms = clock_boot_ms () + (is_remote (hosts) ? hosts->options.plan->start.deadline_ms + COURIER_GRACE_MS
                                                           : EXEC_LOCAL_START_MS);
    hosts->active_n++;
    if (exec_hosts_start (hosts, child, &err) == 0) {
        slot->child = child;
        return;
    }
    child_destroy (child);
    exec_hosts_end (hosts, host, EXEC_NOT_REACHED, err.text);
}

static void exec_hosts_give_up (struct exec_hosts *hosts, uint32_t host)
{
    struct slot *slot = &hosts->slots[host];
    char limit[DURATION_TEXT_BYTES], why[128];
    slot->until_ms = UINT64_MAX;
    if (exec_hosts_is_over (slot) && slot->child)
        launch_process_kill_group (&slot->child->process);
    else if (slot->told.state == EXEC_STARTS)
        exec_hosts_end (hosts, host, EXEC_NOT_REACHED, "start: nothing was heard from it in time");
    else if (slot->told.state == EXEC_RUNS) {
        snprintf (why, sizeof why, "it was told to end, but did not confirm it within %s",
                  duration_print (EXEC_ENDING_MS, limit));
        exec_hosts_end (hosts, host, EXEC_LOST, why);
    }
}

void exec_hosts_poll (struct exec_hosts *hosts, uint64_t now_ms)
{
    for (uint32_t i = 0; i < hosts->next; i++)
        if (now_ms >= hosts->slots[i].until_ms)
            exec_hosts_give_up (hosts, i);
    while (hosts->next < hosts->options.n && hosts->active_n < hosts->options.at_once && !hosts->stopping)
        exec_hosts_begin (hosts, hosts->next++);
}

uint64_t exec_hosts_deadline_ms (const struct exec_hosts *hosts)
{
    uint64_t at_ms = UINT64_MAX;
    for (uint32_t i = 0; i < hosts->next; i++)
        at_ms = hosts->slots[i].until_ms < at_ms ? hosts->slots[i].until_ms : at_ms;
    return at_ms;
}

void exec_hosts_stop (struct exec_hosts *hosts, bool hard)
{
    bool again = hosts->killing || (hosts->stopping && !hard); /* asking again does not make the wait longer */
    if (again)
        return;
    hosts->stopping = true;
    hosts->killing = hard;
    for (uint32_t i = 0; i < hosts->options.n; i++) {
        struct slot *slot = &hosts->slots[i];
        if (slot->told.state == EXEC_QUEUED || slot->told.state == EXEC_STARTS) {
            exec_hosts_end (hosts, i, EXEC_NOT_BEGUN, NULL); /* the command was not sent yet */
        } else if (slot->told.state == EXEC_RUNS) {
            tell_letter (slot->child, hard ? REMOTE_KILL : REMOTE_STOP);
            slot->until_ms = clock_boot_ms () + EXEC_ENDING_MS;
        }
    }
}

/* ---- all of it ---- */

struct exec_hosts *exec_hosts_open (const struct exec_options *options)
{
    struct exec_hosts *hosts = mem_alloc (sizeof *hosts);
    hosts->options = *options;
    hosts->bundle.path = mem_text (options->bundle_path);
    hosts->slots = mem_array (options->n, sizeof *hosts->slots);
    for (uint32_t i = 0; i < options->n; i++)
        hosts->slots[i].until_ms = UINT64_MAX;
    return hosts;
}

void exec_hosts_close (struct exec_hosts *hosts)
{
    if (!hosts)
        return;
    for (uint32_t i = 0; i < hosts->options.n; i++) {
        struct child *child = hosts->slots[i].child;
        if (!child)
            continue;
        launch_process_kill_group (&child->process);
        child_destroy (child);
    }
    arena_release (&hosts->arena);
    mem_free (hosts->slots);
    mem_free (hosts->bundle.path);
    mem_free (hosts);
}

const struct exec_host *exec_hosts_at (const struct exec_hosts *hosts, uint32_t host)
{
    return &hosts->slots[host].told;
}

bool exec_hosts_done (const struct exec_hosts *hosts)
{
    return hosts->over_n == hosts->options.n && exec_hosts_deadline_ms (hosts) == UINT64_MAX;
}
