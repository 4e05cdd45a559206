/* attempt_fds.c - the ends of a program's output and channel that this process holds. */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/logs/traceback.h"
#include "worker/attempt/attempt_state.h"
#include "worker/process/exec.h"

enum { RECEIVES_MAX = 64 }; /* a socket holds no more than so many reads of a channel */

void attempt_close_fds (struct attempt *attempt)
{
    attempt_close_confine_report (attempt);
    if (attempt->channel_watched)
        loop_forget (attempt->loop, channel_fd (attempt->channel));
    if (attempt->output_watched)
        loop_forget (attempt->loop, output_read_fd (attempt->output));
    attempt->channel_watched = attempt->output_watched = false;
}

static void attempt_fds_on_output (void *owner, int fd, uint32_t events)
{
    struct attempt *attempt = owner;
    (void) events;
    if (output_read (attempt->output, clock_boot_ms ()))
        return;
    loop_forget (attempt->loop, fd);
    attempt->output_watched = false;
}

static void read_channel (struct attempt *attempt)
{
    if (!attempt->channel_watched || channel_read (attempt->channel))
        return;
    loop_forget (attempt->loop, channel_fd (attempt->channel));
    attempt->channel_watched = false;
}

void attempt_drain_channel (struct attempt *attempt)
{
    for (int i = 0; i < RECEIVES_MAX; i++)
        read_channel (attempt);
}

/* All that the worker could end is gone, so a process that escaped from the program holds the channel. */
void attempt_check_channel_held (struct attempt *attempt)
{
    read_channel (attempt);
    bool may_hold = attempt->run.rung.kind == PROGRAM_COMMAND && !attempt->evidence.result.spoke;
    if (attempt->channel_watched && !may_hold)
        evidence_refuse (&attempt->evidence, "a process that outlived the program kept the canary channel open");
}

static void on_channel (void *owner, int fd, uint32_t events)
{
    struct attempt *attempt = owner;
    (void) fd;
    if (events & EPOLLOUT)
        channel_write (attempt->channel);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        read_channel (attempt);
}

static int watch_descriptors (struct attempt *attempt, struct err *err)
{
    int fd = output_read_fd (attempt->output);
    if (loop_watch (attempt->loop, fd, EPOLLIN, attempt_fds_on_output, attempt, err) < 0)
        return -1;
    attempt->output_watched = true;
    if (!attempt->channel)
        return 0;
    attempt->channel_events = EPOLLIN;
    if (loop_watch (attempt->loop, channel_fd (attempt->channel), EPOLLIN, on_channel, attempt, err) < 0)
        return -1;
    attempt->channel_watched = true;
    return 0;
}

void attempt_watch_writable (struct attempt *attempt)
{
    if (!attempt->channel_watched)
        return;
    uint32_t events = EPOLLIN | (channel_wants_write (attempt->channel) ? EPOLLOUT : 0);
    if (events == attempt->channel_events)
        return;
    /* A failure keeps the earlier events; the next pass tries again. */
    if (loop_change (attempt->loop, channel_fd (attempt->channel), events, NULL) == 0)
        attempt->channel_events = events;
}

int attempt_open_fds (struct attempt *attempt, struct err *err)
{
    const struct attempt_context *context = attempt->context;
    attempt->output = output_open (attempt->log.ptr, context->log_bytes, context->output, context->owner, err);
    if (!attempt->output)
        return -1;
    attempt->channel = channel_open (&attempt->evidence, attempt_take_statement, attempt, err);
    if (!attempt->channel)
        return -1;
    return watch_descriptors (attempt, err);
}

/* ---- a look at what it is doing ---- */

/* What a program is doing, when asked or before it is stopped: where its threads wait, and the stacks of its Python
 * threads, which it writes to a file of its own on a signal that it reported: in its output they would read as its last
 * words. The log gets both before a stop, marked as ours. What it prints then is caused by us, and not searched for
 * the cause of its end. */

enum { WAITS_MAX_MS = 300, STACKS_MAX_MS = 1000, QUIET_MS = 100 };
enum { WAITS_MAX_BYTES = 8 * 1024, CAPTURE_BYTES = 128 * 1024, STACKS_MAX_BYTES = 64 * 1024, WAITS_SHOWN_MAX = 4 };

/* The end of what the program wrote to its file of stacks behind byte `from`: the main thread's comes last. It may put
 * anything there, but only a file counts. `size`: of all of it. */
