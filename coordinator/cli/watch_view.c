#include "coordinator/cli/climb.h"

#include <inttypes.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "coordinator/cli/logs.h"
#include "coordinator/terminal/session.h"
#include "coordinator/view/plain.h"
#include "coordinator/view/status.h"

enum { GRID_BYTES = 4 << 20, LOGGED_BYTES = 1 << 20, PROGRAM_BYTES = 1100, LINES_TICK_MS = 200, SESSION_TICK_MS = 40 };

struct watch_view {
    struct watch_view_options options;
    struct feed *feed;
    struct terminal_session *session; /* or, when it is NULL: */
    struct run_lines *lines;          /* NULL as well: the run has ended, and its session with it */
    struct buf logged;                /* beside the session */
    uint32_t logged_left_out;         /* lines that found no room there */
    bool frozen;
    char program[PROGRAM_BYTES];
};

/* ---- what a terminal that is worked with asks for ---- */

static void read_log (void *owner, uint32_t rank, struct arena *arena, struct terminal_log *out)
{
    const struct watch_view *view = owner;
    const struct board *board = feed_board (view->feed);
    const struct board_host *host = rank < board->plan.hosts.n ? &board->hosts[rank] : NULL;
    if (view->options.dir == NULL) {
        out->head = TEXT_LIT ("its log is on the coordinator's machine");
    } else if (host == NULL || host->attempts.n == 0 || !run_dir_names_path_safe (&board->plan)) {
        out->head = TEXT_LIT ("it has begun nothing yet");
    } else {
        struct log_source source = { rank, host->attempts.items[host->attempts.n - 1].key };
        struct text id = board_rung_id (board, source.key.rung);
        struct err err = { 0 };
        int rc = log_tail_read (view->options.dir, board, &source, arena, &out->body, &err);
        const char *why = rc < 0 ? err.text : out->body.len ? "" : "nothing of its output is here";
        out->head = text_format (arena, "rung %.*s, %s, attempt %u%s%s", TEXT_ARG (id),
                                 enum_name_of (&pass_names, source.key.pass), source.key.attempt, why[0] ? ": " : "",
                                 why);
    }
}

static int cancel (void *owner, struct err *err)
{
    const struct watch_view *view = owner;
    if (view->options.dir == NULL)
        return err_set (err, ERR_REFUSED, "a monitor key does not allow it");
    return view->options.cancel (view->options.cli, view->options.dir, err);
}

static int ask_stands (void *owner, struct err *err)
{
    const struct watch_view *view = owner;
    if (view->options.dir == NULL)
        return err_set (err, ERR_REFUSED, "a monitor key does not allow it");
    return coordinator_ask_stands (view->options.dir, err);
}

/* Is there a terminal, in the foreground, in which keys can be pressed? */
static bool is_worked_with (const struct watch_view_options *options)
{
    return !options->cli->plain && !options->json && isatty (STDIN_FILENO) && isatty (STDOUT_FILENO) &&
           tcgetpgrp (STDIN_FILENO) == getpgrp ();
}

/* ---- sessions and lines ---- */

static void begin_lines (struct watch_view *view)
{
    const struct run_lines_options lines = { .feed = view->feed,
                                             .out = stdout,
                                             .json = view->options.json,
                                             .unicode = cli_detect_style (view->options.cli).unicode };
    view->lines = run_lines_open (&lines);
}

/* There is none afterwards where the terminal is of an unknown kind. */
static void begin_session (struct watch_view *view)
{
    const struct watch_view_options *options = &view->options;
    struct terminal_options session = { .feed = view->feed,
                                        .program = view->program,
                                        .run = options->run,
                                        .key = options->key,
                                        .color = options->cli->color,
                                        .owner = view,
                                        .read_log = read_log,
                                        .cancel = cancel,
                                        .ask_stands = ask_stands };
    struct err err = { 0 };
    exit_timeout_set_last (screen_restore);
    view->session = terminal_session_open (&session, &err);
    struct text heading = text_of (options->heading ? options->heading : "");
    if (view->session == NULL)
        log_detail (&options->cli->log, "the terminal cannot be worked with: %s", err.text);
    while (view->session && heading.len)
        feed_add_remark (view->feed, text_take_until (&heading, '\n'));
}

