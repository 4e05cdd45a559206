#include "coordinator/cli/climb.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "common/io/fd.h"
#include "coordinator/journal/journal.h"
#include "coordinator/launch/launch_process.h"

enum { SHARED_HOSTS_MAX_BYTES = 120, SENTENCE_BYTES = 1024 };

/* A run that has ended has no keys any more, and most are such: no journal of theirs is read. */
static bool may_be_interrupted (const struct run_dir *dir, struct live_run *run)
{
    uint64_t alive_ms = journal_last_alive_ms (RUN_PATH (dir, "journal.db")), now_ms = clock_wall_ms ();
    run->interrupted = true;
    run->alone_ms = now_ms > alive_ms ? now_ms - alive_ms : 0;
    return access (RUN_PATH (dir, "coordinator.key"), F_OK) == 0 && run_dir_check (dir, NULL) == 0;
}

/* A worker of launcher join goes over to whoever has its ticket: it works for one run at a time. */
static bool workers_may_live (const struct live_run *run)
{
    const struct plan *plan = &run->board->plan;
    return run->board->opened && !plan->start.tied && plan->launcher != LAUNCHER_JOIN &&
           run->alone_ms < plan->limits.exit_ms;
}

/* Who holds the journal runs, also before its first fact. */
static int live_runs_look_at (void *owner, const struct run_dir *dir, uint64_t created_ms)
{
    struct live_runs *runs = owner;
    struct err err = { 0 };
    struct live_run *run = &runs->items[runs->n];
    int held = journal_is_locked (RUN_PATH (dir, "journal.db"), NULL, &err);
    (void) created_ms;
    *run = (struct live_run){ .dir = *dir };
    if (held < 0 || (!held && (!runs->interrupted || !may_be_interrupted (dir, run))))
        return 0;
    run->board = board_create (BOARD_JUDGED_STATE);
    int read = run_facts_each (dir, board_take_fact, run->board, &err);
    if (!run->board->ended && (held || (read == 0 && workers_may_live (run))))
        runs->n++;
    else
        board_destroy (run->board);
    return runs->n < LIVE_RUNS_MAX ? 0 : 1;
}

int live_runs_read (const char *home, bool interrupted, struct live_runs *runs, struct err *err)
{
    *runs = (struct live_runs){ .items = mem_array (LIVE_RUNS_MAX, sizeof *runs->items), .interrupted = interrupted };
    return run_dir_each (home, live_runs_look_at, runs, err) < 0 ? -1 : 0;
}

void live_runs_release (struct live_runs *runs)
{
    for (uint32_t i = 0; i < runs->n; i++)
        board_destroy (runs->items[i].board);
    mem_free (runs->items);
    *runs = (struct live_runs){ 0 };
}

void live_run_print (const struct live_run *run, struct buf *out)
{
    const struct board *board = run->board;
    if (!board->opened) {
        buf_printf (out, "run %.8s, which is being made", run->dir.id);
        return;
    }
    buf_printf (out, "run %.8s of slice ", run->dir.id);
    buf_escaped (out, board->plan.slice, 0);
    if (run->interrupted)
        buf_printf (out, ", interrupted %s ago", DURATION_TEXT (run->alone_ms));
    else
        buf_printf (out, ", for %s", DURATION_TEXT (board_now_ms (board, clock_wall_ms ()) + board->away_ms));
    if (!board->running)
        return;
    buf_printf (out, ", at rung ");
    buf_escaped (out, board_rung_id (board, board->key.rung), 0);
    buf_printf (out, " (%u of %u)", board->key.rung + 1, board->plan.rungs.n);
}

/* ---- who has the hosts ---- */

static struct text machine_of (const struct plan *plan, uint32_t host, struct arena *arena)
{
    const struct plan_host *at = &plan->hosts.items[host];
    struct text address = at->ssh.address.len ? at->ssh.address : at->address.len ? at->address : at->name;
    if (plan->launcher == LAUNCHER_LOCAL || plan->launcher == LAUNCHER_JOIN)
        return text_format (arena, "%.*s/%.*s", TEXT_ARG (plan->slice), TEXT_ARG (at->name));
    if (plan->launcher == LAUNCHER_SSH && at->ssh.port && at->ssh.port != SSH_PORT_DEFAULT)
        return text_format (arena, "%.*s:%u", TEXT_ARG (address), at->ssh.port);
    return address;
}

