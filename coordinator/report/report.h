/* report.h - what a report is made of: the receipt and the scene of one run, with every host of it opened.
 *
 * Made from the run's facts, as they stand in its journal: same facts, same report; the time is that of the newest one.
 * One thread. No errors. */
#ifndef SLICEUP_COORDINATOR_REPORT_REPORT_H
#define SLICEUP_COORDINATOR_REPORT_REPORT_H

#include "coordinator/receipt/drift.h"
#include "coordinator/scene/scene.h"

/* How many hosts were joined from then on. */
struct report_step {
    uint64_t at_ms; /* run clock */
    uint32_t n;
};
/* Lives until its book takes another fact or is destroyed. */
struct report {
    const struct plan *plan;
    bool held;                           /* the run has not ended, and a coordinator holds it */
    const struct slice_receipt *receipt; /* of this run */
    struct drift_query drift;            /* how its hosts are compared: by the plan's rules, and what the caller adds */
    const struct scene *scene;           /* every host is among its tiles */
    const struct scene_host *hosts;      /* scene->hosts_n, by rank */
    const struct report_step *joined;    /* in the order of time */
    uint32_t joined_n;
};

struct report_book;
struct report_book *report_book_create (void);
void report_book_destroy (struct report_book *book); /* NULL is fine */
void report_book_apply (struct report_book *book, const struct fact *fact);
struct report *report_book_make (struct report_book *book, bool held);

#endif