/* What stays in the scrollback. */
static void print_last (const struct watch_view *view)
{
    struct style style = cli_detect_style (view->options.cli);
    struct buf out = { .max = GRID_BYTES };
    grid_draw (feed_board (view->feed), feed_now_ms (view->feed, clock_boot_ms ()), &style, &out);
    cli_write_stdout (view->options.cli, &out);
}

static void end_session (struct watch_view *view)
{
    terminal_session_close (view->session);
    view->session = NULL;
    print_last (view);
    if (view->logged.len)
        (void) !fwrite (view->logged.ptr, 1, view->logged.len, stderr); /* nobody can be told */
    if (view->logged_left_out)
        fprintf (stderr, "%u more lines of the log were notes of the session only\n", view->logged_left_out);
    buf_clear (&view->logged);
    view->logged_left_out = 0;
}

/* ---- the verbs ---- */

struct watch_view *watch_view_open (const struct watch_view_options *options)
{
    struct watch_view *view = mem_alloc (sizeof (*view));
    view->options = *options;
    view->feed = feed_create (BOARD_JUDGED_STATE);
    buf_init (&view->logged, LOGGED_BYTES);
    snprintf (view->program, sizeof (view->program), "sliceup%s", options->cli->hint);
    if (options->heading) {
        printf ("%s\n", options->heading);
        fflush (stdout);
    }
    if (!options->own && is_worked_with (options))
        begin_session (view);
    if (view->session == NULL)
        begin_lines (view);
    return view;
}

void watch_view_close (struct watch_view *view)
{
    run_lines_close (view->lines);
    if (view->session)
        end_session (view);
    feed_destroy (view->feed);
    buf_release (&view->logged);
    mem_free (view);
}

/* Its own terminal is worked with from the first fact on: before that a run may be refused. */
static void take_own (struct watch_view *view)
{
    if (!view->options.own || !is_worked_with (&view->options))
        return;
    run_lines_close (view->lines);
    view->lines = NULL;
    begin_session (view);
    if (view->session == NULL)
        begin_lines (view);
}

void watch_view_fact (struct watch_view *view, const struct fact *fact)
{
    if (fact->kind == FACT_RUN_OPENED)
        take_own (view);
    feed_apply (view->feed, fact, clock_boot_ms (), clock_wall_ms ());
    if (view->lines)
        run_lines_fact (view->lines, fact, clock_boot_ms ());
    if (fact->kind == FACT_RUN_ENDED && view->session && view->options.own)
        end_session (view);
}

void watch_view_print_remark (struct watch_view *view, const char *remark)
{
    if (view->lines)
        run_lines_remark (view->lines, remark, clock_boot_ms ());
    else
        feed_add_remark (view->feed, text_of (remark));
}

void watch_view_log (struct watch_view *view, struct text line)
{
    if (view->session) {
        if (view->logged.len + line.len <= LOGGED_BYTES)
            buf_add_text (&view->logged, line);
        else
            view->logged_left_out++;
        feed_add_remark (view->feed, text_clip (line, line.len - (line.len > 0))); /* without its newline */
    } else {
        (void) !fwrite (line.ptr, 1, line.len, stderr);
    }
}

void watch_view_freeze_clock (struct watch_view *view, bool frozen)
{
    view->frozen = frozen;
    feed_freeze_clock (view->feed, frozen, clock_boot_ms ());
}

/* A run goes on when its terminal is left: as lines. */
static bool watch_view_leave (struct watch_view *view)
{
    if (!view->options.own)
        return false;
    end_session (view);
    begin_lines (view);
    return true;
}

bool watch_view_tick (struct watch_view *view)
{
    feed_tick (view->feed, clock_boot_ms ());
    if (view->lines)
        run_lines_tick (view->lines, clock_boot_ms (), view->frozen);
    if (view->session && !terminal_session_tick (view->session, clock_boot_ms ()))
        return watch_view_leave (view);
    return true;
}

uint32_t watch_view_tick_ms (const struct watch_view *view)
{
    return view->session ? SESSION_TICK_MS : LINES_TICK_MS;
}

bool watch_view_stays (const struct watch_view *view)
{
    return view->session != NULL;
}

const struct board *watch_view_board (const struct watch_view *view)
{
    return feed_board (view->feed);
}

/* ---- run lines ---- */

enum { QUIET_MS = 10000, QUIET_AGAIN_MS = 30000, LOOK_MS = 1000, LINES_BYTES = 4 << 20 };

