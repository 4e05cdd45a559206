/* climb.h - drives a run to its end: loop, signals, view, receipt. Shared by run and resume. */
#ifndef SLICEUP_COORDINATOR_CLI_CLIMB_H
#define SLICEUP_COORDINATOR_CLI_CLIMB_H

#include "coordinator/cli/cli.h"
#include "coordinator/picture/metrics.h"
#include "coordinator/run/driver.h"
#include "coordinator/story/host_history.h"
#include <stdio.h>

/* ---- live_runs.c ----
 *
 * The runs of a home that have hosts now: a coordinator of this machine holds them, or it was interrupted
 * and workers of it may still work. */

enum { LIVE_RUNS_MAX = 64 };
struct live_run {
    struct run_dir dir;
    struct board *board; /* as far as its journal can be read; not opened, when it is just being made */
    bool interrupted;
    uint64_t alone_ms; /* interrupted: for how long its workers have been without a coordinator */
};
struct live_runs {
    struct live_run *items;
    uint32_t n;
    bool interrupted; /* such are among them */
};
/* The newest first, those that have not ended; of more than LIVE_RUNS_MAX the newest. `interrupted`: those too that
 * nobody has held for less than their limit exit, after which a worker without a coordinator ends, if their workers
 * outlive it (plan.h, start_plan.tied). Of a damaged one nobody can tell. */
int live_runs_read (const char *home, bool interrupted, struct live_runs *runs, struct err *err);
#define LOCAL_LIVE_RUNS __attribute__ ((cleanup (live_runs_release))) struct live_runs
void live_runs_release (struct live_runs *runs);
/* Appends "run 3fa9c1d2 of slice v6e, for 5 min 3 s, at rung dense (3 of 7)", or "..., interrupted 4 s ago, ...". */
void live_run_print (const struct live_run *run, struct buf *out);
/* The hosts of `plan` that a run of another plan has too, folded; empty: none. With launchers local and join a host is
 * one of its slice; with ssh and slurm it is the machine that its address names. */
struct text live_runs_shared_hosts (const struct plan *plan, const struct plan *other, struct arena *arena);
/* ERR_STATE: one of them has hosts of the plan. `but`: the id of a run that does not count; NULL: all do. */
int live_runs_check_hosts (const struct live_runs *runs, const char *hint, const struct plan *plan, const char *but,
                           struct err *err);

/* Queues a signal with a number for the coordinator that `pidfd` is (journal_open_holder). */
int coordinator_signal (int pidfd, int signal, int value, struct err *err);
/* Asks the run's coordinator to look where all programs stand; the answers are events. ERR_STATE: none holds it here. */
int coordinator_ask_stands (const struct run_dir *dir, struct err *err);

/* cancel.c */

/* What `sliceup cancel RUN --no-wait` does, for whoever watches the run: asks the coordinator that holds it to end it, as its
 * own Ctrl-C would, and does not wait for the end. ERR_STATE: no coordinator holds it on this machine, or it has ended. */
int cancel_ask_politely (struct cli *cli, const struct run_dir *dir, struct err *err);

/* ---- run.c ---- */

struct run_choices {
    bool again; /* with launches that are known bad */
    bool json, web;
    bool quiet;           /* only what goes wrong is told */
    const char *metrics;  /* a file, checked by run_new; NULL: none */
    struct run_dir *made; /* receives the run, if one was begun; NULL: nobody asks */
};
/* Begins a new run of a complete plan, and drives it to its end. Returns the exit status. */
int run_new (struct cli *cli, struct plan *plan, struct arena *arena, const struct run_choices *choices);

/* Has another run one of these hosts? One process of a home at a time: two that begin at once would not see each other. */
int run_check_hosts (struct cli *cli, const struct plan *plan, struct err *err);

/* A home below a folder, where runs lie that no cache, calibration or comparison may mix with others. `cli` has it then. */
struct own_home {
    char path[RUN_PATH_BYTES], hint[HINT_MAX_BYTES + 1];
};
int run_own_home (struct cli *cli, const char *folder, const char *name, struct own_home *own, struct err *err);