static struct text *machines_of (const struct plan *plan, struct arena *arena)
{
    struct text *machines = arena_array (arena, plan->hosts.n, sizeof *machines);
    for (uint32_t i = 0; i < plan->hosts.n; i++)
        machines[i] = machine_of (plan, i, arena);
    return machines;
}

struct text live_runs_shared_hosts (const struct plan *plan, const struct plan *other, struct arena *arena)
{
    struct text *ours = machines_of (plan, arena), *theirs = machines_of (other, arena);
    struct text *shared = arena_array (arena, plan->hosts.n, sizeof *shared);
    uint32_t n = 0;
    qsort (theirs, other->hosts.n, sizeof *theirs, text_order);
    for (uint32_t i = 0; i < plan->hosts.n; i++)
        if (bsearch (&ours[i], theirs, other->hosts.n, sizeof *theirs, text_order))
            shared[n++] = plan->hosts.items[i].name;
    return n ? hostset_folded (shared, n, SHARED_HOSTS_MAX_BYTES, arena) : (struct text){ 0 };
}

static int live_runs_refuse (const struct live_run *run, const char *hint, struct text shared, struct err *err)
{
    bool left = run->interrupted;
    LOCAL_BUF words = { .max = SENTENCE_BYTES };
    live_run_print (run, &words);
    err_set (err, ERR_STATE,
             "%s%s %.*s%s with sliceup%s %s %.8s, end it with sliceup%s cancel %.8s, or give --beside to run at the "
             "same time",
             buf_c (&words), left ? ", which may still have workers on" : " has", TEXT_ARG (shared),
             left ? ": take it over" : " now, and two runs would take the devices from each other; follow it", hint,
             left ? "resume" : "watch", run->dir.id, hint, run->dir.id);
    return -1;
}

/* One that never said its key was not let go, and ended with whoever started it; one of this machine can be looked up. */
static bool worker_may_live (const struct plan *plan, const struct board_host *host)
{
    if (plan->launcher != LAUNCHER_LOCAL || !host->joins)
        return host->life == BOARD_KEYED || host->joins > 0;
    struct pollfd ended = { launch_process_open_pidfd ((int64_t) host->pid, host->pid_start, NULL), POLLIN, 0 };
    bool lives = ended.fd >= 0 && poll (&ended, 1, 0) == 0; /* readable: it has ended, and nobody has waited for it */
    if (ended.fd >= 0)
        (void) close (ended.fd);
    return lives;
}

static struct plan plan_with_workers (const struct live_run *run, struct arena *arena)
{
    struct plan plan = run->board->plan;
    if (!run->interrupted)
        return plan;
    plan.hosts.items = arena_array (arena, plan.hosts.n, sizeof *plan.hosts.items);
    plan.hosts.n = 0;
    for (uint32_t i = 0; i < run->board->plan.hosts.n; i++)
        if (worker_may_live (&plan, &run->board->hosts[i]))
            plan.hosts.items[plan.hosts.n++] = run->board->plan.hosts.items[i];
    return plan;
}

int live_runs_check_hosts (const struct live_runs *runs, const char *hint, const struct plan *plan, const char *but,
                           struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < runs->n; i++) {
        struct plan other = plan_with_workers (&runs->items[i], &arena);
        struct text shared = live_runs_shared_hosts (plan, &other, &arena);
        if (shared.len && !(but && strcmp (but, runs->items[i].dir.id) == 0))
            rc = live_runs_refuse (&runs->items[i], hint, shared, err);
    }
    return rc;
}

/* ---- asking a coordinator ---- */

int coordinator_signal (int pidfd, int signal, int value, struct err *err)
{
    siginfo_t info = { .si_signo = signal, .si_code = SI_QUEUE };
    info.si_pid = getpid ();
    info.si_uid = getuid ();
    info.si_value.sival_int = value;
    if (pidfd_send_signal (pidfd, signal, &info, 0) == 0)
        return 0;
    return err_errno (err, ERR_IO, "cannot send a signal to its coordinator");
}

int coordinator_ask_stands (const struct run_dir *dir, struct err *err)
{
    int64_t pid;
    LOCAL_FD pidfd = journal_open_holder (RUN_PATH (dir, "journal.db"), &pid, err);
    if (pidfd < 0)
        return -1;
    return coordinator_signal (pidfd, SIGURG, 0, err);
}
