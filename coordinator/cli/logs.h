/* logs.h - what `sliceup logs` is made of: which outputs are shown, how they are printed, and how they are followed. */
#ifndef SLICEUP_COORDINATOR_CLI_LOGS_H
#define SLICEUP_COORDINATOR_CLI_LOGS_H

#include "coordinator/cli/cli.h"
#include "coordinator/cli/hosts.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/story/board.h"

/* ---- log_output.c: which outputs of a run `sliceup logs` is to show ---- */

struct log_source {
    uint32_t host;
    struct attempt_key key;
};

struct log_filter {
    struct host_filter hosts;
    const char *rung, *pass; /* as given; NULL: any */
    uint32_t attempt;        /* 0: any */
    /* what they mean in this run: log_filter_resolve */
    bool *host_chosen;    /* per host of the plan; owned */
    int rung_index;       /* -1: any */
    enum pass pass_index; /* NONE: any */
};

bool log_filter_is_default (const struct log_filter *filter); /* nothing was asked for */
/* Looks the names up in the plan; a name that is not there is an error that says what is. */
int log_filter_resolve (struct log_filter *filter, const struct board *board, struct err *err);
bool log_filter_takes (const struct log_filter *filter, const struct log_source *source);
/* The sources chosen, by ladder, pass, attempt, rank. Default: what failed, what runs, or else all (`everything`). */
struct log_sources {
    struct log_source *items;
    uint32_t n, capacity;
};
void log_filter_list_sources (const struct log_filter *filter, const struct board *board, struct log_sources *sources,
                              bool *everything);
/* A source without a key for each chosen host, by rank. */
void log_filter_list_workers (const struct log_filter *filter, const struct board *board, struct log_sources *sources);

/* ---- log_output.c: what the facts of a run say of outputs ---- */

struct log_told {
    struct arena arena;
    struct told *newest[HOSTS_MAX]; /* per host */
};
void log_told_take (struct log_told *told, const struct fact *fact);
bool log_told_lost (const struct log_told *told, const struct log_source *source); /* was a loss told? */
/* Are all the bytes here that its host sent? False: also when that is not told yet. */
bool log_told_whole (const struct log_told *told, const struct log_source *source, uint64_t bytes);
/* Lines about an output of which `bytes` are here, holes among them: what is cut, lost or not here; `held`: a
 * coordinator may still write some. True: some of it is lost. */
bool log_told_put (const struct log_told *told, const struct log_source *source, uint64_t bytes, uint64_t hole_bytes,
                   bool held, struct buf *out);

/* ---- log_output.c: what hosts printed: a header line, then the output, safe for a terminal unless raw ---- */

/* "local[0-2], rung tiny, restored, attempt 1:"; of no attempt: "local[0-2], worker:" */
void log_output_put_header (const struct board *board, const uint32_t *hosts, uint32_t n, const struct attempt_key *key,
                            struct buf *out);
/* Line by line escaped; `raw`: as is. It ends with a newline. `holes`: some is lost, and zeros are told as missing. */
void log_output_put_body (struct text bytes, bool raw, bool holes, struct buf *out);
uint64_t log_output_hole_bytes (struct text bytes); /* of an output of which something is lost */
/* The last `lines` lines of `bytes`; `left_out`: how many lines are before them. */
struct text log_output_last_lines (struct text bytes, uint32_t lines, uint32_t *left_out);

/* The last lines of an output as it is now, safe for a terminal; empty: it printed nothing. -1: there are none to read,
 * and why (ERR_STATE: there is no such file). The names of `board` are path-safe. */
int log_tail_read (const struct run_dir *dir, const struct board *board, const struct log_source *source,
                   struct arena *arena, struct text *out, struct err *err);

#endif