/* ---- climb ---- */

struct capacity_needs climb_capacity_needed (uint32_t hosts); /* beside what the process has before it drives a run */
/* May this process have what driving a run of so many hosts takes? Asked before a run is begun that could not go on. */
int climb_check_capacity (uint32_t hosts, struct err *err);
/* `plan`: a new run, and `making_fd` is from run_begun_create_run, closed here; NULL: resume what the folder holds.
 * `heading` is shown above everything else, and NULL none: whoever does not read it holds up nothing but the end of the
 * process, which any signal brings then. `json`: standard output has events, one a line. `metrics`: a file that is kept up to date; NULL: none.
 * Returns the exit status. */
int climb (struct cli *cli, const struct run_dir *dir, const struct plan *plan, int making_fd, const char *heading,
           bool json, const char *metrics);
/* The same of a new run, of which only what goes wrong is told. */
int climb_quietly (struct cli *cli, const struct run_dir *dir, const struct plan *plan, int making_fd);
/* Takes a run over whose coordinator is gone, as resume does, and cancels it; `level`: driver_cancel. Tells only what
 * goes wrong: the end is in the journal, if it came to that. Returns the exit status of the run, or why there is none. */
int climb_cancel (struct cli *cli, const struct run_dir *dir, uint32_t level);

/* A program or library of this build: they lie side by side. */
void climb_path_beside (const struct cli *cli, const char *name, char out[RUN_PATH_BYTES]);

/* serve.c: starts sliceup-web for one run, on any port of this machine; `url` is where it answers. It ends a few seconds after this
 * process. It never sees this process's terminal. */
int web_program_start (const struct cli *cli, const struct run_dir *dir, char *url, size_t url_bytes, struct err *err);

/* on_end.c: runs the command of a run's end: the receipt on its standard input, for a bounded time. */
struct run_end {
    const struct on_end *on_end;
    struct text slice, sentence;
    enum outcome outcome;
    uint32_t exit_status;
    const struct run_hosts *hosts;
};
/* Once a run: nothing when the plan names no command, or when it was run before. It is killed with its process group after
 * its time, or at SIGINT or SIGTERM, which are blocked here. What goes wrong is told, and changes nothing. */
void on_end_run (const struct cli *cli, const struct run_dir *dir, const struct run_end *end);

/* ---- live_thread.c ----
 *
 * A view of a run on its own thread: a stopped terminal (Ctrl-S, a pager) or a disk that does not answer
 * must not stop the run.
 *
 * Facts are handed over as bytes through a bounded queue. When the view does not take them, soft facts are left out
 * first; durable ones only past 64 MiB. */

/* All of it is called on the view's thread. */
struct live_viewer {
    void *(*open) (void *owner); /* returns the view */
    void (*fact) (void *view, const struct fact *fact);
    uint32_t (*tick) (void *view); /* after facts, and when as many ms as it returned are over */
    void (*close) (void *view);
    void (*log) (void *view, struct text line); /* NULL: nobody adds any */
};

struct live_thread;
struct live_thread *live_thread_open (const struct live_viewer *viewer, void *owner, struct err *err);
/* `bytes`: the fact's wire encoding; copied. Never blocks. */
void live_thread_add_fact (struct live_thread *viewer, enum fact_kind kind, struct text bytes);
void live_thread_add_log (struct live_thread *thread,
                          struct text line);         /* on any thread; as bounded as durable facts */
void live_thread_close (struct live_thread *viewer); /* shows what was handed over, then ends */
/* The same within so long, in whole seconds. False: something holds up the view; it is left as it is, and may go on until the process ends. */
bool live_thread_close_within (struct live_thread *viewer, uint32_t timeout_ms);

/* ---- metrics_file.c ---- */

/* Keeps a run's metrics file up to date while it runs, on a thread of its own: a disk that is full or does not answer
 * costs the file, never the run. That it cannot be written is told once, and once that it can again. */

