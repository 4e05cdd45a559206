#include "coordinator/cli/watch_view.h"

#include <string.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "coordinator/cli/cancel.h"
#include "coordinator/cli/exit_timeout.h"
#include "coordinator/cli/logs.h"
#include "coordinator/scene/feed.h"
#include "coordinator/terminal/screen.h"
#include "coordinator/terminal/session.h"
#include "coordinator/view/grid.h"
#include "coordinator/view/live.h"

enum { LIVE_TICK_MS = 200, SESSION_TICK_MS = 40, GRID_BYTES = 4 << 20, PROGRAM_BYTES = 1100 };

struct watch_view {
    struct watch_view_options options;
    struct live *live; /* or, when it is NULL: */
    struct feed *feed;
    struct terminal_session *session;
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
        out->body = log_tail_read (view->options.dir, board, &source, arena);
        out->head = text_format (arena, "rung %.*s, %s, attempt %u%s", TEXT_ARG (id),
                                 enum_name_of (&pass_names, source.key.pass), source.key.attempt,
                                 out->body.len ? "" : ": it printed nothing");
    }
}

static int cancel (void *owner, struct err *err)
{
    const struct watch_view *view = owner;
    if (view->options.dir == NULL)
        return err_set (err, ERR_REFUSED, "a monitor key does not allow it");
    return cancel_ask_politely (view->options.cli, view->options.dir, err);
}

static bool is_worked_with (const struct watch_view_options *options)
{
    return !options->cli->plain && !options->json && isatty (STDIN_FILENO) && isatty (STDOUT_FILENO) &&
           tcgetpgrp (STDIN_FILENO) == getpgrp ();
}

static bool open_session (struct watch_view *view)
{
    const struct watch_view_options *options = &view->options;
    struct terminal_options session = { .program = view->program,
                                        .run = options->run,
                                        .key = options->key,
                                        .color = options->cli->color,
                                        .owner = view,
                                        .read_log = read_log,
                                        .cancel = cancel };
    struct err err = { 0 };
    snprintf (view->program, sizeof (view->program), "sliceup%s", options->cli->hint);
    session.feed = view->feed = feed_create ();
    exit_timeout_set_last (screen_restore);
    view->session = terminal_session_open (&session, &err);
    if (view->session)
        return true;
    log_detail (&options->cli->log, "the terminal cannot be worked with: %s", err.text);
    feed_destroy (view->feed);
    view->feed = NULL;
    return false;
}

/* ---- the verbs ---- */

struct watch_view *watch_view_open (const struct watch_view_options *options)
{
    struct watch_view *view = mem_alloc (sizeof (*view));
    const struct cli *cli = options->cli;
    struct live_options look = { .plain = cli->plain || options->json, .json = options->json, .color = cli->color };
    view->options = *options;
    look.out = stdout;
    if (!is_worked_with (options) || !open_session (view))
        view->live = live_open (&look);
    return view;
}

/* What stays in the scrollback. */
static void print_last (const struct watch_view *view)
{
    struct style style = cli_detect_style (view->options.cli);
    struct buf out;
    buf_init (&out, GRID_BYTES);
    style.rows = 0;
    grid_draw (feed_board (view->feed), feed_now_ms (view->feed, clock_wall_ms ()), &style, NULL, 0, &out);
    cli_write_stdout (view->options.cli, &out);
}

void watch_view_close (struct watch_view *view)
{
    live_close (view->live);
    terminal_session_close (view->session);
    if (view->feed)
        print_last (view);
    feed_destroy (view->feed);
    mem_free (view);
}

void watch_view_fact (struct watch_view *view, const struct fact *fact)
{
    if (view->live)
        live_fact (view->live, fact, (struct live_time){ clock_boot_ms (), clock_wall_ms () });
    else
        feed_apply (view->feed, fact, clock_wall_ms ());
}

void watch_view_print_remark (struct watch_view *view, const char *remark)
{
    if (view->live)
        live_print_remark (view->live, remark);
    else
        feed_add_remark (view->feed, remark);
}

void watch_view_freeze_clock (struct watch_view *view, bool frozen)
{
    if (view->live)
        live_freeze_clock (view->live, frozen);
    else
        feed_freeze_clock (view->feed, frozen, clock_wall_ms ());
}

bool watch_view_tick (struct watch_view *view)
{
    if (view->live) {
        live_tick (view->live, clock_boot_ms ());
        return true;
    }
    feed_tick (view->feed, clock_wall_ms ());
    return terminal_session_tick (view->session, clock_boot_ms (), clock_wall_ms ());
}

uint32_t watch_view_tick_ms (const struct watch_view *view)
{
    return view->live ? LIVE_TICK_MS : SESSION_TICK_MS;
}

bool watch_view_stays (const struct watch_view *view)
{
    return view->session != NULL;
}

const struct board *watch_view_board (const struct watch_view *view)
{
    return view->live ? live_board (view->live) : feed_board (view->feed);
}
