#include "coordinator/cli/climb.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/io/fd.h"
#include "common/wire/wire.h"
#include "coordinator/cli/run_receipt.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/view/plain.h"

/* The view, the metrics, the journal, its mark, and four that wait for disks (logs, catalogue, files, monitors); SQLite's caches. */
enum { OWN_THREADS = 8, OWN_BYTES = 16 * 1024 * 1024 };
enum { INTERRUPTS_LEAVE = 3, CARD_MAX_BYTES = 1 << 20 };

struct run_loop {
    struct cli *cli;
    struct driver *driver;
    struct live_thread *viewer;
    struct metrics_writer *metrics; /* NULL: nobody wants them */
    struct loop *loop;
    uint32_t interrupts;
    bool quiet;          /* only what goes wrong is told */
    bool silent;         /* and not that it was left unfinished, which its caller tells */
    char sentence[4096]; /* of RUN_ENDED */
    struct buf card;     /* what it came to, or how its hosts differ; empty: the sentence says all */
    enum outcome outcome;
    struct watch_view_options look;
    struct arena arena; /* of the next two */
    struct text slice;
    struct on_end on_end;
};

/* What the end of the run needs of its first and of its last fact. */
static void climb_keep (struct run_loop *run_loop, enum fact_kind kind, struct text bytes)
{
    LOCAL_ARENA arena = { 0 };
    struct fact fact;
    const struct plan *plan = &fact.of.run_opened.plan;
    bool read = wire_get_fact (bytes, &fact, &arena, NULL) == 0;
    if (read && kind == FACT_RUN_OPENED) {
        run_loop->slice = text_copy (&run_loop->arena, plan->slice);
        run_loop->on_end.command = text_list_copy (&plan->on_end.command, &run_loop->arena);
        run_loop->on_end.timeout_ms = plan->on_end.timeout_ms;
    } else if (read) {
        snprintf (run_loop->sentence, sizeof (run_loop->sentence), "%.*s", TEXT_ARG (fact.of.run_ended.sentence));
        run_loop->outcome = fact.of.run_ended.outcome;
    }
}

static void end_turn (struct cli *cli)
{
    fd_close (cli->turn_fd);
    cli->turn_fd = -1;
}

static void climb_on_fact (void *owner, enum fact_kind kind, struct text bytes)
{
    struct run_loop *run_loop = owner;
    if (kind == FACT_RUN_OPENED)
        end_turn (run_loop->cli); /* who begins another run sees this one now */
    if (kind == FACT_RUN_OPENED || kind == FACT_RUN_ENDED)
        climb_keep (run_loop, kind, bytes);
    if (run_loop->viewer)
        live_thread_add_fact (run_loop->viewer, kind, bytes);
    metrics_writer_add_fact (run_loop->metrics, kind, bytes);
    metrics_writer_read_queues (run_loop->metrics, run_loop->driver);
}

/* ---- the view, on its thread ---- */

static void *view_open (void *look)
{
    return watch_view_open (look);
}

static void view_fact (void *view, const struct fact *fact)
{
    watch_view_fact (view, fact);
}

static uint32_t view_tick (void *view)
{
    (void) watch_view_tick (view); /* whoever leaves a run's own terminal does not end the run */
    return watch_view_tick_ms (view);
}

static void view_log (void *view, struct text line)
{
    watch_view_log (view, line);
}

static void view_close (void *view)
{
    watch_view_close (view);
}

/* Whom a line of the log is given, on any thread, as long as there is a view; and whether there is something to cancel. */
static struct {
    pthread_mutex_t lock;
    struct live_thread *viewer;
    bool cancels;
} logged = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* As `sliceup cancel` does, once: who presses the key again has asked already. */
static int cancel_own (struct cli *cli, const struct run_dir *dir, struct err *err)
{
    (void) cli;
    (void) dir;
    const union sigval first = { .sival_int = 1 };
    int rc = -1;
    pthread_mutex_lock (&logged.lock);
    if (!logged.cancels)
        err_set (err, ERR_STATE, "there is nothing left to cancel");
    else if ((rc = sigqueue (getpid (), SIGINT, first)) < 0)
        err_errno (err, ERR_STATE, "cannot send a signal to this process");
    pthread_mutex_unlock (&logged.lock);
    return rc;
}

static void on_log (struct text line)
{
    pthread_mutex_lock (&logged.lock);
    if (logged.viewer)
        live_thread_add_log (logged.viewer, line);
    else
        (void) !fwrite (line.ptr, 1, line.len, stderr); /* nobody can be told */
    pthread_mutex_unlock (&logged.lock);
}

