#include "common/io/clock.h"
#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/monitor/follow.h"
#include "coordinator/view/plain.h"

/* Events come at once; the journal is looked at as well, for the tail that nobody announced. */
enum { REDRAW_MS = 200, JOURNAL_MS = 1000, APPEAR_MS = 5000 };
/* With a key the monitor asks repeatedly, over new connections too, and a coordinator that ends waits for monitors:
 * silence for so long means that there is none. After a resume the run can be watched anew. */
enum { SILENT_MS = 60 * 1000 };

struct watcher {
    struct cli *cli;
    const char *run;
    const struct run_dir *dir;
    const struct monitor_key *key; /* NULL: the run's folder is here */
    uint64_t answered_ms;          /* with a key: when the coordinator last did */
    struct watch_view *view;
    struct follow *follow;
    bool json;
    bool over;
    uint64_t look_ms;      /* when the journal and its lock are looked at next */
    bool more;             /* the journal was not read to its end */
    uint64_t appear_by_ms; /* a run that is being made has no journal for a moment */
    bool held;             /* a coordinator held it at the last look */
    bool said_gone;
    int status;
    struct err err;
};

static void watch_on_fact (void *owner, const struct fact *fact)
{
    struct watcher *watcher = owner;
    watch_view_fact (watcher->view, fact);
}

static void watch_leave (struct watcher *watcher, int status)
{
    watcher->status = status;
    watcher->over = true;
}

/* Failing to listen costs speed and phases, nothing else: the journal is followed all the same. */
static void listen_in (struct watcher *watcher)
{
    struct err err = { 0 };
    if (follow_connect_events (watcher->follow, &err) < 0)
        log_detail (&watcher->cli->log, "cannot receive live events yet: %s", err.text);
}

static void tell_holder (struct watcher *watcher, bool held)
{
    char remark[160];
    if (!held && !watcher->said_gone) {
        if (watcher->key)
            snprintf (remark, sizeof (remark), "the coordinator does not answer; waiting for it");
        else
            snprintf (remark, sizeof (remark),
                      "no coordinator holds this run (its workers continue); take it over with: sliceup resume %.8s",
                      watcher->run);
        watch_view_print_remark (watcher->view, remark);
        watcher->said_gone = true;
    } else if (held && watcher->said_gone) {
        watcher->said_gone = false; /* the new one's first fact says the rest */
    }
    watch_view_freeze_clock (watcher->view, !held);
    watcher->held = held;
}

/* A run that ended without this monitor says nothing any more. */
static bool silent_for_good (struct watcher *watcher, bool held)
{
    uint64_t now_ms = clock_boot_ms ();
    if (!watcher->key || held)
        watcher->answered_ms = now_ms;
    if (now_ms - watcher->answered_ms < SILENT_MS)
        return false;
    err_set (&watcher->err, ERR_STATE,
             "%s, port %u, was silent for %d s: the coordinator of run %.8s is gone, or cannot be reached from here; "
             "it is unknown whether the run has ended. On its machine: sliceup status %.8s",
             watcher->key->address, (unsigned) watcher->key->port, SILENT_MS / 1000, watcher->run, watcher->run);
    watch_leave (watcher, EXIT_COULD_NOT);
    return true;
}

static void look_for_begin (struct watcher *watcher)
{
    if (run_begun_check (watcher->dir, &watcher->err) == 0)
        return; /* just now: the next look finds it */
    if (watcher->err.code == ERR_STATE && clock_boot_ms () < watcher->appear_by_ms)
        watcher->err = (struct err){ 0 };
    else
        watch_leave (watcher, EXIT_COULD_NOT);
}

static void watch_look (struct watcher *watcher)
{
    int held = follow_look (watcher->follow, NULL, &watcher->more, &watcher->err);
    const struct board *board = watch_view_board (watcher->view);
    if (held < 0)
        watch_leave (watcher, EXIT_COULD_NOT);
    if (held < 0 || board->ended || watcher->more || silent_for_good (watcher, held))
        return;
    if (!watcher->key && (!follow_has_journal (watcher->follow) || board->index == 0)) {
        look_for_begin (watcher);
        return;
    }
    if (held || !watcher->key || clock_boot_ms () >= watcher->appear_by_ms)
        tell_holder (watcher, held);
    if (held)
        listen_in (watcher);
}

/* Returns when the next one is due. */
static uint64_t watch_pass (struct watcher *watcher)
{
    uint64_t now_ms = clock_boot_ms ();
    if (exit_timeout_signal_seen ()) {
        watch_leave (watcher, EXIT_CANCELLED);
        return now_ms;
    }
    if (follow_is_connected (watcher->follow) && follow_poll_events (watcher->follow, &watcher->err) < 0)
        watch_leave (watcher, EXIT_COULD_NOT);
    if (now_ms >= watcher->look_ms && watcher->err.code == 0) {
        watch_look (watcher);
        watcher->look_ms = watcher->more ? now_ms
                                         : now_ms + (follow_is_connected (watcher->follow) ? JOURNAL_MS : REDRAW_MS);
    }
    if (watcher->err.code)
        return now_ms; /* the end of it is told, and nothing that was not read */
    const struct board *board = watch_view_board (watcher->view);
    if (watcher->more && watch_view_stays (watcher->view))
        return now_ms; /* what was long ago is not shown as if it were now */
    bool left = !watch_view_tick (watcher->view);
    if (board->ended && (left || !watch_view_stays (watcher->view)))
        watch_leave (watcher, (int) board->exit_status);
    else if (left)
        watch_leave (watcher, EXIT_HOLDS);
    else if (!watcher->more && cli_reader_left ())
        watch_leave (watcher, EXIT_HOLDS);
    return watcher->more ? now_ms : now_ms + watch_view_tick_ms (watcher->view);
}