static struct text look_read_stacks (struct attempt *attempt, uint64_t from, uint64_t *size)
{
    struct stat at = { 0 };
    struct text path = text_format (&attempt->look.arena, "%.*s/" COMMAND_STACKS, TEXT_ARG (attempt->scratch));
    LOCAL_FD fd = plain_file_open (path.ptr, O_RDONLY, NULL);
    *size = fd >= 0 && fstat (fd, &at) == 0 ? (uint64_t) at.st_size : 0;
    uint64_t len = *size > from ? least_u64 (*size - from, STACKS_MAX_BYTES) : 0;
    char *bytes = arena_alloc (&attempt->look.arena, len + 1);
    ssize_t got = len ? pread (fd, bytes, len, (off_t) (*size - len)) : 0;
    return (struct text){ bytes, got > 0 ? (uint32_t) got : 0 };
}

/* True: its stacks were asked for, and come within STACKS_MAX_MS. The signal is for the main thread, so that the dump
 * begins there; a process without a handler would die of it. */
static bool look_begin (struct attempt *attempt, uint64_t now_ms)
{
    struct buf waits = { .max = WAITS_MAX_BYTES };
    arena_reset (&attempt->look.arena);
    attempt->look.stacks = attempt->look.stand = (struct text){ 0 };
    (void) look_read_stacks (attempt, UINT64_MAX, &attempt->look.asked_bytes);
    attempt->look.seen_bytes = attempt->look.asked_bytes;
    pid_t catcher = thread_waits_print (exec_pid (attempt->exec), attempt->evidence.stacks_pid,
                                        attempt->evidence.stacks_signal, now_ms + WAITS_MAX_MS, &waits);
    attempt->look.waits = buf_finish (&waits, &attempt->look.arena);
    if (!catcher || syscall (SYS_tgkill, catcher, catcher, (int) attempt->evidence.stacks_signal) < 0)
        return false;
    attempt->look.until_ms = now_ms + STACKS_MAX_MS;
    attempt->look.next_ms = now_ms + QUIET_MS;
    return true;
}

static void look_log_lines (struct attempt *attempt, struct text lines, uint64_t now_ms)
{
    while (lines.len)
        output_add_line (attempt->output, text_take_until (&lines, '\n'), now_ms);
}

struct printed attempt_printed (struct attempt *attempt, uint64_t now_ms)
{
    (void) output_read (attempt->output, now_ms);
    return (struct printed){ output_bytes (attempt->output), output_raw_tail (attempt->output, &attempt->arena),
                             output_tail (attempt->output, &attempt->arena) };
}

bool attempt_begin_look (struct attempt *attempt, struct text why, uint64_t now_ms)
{
    bool late = attempt->stop_ending == ENDING_TIMEOUT || attempt->stop_ending == ENDING_CANCELLED ||
                attempt->stop_ending == ENDING_TERMINATED;
    struct printed until = attempt_printed (attempt, now_ms);
    attempt->look.begun = true;
    attempt->look.until = attempt->at_edge && attempt->stop_ending == ENDING_TIMEOUT ? attempt->edge : until;
    attempt->look.waits = attempt->look.stacks = attempt->look.stand = (struct text){ 0 }; /* of an earlier look */
    attempt->look.until_ms = 0;
    if (!late || attempt->gate_open) /* at a gate it waits for others */
        return false;
    output_capture (attempt->output, CAPTURE_BYTES);
    output_add_line (attempt->output,
                     text_format (&attempt->arena, "the program is stopped: %.*s; its threads:", TEXT_ARG (why)),
                     now_ms);
    bool asked = look_begin (attempt, now_ms);
    look_log_lines (attempt, attempt->look.waits, now_ms);
    return asked;
}

/* The most telling lines: its frames, then where its threads wait. */
static uint32_t look_find_lines (struct attempt *attempt, struct text lines[STACK_LINES_MAX])
{
    struct text rest = attempt->look.waits;
    uint32_t n = stack_frames_find (attempt->look.stacks, output_captured (attempt->output), &attempt->look.arena,
                                    lines);
    for (uint32_t shown = 0; shown < WAITS_SHOWN_MAX && rest.len; shown++)
        lines[n++] = text_take_until (&rest, '\n');
    return n;
}

static void look_tell_stand (struct attempt *attempt)
{
    struct text lines[STACK_LINES_MAX];
    uint32_t n = look_find_lines (attempt, lines);
    for (uint32_t i = 0; i < n; i++)
        attempt->look.stand = text_format (&attempt->look.arena, "%.*s%s%.*s", TEXT_ARG (attempt->look.stand),
                                           i ? "\n" : "", TEXT_ARG (lines[i]));
}

void attempt_look (struct attempt *attempt, uint64_t now_ms)
{
    if (attempt->step != STEP_RUNNING || attempt->stopping || attempt->gate_open || attempt->look.until_ms)
        return;
    if (!look_begin (attempt, now_ms))
        look_tell_stand (attempt);
}