static void set_logged (struct live_thread *viewer, bool cancels)
{
    pthread_mutex_lock (&logged.lock);
    logged.viewer = viewer;
    logged.cancels = cancels;
    pthread_mutex_unlock (&logged.lock);
}

/* What is logged onto the terminal must not be written over what is drawn: the view shows it as well. */
static int open_view (struct run_loop *run_loop, struct err *err)
{
    static const struct live_viewer viewer = { view_open, view_fact, view_tick, view_close, view_log };
    run_loop->viewer = live_thread_open (&viewer, &run_loop->look, err);
    if (run_loop->viewer == NULL)
        return -1;
    set_logged (run_loop->viewer, true);
    if (!run_loop->cli->plain && !run_loop->look.json && isatty (STDERR_FILENO))
        run_loop->cli->log.take = on_log;
    return 0;
}

static void close_view (struct run_loop *run_loop)
{
    set_logged (NULL, false);
    live_thread_close (run_loop->viewer);
    run_loop->viewer = NULL;
}

/* First Ctrl-C: politely; second: at once; third: leave, workers stop by their own rule. `sliceup cancel` queues the
 * number of the one that it stands for. */
static void climb_on_signal (void *owner, int signal, int64_t pid, int value)
{
    struct run_loop *run_loop = owner;
    if (signal == SIGPIPE || signal == SIGCHLD || signal == SIGHUP)
        return;             /* a terminal that goes away, or a lost ssh connection, does not end the climb */
    if (signal == SIGURG) { /* sliceup stacks; without a handler it would do nothing */
        if (run_loop->driver)
            driver_look (run_loop->driver);
        return;
    }
    bool by_command = value > 0 && value < INTERRUPTS_LEAVE;
    if (by_command && run_loop->interrupts >= (uint32_t) value)
        return; /* that was asked for already */
    if (by_command && pid != getpid ())
        log_print (&run_loop->cli->log, "sliceup cancel (pid %" PRId64 ") ends this run", pid);
    run_loop->interrupts = by_command ? (uint32_t) value : run_loop->interrupts + 1;
    static const char *const said[] = {
        "stopping: asking the running rung to end (press Ctrl-C again to kill it)",
        "killing the running rung (press Ctrl-C again to leave without waiting)",
        "leaving without waiting; the workers stop by themselves when they hear from no coordinator",
    };
    if (!run_loop->silent)
        log_print (&run_loop->cli->log, "%s",
                   said[run_loop->interrupts < INTERRUPTS_LEAVE ? run_loop->interrupts - 1 : INTERRUPTS_LEAVE - 1]);
    if (run_loop->driver)
        driver_cancel (run_loop->driver, run_loop->interrupts);
}

void climb_path_beside (const struct cli *cli, const char *name, char out[RUN_PATH_BYTES])
{
    const char *slash = strrchr (cli->program, '/');
    snprintf (out, RUN_PATH_BYTES, "%.*s%s", slash ? (int) (slash + 1 - cli->program) : 0, cli->program, name);
}

static int open_driver (struct run_loop *run_loop, const struct run_dir *dir, const struct plan *plan, struct err *err)
{
    char worker[RUN_PATH_BYTES], courier[RUN_PATH_BYTES], bundle[RUN_PATH_BYTES];
    climb_path_beside (run_loop->cli, "sliceup-worker", worker);
    climb_path_beside (run_loop->cli, "sliceup-courier", courier);
    climb_path_beside (run_loop->cli, "sliceup-worker.bundle", bundle);
    struct driver_options options = { .dir = dir,
                                      .log = &run_loop->cli->log,
                                      .version = SLICEUP_VERSION,
                                      .worker_path = worker,
                                      .courier_path = courier,
                                      .bundle_path = bundle,
                                      .password = run_loop->cli->password,
                                      .watch = climb_on_fact,
                                      .owner = run_loop,
                                      .cancel = run_loop->interrupts };
    run_loop->driver = plan ? driver_open (run_loop->loop, &options, plan, err)
                            : driver_resume (run_loop->loop, &options, err);
    return run_loop->driver ? 0 : -1;
}

/* A pipe, and --plain, get a line a fact; a terminal breaks long lines at words, and what follows stands further in. */
static void print_at_words (const struct cli *cli, struct text lines)
{
    uint32_t columns = cli->plain ? 0 : cli_detect_style (cli).columns, indent;
    struct buf out = { .max = 2 * (size_t) CARD_MAX_BYTES };
    while (lines.len) {
        struct text line = text_take_until (&lines, '\n');
        for (indent = 0; indent < line.len && line.ptr[indent] == ' ';)
            indent++;
        buf_printf (&out, "%*s", (int) indent, "");
        text_skip (&line, indent);
        line_wrap (&out, line, indent, indent + 2, columns);
    }
    cli_write_stdout (cli, &out);
}