static void say_sentence (const struct watcher *watcher, const struct text sentence)
{
    struct style style = cli_detect_style (watcher->cli);
    style.columns = 0;
    struct buf out = { .max = 1 << 20 };
    line_print_painted (&out, &style, PAINT_NONE, sentence);
    cli_write_stdout (watcher->cli, &out);
}

/* The last line of `--json`, whatever happened. */
static void say_exit (const struct watcher *watcher, enum outcome outcome, struct text sentence)
{
    struct buf out = { .max = 1 << 20 };
    event_json_exit (outcome, sentence, watcher->status, &out);
    cli_write_stdout (watcher->cli, &out);
}

static int watch_finish (struct watcher *watcher)
{
    LOCAL_ARENA arena = { 0 };
    bool ended = watch_view_board (watcher->view)->ended;
    enum outcome outcome = ended ? watch_view_board (watcher->view)->outcome : OUTCOME_NONE;
    struct text sentence = text_copy (&arena, watch_view_board (watcher->view)->sentence);
    watch_view_close (watcher->view);
    run_facts_warn (watcher->run);
    if (watcher->err.code)
        watcher->status = cli_fail (watcher->cli, &watcher->err);
    else if (ended && !watcher->json)
        say_sentence (watcher, sentence);
    if (watcher->json)
        say_exit (watcher, outcome, sentence);
    return watcher->status;
}

static void watch_watch (struct watcher *watcher)
{
    exit_timeout_catch_signals (EXIT_CANCELLED);
    while (!watcher->over) {
        uint64_t due_ms = watch_pass (watcher), now_ms = clock_boot_ms ();
        if (!watcher->over)
            follow_wait (watcher->follow, due_ms > now_ms ? (uint32_t) (due_ms - now_ms) : 0);
    }
}

/* Of a run in this home, or one elsewhere. */
static int follow_run (struct cli *cli, const struct run_dir *dir, const struct monitor_key *key, const char *file,
                       bool json)
{
    struct watcher watcher = {
        .cli = cli, .run = key ? key->run : dir->id, .dir = dir, .key = key, .json = json, .status = EXIT_COULD_NOT
    };
    struct watch_view_options look_of = { .cli = cli,
                                          .dir = key ? NULL : dir,
                                          .run = watcher.run,
                                          .key = file,
                                          .json = json,
                                          .cancel = cancel_ask_politely };
    watcher.answered_ms = clock_boot_ms ();
    watcher.appear_by_ms = watcher.answered_ms + APPEAR_MS;
    watcher.view = watch_view_open (&look_of);
    watcher.follow = key ? follow_open_remote (key, watch_on_fact, &watcher, &watcher.err)
                         : follow_open (dir, watch_on_fact, &watcher);
    if (watcher.follow)
        watch_watch (&watcher);
    follow_close (watcher.follow);
    return watch_finish (&watcher);
}

static int watch_run (struct cli *cli, const struct cli_arguments *arguments)
{
    const char *run = arguments->operands[0], *file = arguments->values[CLI_KEY];
    struct run_dir dir;
    struct monitor_key key;
    struct err err = { 0 };
    if (file && run)
        err_set (&err, ERR_USAGE, "watch: give either RUN or --key FILE, which contains its run");
    else if (file)
        monitor_key_load (&key, file, &err);
    else
        run_dir_find (&dir, cli->home, run ? run : "last", &err);
    return err.code ? cli_fail (cli, &err)
                    : follow_run (cli, &dir, file ? &key : NULL, file, arguments->values[CLI_JSON]);
}

static const struct cli_option options[] = {
    { OPTION_KEY },
    { OPTION_JSON_EVENTS },
    { 0 },
};

const struct cli_command watch_command = {
    .name = "watch",
    .task = TASK_LOOK,
    .summary = "follow a run from another terminal, as it happens",
    .help =
        "In a terminal it can be worked with: a line a host, filtered and in order, hosts opened, logs as "
        "they grow; ? lists the keys, and each key shows the command that does the same. It stays until q, and leaves "
        "the last grid and the result behind. Elsewhere, or with --plain, one line an event, beginning with all "
        "earlier ones. It only reads, but for the key c, which asks and then does what sliceup cancel does: Ctrl-C "
        "does not affect the run, and any number of processes may watch.\n"
        "\n"
        "When the coordinator dies, watch reports it once and waits: after sliceup resume it continues. With --key "
        "it cannot see that, and waits for a minute without messages.\n\n" HELP_OF_RUN,
    .examples = "sliceup watch\n"
                "sliceup watch 3fa9 --plain | tee run.log\n",
    .exit_status = "that of the run if it has ended; 0 left with q before that, or nobody reads the output any more; "
                   "130 left with Ctrl-C; 2 no such run, or it was never begun; 3 with --key: no answer for a minute, "
                   "or for 10 s none that can be read; 5 the journal is damaged.",
    .operands = (const struct cli_operand[]){ { OPERAND_RUN }, { 0 } },
    .options = options,
    .run = watch_run,
};
