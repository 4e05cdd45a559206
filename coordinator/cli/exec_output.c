#include "coordinator/cli/exec.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "coordinator/cli/logs.h"

/* A block is shown once nothing has joined it for so long. A line without an end is shown when it is so long. */
enum {
    QUIET_MS = 1000,
    STATUS_MS = 1000,
    LOOK_MS = 200,
    LINE_MAX_BYTES = 16 * 1024,
    LABEL_MAX_BYTES = 120,
    STATUS_MAX_BYTES = 1 << 20
};

void exec_output_open (struct exec_output *output, uint64_t now_ms)
{
    uint32_t n = output->ends->n;
    output->began_ms = now_ms;
    output->live = !output->lines && !output->json && !output->cli->plain;
    output->status = !output->cli->plain && isatty (STDERR_FILENO);
    output->fold = output->lines ? NULL : output_fold_create (n, output_fold_kept_bytes (n));
    output->partial = output->lines ? arena_array (&output->arena, n, sizeof *output->partial) : NULL;
    output->shown = arena_array (&output->arena, n, sizeof *output->shown);
    output->ended = arena_array (&output->arena, n, sizeof *output->ended);
    output->joined_ms = arena_array (&output->arena, n, sizeof *output->joined_ms);
    output->labels = arena_array (&output->arena, n, sizeof *output->labels);
    for (uint32_t i = 0; output->lines && i < n; i++)
        buf_init (&output->partial[i], LINE_MAX_BYTES);
}

void exec_output_close (struct exec_output *output)
{
    for (uint32_t i = 0; output->partial && i < output->ends->n; i++)
        buf_release (&output->partial[i]);
    output_fold_destroy (output->fold);
    arena_release (&output->arena);
}

static bool is_interrupted (void)
{
    sigset_t pending;
    return sigpending (&pending) == 0 && (sigismember (&pending, SIGINT) == 1 || sigismember (&pending, SIGTERM) == 1 ||
                                          sigismember (&pending, SIGHUP) == 1);
}

/* A reader who reads nothing (| less) must not keep Ctrl-C from the hosts: so many bytes fit once it reads again (POSIX,
 * pipe). */
static bool is_read (void)
{
    struct pollfd entry = { .fd = STDOUT_FILENO, .events = POLLOUT };
    while (poll (&entry, 1, LOOK_MS) == 0)
        if (is_interrupted ())
            return false;
    return true;
}

/* False: nobody reads on. */
static bool print_piece (struct exec_output *output, struct text bytes)
{
    if (!is_read ()) {
        output->ends->cancelled = true;
        return false;
    }
    struct buf piece = { .max = PIPE_BUF };
    buf_add_text (&piece, bytes);
    return cli_write_stdout (output->cli, &piece) == EXIT_HOLDS && !cli_reader_left ();
}

/* Uses `bytes` up. */
static void exec_output_print (struct exec_output *output, struct buf *bytes)
{
    struct text rest = buf_as_text (bytes);
    if (rest.len && !output->unread)
        exec_output_clear_status (output);
    while (rest.len && !output->unread) {
        struct text piece = { rest.ptr, rest.len < PIPE_BUF ? rest.len : PIPE_BUF };
        output->unread = !print_piece (output, piece);
        rest = (struct text){ rest.ptr + piece.len, rest.len - piece.len };
    }
    buf_release (bytes);
}

/* ---- line by line ---- */

static void put_line (struct exec_output *output, uint32_t host, struct text line, struct buf *out)
{
    buf_add_text (out, output->ends->names[host]);
    buf_puts (out, ": ");
    log_output_put_body (line.len ? line : TEXT_LIT ("\n"), output->raw, false, out);
}

static void add_lines (struct exec_output *output, uint32_t host, struct text bytes)
{
    struct buf *partial = &output->partial[host], out;
    buf_init (&out, 64 * (size_t) (LINE_MAX_BYTES + FRAME_MAX_BYTES));
    while (bytes.len) {
        struct text piece = text_clip (bytes, LINE_MAX_BYTES - (uint32_t) partial->len);
        const char *end = memchr (bytes.ptr, '\n', piece.len);
        piece.len = end ? (uint32_t) (end - bytes.ptr) : piece.len ? piece.len : 1;
        buf_add (partial, piece.ptr, piece.len);
        bytes = (struct text){ bytes.ptr + piece.len + (end != NULL), bytes.len - piece.len - (end != NULL) };
        if (!end && partial->len + 4 < LINE_MAX_BYTES)
            continue;
        put_line (output, host, buf_as_text (partial), &out);
        buf_clear (partial);
    }
    exec_output_print (output, &out);
}

/* ---- folded ---- */

/* Those of the group that have ended and were not shown; marks them as shown. */
static bool *take_hosts (struct exec_output *output, uint32_t group)
{
    bool *chosen = mem_array (output->ends->n, sizeof *chosen);
    for (uint32_t i = 0; i < output->ends->n; i++) {
        chosen[i] = !output->shown[i] && output_fold_group_of (output->fold, i) == group;
        output->shown[i] |= chosen[i];
    }
    return chosen;
}