/* The sentence quotes hosts, the path is the user's: neither drives the terminal. */
static void climb_say_end (const struct run_loop *run_loop, const struct run_dir *dir, bool receipt_written)
{
    const struct buf *card = &run_loop->card;
    char path[RUN_PATH_BYTES];
    LOCAL_BUF line = { .max = 16 * (sizeof (run_loop->sentence) + sizeof (path)) + card->len };
    bool passed = run_loop->outcome == OUTCOME_PASSED;
    if (!card->len || passed)
        buf_escaped (&line, text_of (run_loop->sentence), 0);
    const char *more = !passed ? "explain" : text_starts (buf_as_text (card), "drift: ") ? "drift" : "calibration";
    if (card->len)
        buf_printf (&line, "%s%.*sall of it: sliceup%s %s %.8s", passed ? "\n" : "", TEXT_ARG (buf_as_text (card)),
                    run_loop->cli->hint, more, dir->id);
    if (receipt_written) {
        buf_puts (&line, "\nreceipt: ");
        buf_escaped (&line, text_of (run_dir_path (dir, "receipt.json", path)), 0);
        buf_printf (&line, "   (as text: sliceup%s receipt %.8s)", run_loop->cli->hint, dir->id);
    }
    print_at_words (run_loop->cli, buf_as_text (&line));
}

/* A run without a fact was never begun: its folder is removed. */
static bool forget_unbegun (const struct cli *cli, const struct run_dir *dir)
{
    struct err err = { 0 };
    bool stays = run_begun_check_or_remove (dir, &err) == 0 || err.code != ERR_USAGE;
    if (err.code && stays)
        log_print (&cli->log, "the folder of run %.8s was not removed: %s", dir->id, err.text);
    return !stays;
}

/* A damaged run is not resumed: its sentence says what to do. */
static void say_problem (const struct cli *cli, const struct err *problem, bool forgotten)
{
    cli_fail (cli, problem);
    if (forgotten)
        return; /* no worker was asked for anything */
    log_print (&cli->log, "the workers of the run continue for a while and keep their results%s",
               problem->code == ERR_DAMAGE ? "" : ": fix the problem, then run sliceup resume");
}

static void say_unfinished (const struct cli *cli, const struct run_dir *dir, bool forgotten)
{
    if (forgotten)
        printf ("run %.8s was never begun, and was removed\n", dir->id);
    else
        printf ("run %.8s was left unfinished; continue it with: sliceup%s resume %.8s\n", dir->id, cli->hint, dir->id);
}

/* From here on the process only prints: a signal may end it. */
static void only_words_left (const struct run_loop *run_loop)
{
    set_logged (run_loop->viewer, false);
    exit_timeout_default_signals (EXIT_CANCELLED);
    if (run_loop->interrupts >= INTERRUPTS_LEAVE)
        exit_timeout_start (EXIT_CANCELLED);
}

/* All files are written before anything is printed. */
static int climb_finish (struct run_loop *run_loop, const struct run_dir *dir, struct err *err)
{
    uint32_t exit_status = EXIT_COULD_NOT;
    struct err problem = { 0 };
    bool ended = driver_has_ended (run_loop->driver, &exit_status, &problem);
    driver_close (run_loop->driver);
    run_loop->driver = NULL;
    bool unfinished = problem.code || run_loop->sentence[0] == '\0';
    uint32_t drift = 0;
    struct run_hosts hosts = { 0 };
    int written = unfinished ? 0
                             : receipt_write_files (run_loop->cli, dir, run_loop->metrics ? &drift : NULL,
                                                    &run_loop->card, &hosts, &run_loop->arena, err);
    metrics_writer_close (run_loop->metrics, unfinished || written < 0 ? NULL : &drift);
    const struct run_end end = { &run_loop->on_end, run_loop->slice, text_of (run_loop->sentence),
                                 run_loop->outcome, exit_status,     &hosts };
    if (!unfinished && written == 0)
        on_end_run (run_loop->cli, dir, &end);
    bool forgotten = unfinished && problem.code != ERR_DAMAGE && forget_unbegun (run_loop->cli, dir);
    only_words_left (run_loop);
    close_view (run_loop);
    if (problem.code)
        say_problem (run_loop->cli, &problem, forgotten);
    if (problem.code == ERR_DAMAGE)
        return EXIT_DAMAGED;
    if (unfinished) {
        if (!run_loop->look.json && !run_loop->silent)
            say_unfinished (run_loop->cli, dir, forgotten);
        return ended ? (int) exit_status : EXIT_COULD_NOT;
    }
    if (!run_loop->look.json && !run_loop->quiet)
        climb_say_end (run_loop, dir, written == 0);
    if (written == 0)
        return (int) exit_status;
    int failed = cli_fail (run_loop->cli, err); /* a run whose record is gone proves nothing */
    return exit_status ? (int) exit_status : failed;
}