struct run_lines {
    struct run_lines_options options;
    struct style style;
    struct buf bytes;    /* being made */
    uint64_t sent_ms;    /* boot clock: of the last line; 0: time was not told yet */
    bool remarked;       /* what is waited for was said since */
    struct buf suspects; /* who was said to hold up the others */
    uint64_t looked_ms;
};

static void on_note (void *owner, uint64_t at_ms, struct text text)
{
    struct run_lines *lines = owner;
    buf_printf (&lines->bytes, "[%6" PRIu64 ".%" PRIu64 " s] ", at_ms / 1000, at_ms % 1000 / 100);
    style_print_text (&lines->style, text, &lines->bytes);
    buf_byte (&lines->bytes, '\n');
}

struct run_lines *run_lines_open (const struct run_lines_options *options)
{
    struct run_lines *lines = mem_alloc (sizeof (*lines));
    lines->options = *options;
    lines->style = (struct style){ .unicode = options->unicode };
    buf_init (&lines->bytes, LINES_BYTES);
    buf_init (&lines->suspects, LINES_BYTES);
    feed_listen (options->feed, options->json ? NULL : on_note, lines);
    return lines;
}

/* A stream that is gone has no reader: its errors are ignored. */
static void watch_view_print (struct run_lines *lines, uint64_t boot_ms)
{
    FILE *out = lines->options.out;
    if (lines->bytes.len == 0)
        return;
    if (fwrite (lines->bytes.ptr, 1, lines->bytes.len, out) == lines->bytes.len)
        (void) fflush (out);
    buf_clear (&lines->bytes);
    lines->sent_ms = boot_ms;
    lines->remarked = false;
}

void run_lines_fact (struct run_lines *lines, const struct fact *fact, uint64_t boot_ms)
{
    if (lines->options.json)
        event_json (feed_board (lines->options.feed), fact, &lines->bytes);
    watch_view_print (lines, boot_ms);
}

void run_lines_remark (struct run_lines *lines, const char *remark, uint64_t boot_ms)
{
    if (lines->options.json)
        event_json_remark (text_of (remark), &lines->bytes);
    else
        line_print_painted (&lines->bytes, &lines->style, PAINT_NONE, text_of (remark));
    watch_view_print (lines, boot_ms);
}

/* A file that nothing is added to looks like a run that hangs: say what is waited for, seldom. */
static void remark_waiting (struct run_lines *lines, uint64_t boot_ms)
{
    if (boot_ms < lines->sent_ms + (lines->remarked ? QUIET_AGAIN_MS : QUIET_MS))
        return;
    plain_waiting (feed_board (lines->options.feed), feed_now_ms (lines->options.feed, boot_ms), &lines->style,
                   &lines->bytes);
    watch_view_print (lines, boot_ms);
    lines->sent_ms = boot_ms;
    lines->remarked = true;
}

/* Whoever holds up the others is told at once, and again when that changes. */
static void remark_suspects (struct run_lines *lines, uint64_t boot_ms)
{
    uint64_t now_ms = feed_now_ms (lines->options.feed, boot_ms);
    if (boot_ms < lines->looked_ms + LOOK_MS)
        return;
    lines->looked_ms = boot_ms;
    LOCAL_BUF line = { .max = LINES_BYTES };
    (void) progress_append_stands (feed_board (lines->options.feed), now_ms, true, &line);
    struct text told = buf_as_text (&line);
    told.len -= told.len > 0; /* without its newline */
    if (text_starts (told, "suspect: ") && !text_equal (told, buf_as_text (&lines->suspects))) {
        on_note (lines, now_ms, told);
        buf_clear (&lines->suspects);
        buf_add_text (&lines->suspects, told);
    }
}

void run_lines_tick (struct run_lines *lines, uint64_t boot_ms, bool frozen)
{
    if (lines->sent_ms == 0)
        lines->sent_ms = boot_ms; /* nothing was quiet before */
    watch_view_print (lines, boot_ms);
    if (frozen || lines->options.json)
        return;
    remark_suspects (lines, boot_ms);
    watch_view_print (lines, boot_ms);
    remark_waiting (lines, boot_ms);
}

void run_lines_close (struct run_lines *lines)
{
    if (lines == NULL)
        return;
    feed_tick (lines->options.feed, UINT64_MAX);
    watch_view_print (lines, lines->sent_ms);
    feed_listen (lines->options.feed, NULL, NULL);
    buf_release (&lines->bytes);
    buf_release (&lines->suspects);
    mem_free (lines);
}