static void put_body (const struct exec_output *output, const struct output_group *group, struct buf *out)
{
    log_output_put_body (group->head, output->raw, false, out);
    if (group->dropped_bytes)
        buf_printf (out, "[%llu bytes are left out here]\n", (unsigned long long) group->dropped_bytes);
    log_output_put_body (group->tail, output->raw, false, out);
}

static void show_group (struct exec_output *output, uint32_t at)
{
    const struct output_group *group = output_fold_group (output->fold, at);
    LOCAL_MEM bool *chosen = take_hosts (output, at);
    LOCAL_BUF label = { .max = 1 << 20 };
    struct buf out = { .max = 16 * (size_t) OUTPUT_KEPT_BYTES + (1 << 20) };
    exec_report_put_hosts (output->ends, chosen, &label);
    if (output->labels[at].len) {
        buf_printf (&out, "%s: the same output as %.*s\n", buf_c (&label), TEXT_ARG (output->labels[at]));
    } else if (group->head.len) {
        buf_printf (&out, "%s%s:\n", output->blocks++ ? "\n" : "", buf_c (&label));
        put_body (output, group, &out);
        output->labels[at] = text_copy (&output->arena, text_clip (buf_as_text (&label), LABEL_MAX_BYTES));
    }
    exec_output_print (output, &out);
}

/* In the order of hosts. */
static uint64_t show_due (struct exec_output *output, uint64_t now_ms, bool over)
{
    uint64_t next_ms = UINT64_MAX;
    for (uint32_t i = 0; i < output->ends->n; i++) {
        uint32_t group = output->shown[i] ? OUTPUT_NO_GROUP : output_fold_group_of (output->fold, i);
        if (group == OUTPUT_NO_GROUP)
            continue;
        uint64_t due_ms = output->joined_ms[group] + QUIET_MS;
        if (over || due_ms <= now_ms)
            show_group (output, group);
        else if (due_ms < next_ms)
            next_ms = due_ms;
    }
    return next_ms;
}

/* ---- the status line ---- */

void exec_output_clear_status (struct exec_output *output)
{
    if (output->said)
        fputs ("\r\033[K", stderr);
    output->said = false;
}

/* Cut to the width of the terminal: what went on to a second line could not be taken back. */
static void print_status (struct exec_output *output, struct buf *line)
{
    uint32_t columns = cli_detect_style (output->cli).columns;
    LOCAL_BUF shown = { .max = 8 * STATUS_MAX_BYTES };
    buf_escaped (&shown, buf_as_text (line), (columns ? columns : 80) - 1);
    exec_output_clear_status (output);
    fputs (buf_c (&shown), stderr);
    output->said = true;
}

static void say_status (struct exec_output *output, uint64_t now_ms)
{
    LOCAL_MEM struct text *names = mem_array (output->ends->n, sizeof *names);
    char lasts[DURATION_TEXT_BYTES], limit[DURATION_TEXT_BYTES];
    LOCAL_BUF line = { .max = STATUS_MAX_BYTES };
    uint32_t n = 0;
    for (uint32_t i = 0; i < output->ends->n; i++)
        if (!output->ended[i])
            names[n++] = output->ends->names[i];
    buf_printf (&line, "%u of %u hosts ended (%s; at most %s each); waiting for ", output->ends->n - n, output->ends->n,
                duration_print ((now_ms - output->began_ms) / 1000 * 1000, lasts),
                duration_print (output->timeout_ms, limit));
    hostset_fold (names, n, &line);
    print_status (output, &line);
    output->said_ms = now_ms;
}

/* ---- all of it ---- */

void exec_output_add (struct exec_output *output, uint32_t host, struct text bytes)
{
    if (output->lines)
        add_lines (output, host, bytes);
    else
        output_fold_add (output->fold, host, bytes);
}

void exec_output_end_host (struct exec_output *output, uint32_t host, uint64_t now_ms)
{
    output->ended[host] = true;
    if (!output->lines) {
        output_fold_end (output->fold, host);
        output->joined_ms[output_fold_group_of (output->fold, host)] = now_ms;
    } else if (output->partial[host].len) {
        add_lines (output, host, TEXT_LIT ("\n"));
    }
}

uint64_t exec_output_poll (struct exec_output *output, uint64_t now_ms, bool over)
{
    uint64_t next_ms = UINT64_MAX;
    if (output->json && over) {
        struct buf out;
        buf_init (&out, (size_t) 64 * OUTPUTS_KEPT_BYTES);
        exec_report_put_json (output->ends, output->fold, &out);
        exec_output_print (output, &out);
    } else if (!output->json && !output->lines && (output->live || over)) {
        next_ms = show_due (output, now_ms, over);
    }
    if (!output->status || over)
        return next_ms;
    if (now_ms >= output->said_ms + STATUS_MS || !output->said)
        say_status (output, now_ms);
    return output->said_ms + STATUS_MS < next_ms ? output->said_ms + STATUS_MS : next_ms;
}
