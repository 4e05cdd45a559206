/* log_filter.h - which outputs of a run `sliceup logs` is to show. */
#ifndef SLICEUP_COORDINATOR_CLI_LOG_FILTER_H
#define SLICEUP_COORDINATOR_CLI_LOG_FILTER_H

#include "common/base/err.h"
#include "coordinator/cli/host_filter.h"
#include "coordinator/view/board.h"

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
/* The sources chosen, in ladder order, then pass, attempt, rank. By default what failed, what runs, or else everything;
 * `everything` says that it came to that. */
struct log_sources {
    struct log_source *items;
    uint32_t n, capacity;
};
void log_filter_list (const struct log_filter *filter, const struct board *board, struct log_sources *sources,
                      bool *everything);
/* A source without a key for each chosen host, by rank. */
void log_filter_workers (const struct log_filter *filter, const struct board *board, struct log_sources *sources);

#endif