bool attempt_look_is_over (struct attempt *attempt, uint64_t now_ms)
{
    uint64_t bytes;
    if (!attempt->look.until_ms || attempt->step != STEP_RUNNING || now_ms < attempt->look.next_ms)
        return false;
    attempt->look.stacks = look_read_stacks (attempt, attempt->look.asked_bytes, &bytes);
    bool quiet = bytes == attempt->look.seen_bytes && attempt->look.stacks.len;
    attempt->look.seen_bytes = bytes;
    attempt->look.next_ms = now_ms + QUIET_MS;
    if (now_ms < attempt->look.until_ms && !quiet)
        return false;
    attempt->look.until_ms = 0;
    if (!attempt->stopping) {
        look_tell_stand (attempt);
        return false;
    }
    output_add_line (attempt->output,
                     attempt->look.stacks.len ? TEXT_LIT ("the stacks of its Python threads:")
                                              : TEXT_LIT ("it wrote no stack within 1 s"),
                     now_ms);
    look_log_lines (attempt, attempt->look.stacks, now_ms);
    return true;
}

void attempt_add_stack (struct attempt *attempt)
{
    struct result *result = attempt_result (attempt);
    struct text lines[STACK_LINES_MAX];
    uint32_t bytes = 0;
    if (!attempt->look.begun || !attempt->look.waits.len || result->ending != attempt->stop_ending)
        return;
    uint32_t n = look_find_lines (attempt, lines);
    result->stack.items = arena_copy (&attempt->arena, lines, n * sizeof *lines);
    for (uint32_t i = 0; i < n && bytes + lines[i].len <= STACK_MAX_BYTES; i++) {
        bytes += lines[i].len;
        result->stack.n = i + 1;
    }
}

/* ---- stack frames ---- */

/* The signal is sent to the main thread, which the dump calls the current one. Innermost first. */
static uint32_t read_dump (struct text printed, struct text *frames)
{
    uint32_t n = 0;
    for (bool inside = false; printed.len && n < TRACE_FRAMES_MAX;) {
        struct text line = text_take_until (&printed, '\n');
        if (inside && !text_starts (line, "  File \""))
            break;
        if (inside)
            frames[n++] = line;
        inside |= text_starts (line, "Current thread 0x");
    }
    return n;
}

/* Of the last KeyboardInterrupt. */
static uint32_t read_interrupt (struct text printed, struct arena *arena, struct text *frames)
{
    struct printed_lines lines;
    struct exceptions all;
    printed_lines_split (printed, 0, arena, &lines);
    traceback_find_all (&lines, arena, &all);
    for (uint32_t i = all.n; i-- > 0;)
        if (text_is (all.items[i].type, "KeyboardInterrupt"))
            return traceback_frames (&lines, &all.items[i], frames);
    return 0;
}

/* A file that travelled lies in the run's folder, which has another path on each host: its own name says more. */
static struct text without_kit (struct text frame, struct arena *arena)
{
    uint32_t at, name = (uint32_t) sizeof "/kits/" - 1 + SHA256_HEX_BYTES + 1;
    if (!text_find (frame, TEXT_LIT ("/kits/"), &at) || frame.len <= at + name || frame.ptr[at + name - 1] != '/')
        return frame;
    return text_format (arena, "File \"%.*s", (int) (frame.len - at - name), frame.ptr + at + name);
}

/* Of a long one its end, which has the file's name, the line and the function. */
static struct text print_frame (struct text frame, const char *role, struct arena *arena)
{
    enum { FRAME_END_BYTES = 180 };
    char clean[SHOWN_LINE_BYTES / 2];
    frame = without_kit (frame, arena);
    if (frame.len >= sizeof clean)
        frame = text_format (arena, "File \"...%s", text_copy (arena, frame).ptr + frame.len - FRAME_END_BYTES);
    uint32_t len = log_line_clean (frame, clean, sizeof clean);
    return text_format (arena, "%s: %.*s", role, (int) len, clean);
}

uint32_t stack_choose_frames (const struct text *frames, uint32_t found, const char *inner, struct arena *arena,
                              struct text out[STACK_FRAMES_MAX])
{
    uint32_t users = 0, n = 0;
    for (uint32_t i = 0; i < found; i++)
        users += frame_is_of_user (frames[i]);
    for (uint32_t i = 0; i < found && n < STACK_FRAMES_MAX; i++)
        if (i == 0 || !users || frame_is_of_user (frames[i]))
            out[n++] = print_frame (frames[i], i == 0 ? inner : "called from", arena);
    return n;
}

uint32_t stack_frames_find (struct text dump, struct text printed, struct arena *arena,
                            struct text out[STACK_FRAMES_MAX])
{
    struct text frames[TRACE_FRAMES_MAX];
    uint32_t found = read_dump (dump, frames);
    if (!found)
        found = read_interrupt (printed, arena, frames);
    return stack_choose_frames (frames, found, "main thread", arena, out);
}
