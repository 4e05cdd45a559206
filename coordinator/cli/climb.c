#include "coordinator/cli/climb.h"

#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/io/clock.h"
#include "coordinator/io/driver.h"
#include "coordinator/cli/receipt_files.h"
#include "coordinator/view/live.h"

enum { REDRAW_MS = 200 };

struct climber {
    struct cli *cli;
    struct driver *driver;
    struct live *live;
    struct loop *loop;
    uint32_t interrupts;
    char sentence[4096];            /* of RUN_ENDED */
    bool replaying;
};

static void on_fact (void *owner, const struct fact *fact)
{
    struct climber *climber = owner;
    if (fact->kind == FACT_RUN_ENDED)
        snprintf (climber->sentence, sizeof (climber->sentence), "%.*s", TEXT_ARG (fact->of.run_ended.sentence));
    live_fact (climber->live, fact);
}

static void on_redraw (void *owner, int fd, uint32_t events)
{
    (void) events;
    struct climber *climber = owner;
    uint64_t times;
    if (read (fd, &times, sizeof (times)) < 0)
        return; /* not due yet */
    live_tick (climber->live, clock_wall_ms ());
}

/* First Ctrl-C: politely; second: at once; third: leave, workers stop by their own rule. */
static void on_signal (void *owner, int signal, int64_t pid)
{
    (void) pid;
    struct climber *climber = owner;
    if (signal == SIGPIPE || signal == SIGCHLD)
        return;
    climber->interrupts++;
    static const char *const said[] = {
        "stopping: the running rung is asked to end (Ctrl-C again: kill it)",
        "killing the running rung (Ctrl-C again: leave without waiting)",
        "leaving; workers stop by themselves when they hear nothing",
    };
    log_say (&climber->cli->log, "%s", said[climber->interrupts < 3 ? climber->interrupts - 1 : 2]);
    if (climber->driver)
        driver_cancel (climber->driver, climber->interrupts);
}

static int redraw_timer (struct climber *climber, struct err *err)
{
    int fd = timerfd_create (CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct itimerspec every = { { 0, REDRAW_MS * 1000000L }, { 0, REDRAW_MS * 1000000L } };
    if (fd < 0 || timerfd_settime (fd, 0, &every, NULL) < 0) {
        err_errno (err, ERR_IO, "no timer for the live view");
    } else if (loop_watch (climber->loop, fd, EPOLLIN, on_redraw, climber, err) == 0) {
        return fd;
    }
    if (fd >= 0)
        close (fd);
    return -1;
}

static void worker_path (const struct cli *cli, char *out, size_t out_bytes)
{
    const char *slash = strrchr (cli->program, '/');
    snprintf (out, out_bytes, "%.*ssliceup-worker", slash ? (int) (slash + 1 - cli->program) : 0, cli->program);
}

static int open_driver (struct climber *climber, const struct run_dir *dir, const struct plan *plan, struct err *err)
{
    char worker[RUN_PATH_BYTES];
    worker_path (climber->cli, worker, sizeof (worker));
    struct driver_options options = {
        .dir = dir, .log = &climber->cli->log, .version = SLICEUP_VERSION, .worker_path = worker, .watch = on_fact, .owner = climber,
    };
    climber->driver = plan ? driver_open (climber->loop, &options, plan, err) : driver_resume (climber->loop, &options, err);
    return climber->driver ? 0 : -1;
}

/* The sentence quotes what hosts said. */
static void say_end (const struct climber *climber, const struct run_dir *dir)
{
    char path[RUN_PATH_BYTES];
    struct buf line;
    buf_init (&line, 16 * sizeof (climber->sentence));
    buf_escaped (&line, text_of (climber->sentence), 0);
    printf ("%s\n", buf_c (&line));
    buf_release (&line);
    printf ("receipt: %s   (as text: sliceup receipt %.8s)\n", run_dir_path (dir, "receipt.json", path), dir->id);
    fflush (stdout);
}

static int finish (struct climber *climber, const struct run_dir *dir, struct err *err)
{
    uint32_t exit_status = EXIT_COULD_NOT;
    struct err problem = { 0 };
    bool ended = driver_ended (climber->driver, &exit_status, &problem);
    driver_close (climber->driver);
    climber->driver = NULL;
    live_close (climber->live);
    climber->live = NULL;
    if (problem.code)
        cli_fail (climber->cli, &problem);
    if (problem.code || climber->sentence[0] == '\0') {
        printf ("run %.8s was left unfinished; continue it with: sliceup resume %.8s\n", dir->id, dir->id);
        return ended ? (int) exit_status : EXIT_COULD_NOT;
    }
    if (receipt_write_files (dir, err) < 0)
        cli_fail (climber->cli, err);
    say_end (climber, dir);
    return (int) exit_status;
}

int climb (struct cli *cli, const struct run_dir *dir, const struct plan *plan)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, 0 };
    struct climber climber = { .cli = cli };
    struct live_options look = { .plain = cli->plain, .color = cli->color, .out = stdout };
    struct err err = { 0 };
    int timer = -1, status = EXIT_COULD_NOT;
    if ((climber.loop = loop_open (&err)) == NULL || loop_signals (climber.loop, signals, on_signal, &climber, &err) < 0)
        return cli_fail (cli, &err);
    climber.live = live_open (&look);
    if (open_driver (&climber, dir, plan, &err) < 0 || (timer = redraw_timer (&climber, &err)) < 0) {
        live_close (climber.live);
        driver_close (climber.driver);
        status = cli_fail (cli, &err);
        goto out;
    }
    if (!driver_ended (climber.driver, NULL, NULL) && loop_run (climber.loop, &err) < 0)
        status = cli_fail (cli, &err);
    status = finish (&climber, dir, &err);
out:
    if (timer >= 0) {
        loop_forget (climber.loop, timer);
        close (timer);
    }
    loop_close (climber.loop);
    return status;
}