struct metrics_writer;
/* `path`, checked by metrics_file_check, and `log` outlive it. */
struct metrics_writer *metrics_writer_open (const char *path, const struct log *log, struct err *err);
/* As live_thread_add_fact. NULL is fine. */
void metrics_writer_add_fact (struct metrics_writer *writer, enum fact_kind kind, struct text bytes);
/* On the loop's thread, for each fact: reads the driver's queues about once a second. NULL is fine. */
void metrics_writer_read_queues (struct metrics_writer *writer, const struct driver *driver);
/* Writes the last state, waiting at most some seconds. `drift`: findings, NULL: not known. NULL is fine. */
void metrics_writer_close (struct metrics_writer *writer, const uint32_t *drift);

/* ---- metrics file ---- */

/* The series of a run as a file for the textfile collector of node_exporter. Replaced by rename, so that
 * nobody reads a part of it; readable by everybody, since the collector is another user. */

/* Would it be read where it is, and can it be written? ERR_USAGE says what to do. */
int metrics_file_check (const char *path, struct err *err);
int metrics_file_write (const char *path, const struct buf *text, struct err *err);

/* ---- watch_view.c ----
 *
 * What `sliceup watch`, and `sliceup run` in its own terminal, show: a terminal that is worked with where
 * there is one, and else lines.
 *
 * A session leaves the last grid in the scrollback. In its own terminal a run has a session from its first fact to its
 * end; whoever leaves it before sees lines from there on. One thread. */

struct watch_view_options {
    struct cli *cli;
    const struct run_dir *dir; /* NULL: the run is elsewhere, and `key` is the file of its monitor key */
    const char *run, *key;
    const char *heading; /* lines above everything else; NULL: none */
    bool json;
    bool own;                                                                    /* this process is the coordinator */
    int (*cancel) (struct cli *cli, const struct run_dir *dir, struct err *err); /* what the key c does */
};
struct watch_view;
struct watch_view *watch_view_open (const struct watch_view_options *options);
void watch_view_close (struct watch_view *view);
void watch_view_fact (struct watch_view *view, const struct fact *fact);
void watch_view_print_remark (struct watch_view *view, const char *remark);
/* A whole line of the log: beside a session it is a note, and printed on standard error once the session is over, up to
 * 1 MiB of them; how many more there were is said. */
void watch_view_log (struct watch_view *view, struct text line);
void watch_view_freeze_clock (struct watch_view *view, bool frozen);
bool watch_view_tick (struct watch_view *view);              /* false: a person has left */
uint32_t watch_view_tick_ms (const struct watch_view *view); /* how soon it wants the next one */
/* Does it stay, when the run has ended, until somebody leaves? */
bool watch_view_stays (const struct watch_view *view);
const struct board *watch_view_board (const struct watch_view *view);

/* ---- run lines ---- */

/* A run as it happens, as lines on a stream: the notes of a feed with the run's clock in front, and now and
 * then what is waited for; or one JSON object a fact (docs/spec/event.schema.json).
 *
 * It listens to the feed. The owner puts a fact into the feed, then calls run_lines_fact. Quiet time goes by the boot clock, which never jumps.
 * Does not own feed and stream. One thread. A stream that can no longer be written is noticed by its owner. */

struct run_lines_options {
    struct feed *feed;
    FILE *out;
    bool json, unicode;
};
struct run_lines;
/* What the feed has noted by now is not printed. */
struct run_lines *run_lines_open (const struct run_lines_options *options);
void run_lines_fact (struct run_lines *lines, const struct fact *fact, uint64_t boot_ms);
/* A remark that is no fact, e.g. "the coordinator is gone": without the run's clock, which facts alone have. */
void run_lines_remark (struct run_lines *lines, const char *remark, uint64_t boot_ms);
/* Some times a second. `frozen`: nothing can be heard of the run, so nothing is waited for. */
void run_lines_tick (struct run_lines *lines, uint64_t boot_ms, bool frozen);
void run_lines_close (struct run_lines *lines); /* prints what waited to be shared; NULL is fine */

#endif