struct capacity_needs climb_capacity_needed (uint32_t hosts)
{
    struct capacity_needs needs = hub_capacity_needed (hosts);
    needs.threads += OWN_THREADS;
    needs.bytes += OWN_BYTES;
    return needs;
}

int climb_check_capacity (uint32_t hosts, struct err *err)
{
    char what[48];
    struct capacity_needs needs = climb_capacity_needed (hosts);
    snprintf (what, sizeof (what), "a run of %u host%s", hosts, plural (hosts));
    return process_capacity_check (what, &needs, err);
}

/* The last line of `--json`, however the climb went. A command that is refused before it comes here prints none. */
static void print_exit (const struct run_loop *run_loop, int status)
{
    LOCAL_BUF line = { .max = 16 * sizeof (run_loop->sentence) };
    event_json_exit (run_loop->outcome, text_of (run_loop->sentence), status, &line);
    fwrite (line.ptr, 1, line.len, stdout);
}

static int climb_with (struct run_loop *run_loop, const struct plan *plan, int making_fd, const char *metrics)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGURG, 0 };
    struct cli *cli = run_loop->cli;
    const struct run_dir *dir = run_loop->look.dir;
    struct err err = { 0 };
    int status = EXIT_COULD_NOT;
    bool open = home_folder_check (cli->home, "envs", true, &err) == 0 && (run_loop->loop = loop_open (&err)) != NULL &&
                loop_watch_signals (run_loop->loop, signals, climb_on_signal, run_loop, &err) == 0 &&
                (run_loop->quiet || open_view (run_loop, &err) == 0) &&
                (!metrics || (run_loop->metrics = metrics_writer_open (metrics, &cli->log, &err)) != NULL) &&
                open_driver (run_loop, dir, plan, &err) == 0;
    fd_close (making_fd); /* the journal's lock says from here on that somebody holds the run */
    if (!open) {
        if (plan)
            forget_unbegun (cli, dir);
        metrics_writer_close (run_loop->metrics, NULL);
        only_words_left (run_loop);
        close_view (run_loop);
        status = cli_fail (cli, &err);
    } else {
        struct err unnoted = { 0 };
        bool drives = !driver_has_ended (run_loop->driver, NULL, NULL);
        if (drives && !plan && run_dir_note_taken_over (dir, &unnoted) < 0)
            log_print (&cli->log, "commands without a run go on to take another for the last: %s", unnoted.text);
        if (drives && loop_run (run_loop->loop, &err) < 0)
            log_print (&cli->log, "%s", err.text);
        buf_init (&run_loop->card, CARD_MAX_BYTES);
        status = climb_finish (run_loop, dir, &err);
        buf_release (&run_loop->card);
    }
    end_turn (cli);
    loop_close (run_loop->loop);
    arena_release (&run_loop->arena);
    if (run_loop->look.json)
        print_exit (run_loop, status);
    return status;
}

int climb (struct cli *cli, const struct run_dir *dir, const struct plan *plan, int making_fd, const char *heading,
           bool json, const char *metrics)
{
    struct run_loop run_loop = {
        .cli = cli,
        .look = { .cli = cli,
                  .dir = dir,
                  .run = dir->id,
                  .heading = heading,
                  .json = json,
                  .own = true,
                  .cancel = cancel_own },
    };
    return climb_with (&run_loop, plan, making_fd, metrics);
}

int climb_quietly (struct cli *cli, const struct run_dir *dir, const struct plan *plan, int making_fd)
{
    struct run_loop run_loop = {
        .cli = cli, .look = { .cli = cli, .dir = dir, .run = dir->id }, .quiet = true, .silent = true
    };
    return climb_with (&run_loop, plan, making_fd, NULL);
}

int climb_cancel (struct cli *cli, const struct run_dir *dir, uint32_t level)
{
    struct run_loop run_loop = {
        .cli = cli, .look = { .cli = cli, .dir = dir, .run = dir->id }, .interrupts = level, .quiet = true
    };
    return climb_with (&run_loop, NULL, -1, NULL);
}
