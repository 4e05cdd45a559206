/* launch_private.h - the parts of a launch, for the files that make it up and for its tests.
 *
 *            launch_start      a place is free      its key line    launch_note_admitted       the courier's "left"
 *   (nothing) --------> QUEUED -------------> AWAITED ---------> KEYED --------------> ADMITTED ---------> LEFT
 *                                                | refused, broken, flood, no answer in time
 *   ADOPTED <--- launch_adopt                    +----> GIVEN_UP: killed, reported, waits to be reaped
 *
 *   "The process" is the worker, or its courier. From every state its end leads back to (nothing). The end is reported,
 *   except in GIVEN_UP and LEFT: there the courier is done, and its worker is independent. */
#ifndef SLICEUP_COORDINATOR_LAUNCH_LAUNCH_PRIVATE_H
#define SLICEUP_COORDINATOR_LAUNCH_LAUNCH_PRIVATE_H

#include "common/base/buf.h"
#include "coordinator/launch/launch.h"
#include "coordinator/launch/launch_process.h"
#include "coordinator/launch/launch_protocol.h"

/* A courier gets this grace, since it keeps the deadline itself and names the step that took too long. */
enum { LAUNCH_TIMEOUT_MS = 30 * 1000, COURIER_GRACE_MS = 5 * 1000, LAUNCH_WHY_MAX_BYTES = 1536 };
/* A worker tries the coordinator's address for so long. */
enum { LINK_TRY_MS = 3000 };
/* Between couriers that are to carry a link again. */
enum { AGAIN_PAUSE_MS = 1000, AGAIN_PAUSE_MAX_MS = 10 * 1000 };

enum start_state {
    START_QUEUED = 1,
    START_AWAITED,
    START_KEYED,
    START_ADMITTED,
    START_LEFT,
    START_ADOPTED,
    START_GIVEN_UP
};

struct start {
    struct launch *launch;
    struct start *next;
    enum start_state state;
    uint32_t rank;
    struct buf words;              /* QUEUED: its input */
    char *directory;               /* where its log is */
    bool carries;                  /* its link passes through its courier */
    bool again;                    /* the courier of a worker that runs, which it carries only */
    uint32_t tries_n;              /* couriers in a row that did not carry */
    struct launch_process process; /* descriptors are -1 when closed */
    uint64_t deadline_ms;          /* AWAITED */
    struct launch_parser *parser;  /* while its output is read */
    struct worker_log log;         /* none: ADOPTED */
};

struct launch {
    struct loop *loop;
    struct launch_options options; /* but for its texts, which end with the call: */
    char *program, *run_id_hex, *hub_address, *hub_local, *hub_public_key;
    struct launch_bundle bundle;
    uint32_t awaited_n, awaited_max; /* starts that are AWAITED */
    bool beginning;
    uint64_t timeout_ms;
    int timer_fd;
    uint64_t timer_ms;    /* when the timer fires; UINT64_MAX: never */
    struct start *starts; /* all of them, GIVEN_UP too, the latest first */
    struct start *by_rank[HOSTS_MAX];
};

static inline bool launch_is_remote (const struct launch *launch)
{
    return launch->options.launcher != LAUNCHER_LOCAL;
}

struct start *start_create (struct launch *launch, uint32_t rank, enum start_state state);
void start_destroy (struct start *start);
void start_set_state (struct start *start, enum start_state state);
void start_free_rank (struct start *start);   /* frees its rank for another start */
void start_drop_output (struct start *start); /* stops reading its output */
bool start_send (const struct start *start, struct text words);
void launch_drop_fd (struct loop *loop, int *fd); /* removes it from the loop, closes it, sets -1 */
/* launch_events.c: watches its output, if any, and its end. */
int start_watch (struct start *start, struct err *err);
int launch_timer_create (struct launch *launch, struct err *err);
void launch_timer_set (struct launch *launch, uint64_t at_ms);
/* launch_begin.c */
void start_note_carries (struct start *start);
/* Its courier ended, and its worker most likely runs: queues another one. False: there is no sense in that. */
bool launch_queue_again (struct launch *launch, uint32_t rank, const char *directory, uint32_t tries_n);
void launch_begin_queued (struct launch *launch);
/* Call it last for a start: the callback may start the next one. */
void launch_report_exit (struct launch *launch, uint32_t rank, const struct buf *why);

#endif
