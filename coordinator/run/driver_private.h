/* driver_private.h - the parts of a driver, for the files that make it up:
 *
 *   driver.c            opening, resuming, closing         driver_in.c         messages, ends of workers, time
 *   driver_out.c        facts to the journal; effects, performed once earlier facts are durable
 *   driver_catalogue.c  questions to the catalogue of caches, answered on another thread */
#ifndef SLICEUP_COORDINATOR_RUN_DRIVER_PRIVATE_H
#define SLICEUP_COORDINATOR_RUN_DRIVER_PRIVATE_H

#include "common/io/clock.h"
#include "common/io/log.h"
#include "common/io/work_budget.h"
#include "common/model/fact.h"
#include "common/model/plan.h"
#include "coordinator/catalogue/catalogue.h"
#include "coordinator/core/coord.h"
#include "coordinator/journal/database.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/journal/run_facts.h"
#include "coordinator/launch/launch.h"
#include "coordinator/monitor/monitors.h"
#include "coordinator/monitor/ticket.h"
#include "coordinator/run/driver.h"
#include "coordinator/run/kit_store.h"
#include "coordinator/run/log_store.h"

/* ---- queues ---- */

/* Queues of effects that wait for durable facts, and of remarks that wait for equal ones. */

enum held_kind { HELD_EFFECT, HELD_PUBLISH };
struct held_effect {
    enum held_kind kind;
    uint64_t after_index; /* the last durable fact before it */
    enum effect_kind effect;
    enum fact_kind fact; /* PUBLISH */
    uint32_t host;
    uint32_t exit_status;
    struct text bytes;  /* SEND, PUBLISH: the frame; ADMIT, FIND, TOKEN: the text. Owned */
    bool undeliverable; /* SEND: the RUN of `key` is larger than a frame */
    struct attempt_key key;
    struct fact_generation generation; /* CACHE_PUBLISH; in `arena` */
    uint64_t token;                    /* of the cache's effects, as are flag, lease owner and storage */
    bool flag;
    struct lease_owner lease_owner; /* in `arena` */
    struct text storage;            /* in `arena` */
    text_list covers;               /* in `arena` */
    struct arena arena;
};
struct held_effect_queue {
    struct held_effect *items;
    uint32_t first, n, capacity;
};

void held_release (struct held_effect_queue *queue);
/* Appends a zeroed item; fill it before the next call. */
struct held_effect *held_add (struct held_effect_queue *queue, uint64_t after_index);
void held_copy_bytes (struct held_effect *held, struct text bytes);
/* The first item whose facts are durable, or NULL. Return it with held_done. */
struct held_effect *held_ready (struct held_effect_queue *queue, uint64_t durable_index);
void held_done (struct held_effect_queue *queue);

/* ---- remark queue ---- */

/* Remarks about hosts in the coordinator's own log: one that several hosts share within a second is one line, "h[3,17]:
 * its worker had to be copied anew".
 *
 * Remarks that differ only in numbers are equal. At REMARKS_MAX different ones all are written early, never dropped.
 * Knows no clock. One thread. */

enum { REMARKS_MAX = 16, REMARK_BYTES = 512, REMARK_WAIT_MS = 1000 };

struct remark_queue;
struct remark_queue *remark_queue_create (const struct plan *plan, const struct log *log); /* both outlive it */
void remark_queue_destroy (struct remark_queue *queue); /* writes what waits; NULL is fine */
void remark_queue_add (struct remark_queue *queue, uint32_t host, struct text sentence, uint64_t now_ms);
/* Writes remarks that waited long enough; all of them at UINT64_MAX. */
void remark_queue_tell (struct remark_queue *queue, uint64_t now_ms);
uint64_t remark_queue_due_ms (const struct remark_queue *queue); /* UINT64_MAX: nothing waits */

/* ---- driver private ---- */

/* The rate limit of a host, and whether exceeding it was reported. */
struct host_rate_limit {
    struct rate_limit may[LINK_CHANNELS];
    bool too_much;
};

struct driver {
    struct driver_options options;
    struct run_dir dir;
    struct loop *loop;
    struct coord *coord;
    struct outbox outbox;
    struct held_effect_queue held;
    struct journal *journal;
    struct hub *hub;
    struct launch *launch;
    struct slice_link_keys tickets; /* launcher join: keys of the hosts */
    struct monitors *monitors;
    struct workqueue *workqueue, *log_workqueue; /* separate, because logs must not delay a token */
    uint64_t lease_owner_token;                  /* another run's generation for which a wait was last reported */
    struct err not_ours;                         /* why the cache is not used: who else may change it */
    struct catalogue *catalogue;                 /* only the task thread uses it, once open */
    struct log_store *logs;
    struct kit_store *kits;
    struct output_watch *outputs;
    struct remark_queue *remarks;
    uint64_t outputs_told_ms;
    uint64_t alive_told_ms; /* last journal_note_alive */
    uint64_t *own_seq;      /* per host: seq of the last frame sent to it */
    struct arena arena;     /* for the message being handled */
    struct buf frame;       /* for the message or fact being written */
    char run_raw[RUN_ID_BYTES];
    uint64_t recorded_index;                  /* the last fact given to the journal */
    uint64_t opening_index;                   /* the last fact by which this process opened or resumed the run */
    uint64_t now_ms;                          /* of this pass */
    uint64_t *refused;                        /* per host: unreadable frames */
    struct host_rate_limit *host_rate_limits; /* per host */
    bool *alive;                              /* per host: a worker process of ours runs */
    uint64_t leave_by_ms;                     /* after the end: time limit for workers to leave */
    uint64_t farewell_by_ms;                  /* and for monitors to receive the end */
    bool begun;                               /* the run's .unbegun is removed */
    bool hears;                               /* frames of hosts are read, and the core's clock runs */
    bool releasing;
    bool more;                  /* work is left for the next pass */
    struct work_budget effects; /* of this pass, once `performing` */
    bool performing;
    bool input_closed; /* level 3, or the journal failed: nothing more is received or sent */
    bool ended;
    uint32_t exit_status;
    struct err problem;
};

/* driver_out.c */
void driver_worker_keyed (void *owner, uint32_t rank, struct text public_key); /* a callback: `owner` is the driver */
void driver_step (struct driver *driver, const struct core_input *in);
void driver_take_outbox (struct driver *driver);
void driver_fill_envelope (struct driver *driver, uint32_t host, uint64_t session,
                           struct msg *msg); /* fills its envelope */
void driver_release_held (struct driver *driver);
bool driver_is_out_of_budget (const struct driver *driver); /* this pass's budget for effects is used up */
void driver_end_loop_iteration (struct driver *driver);
void driver_begin_leaving (struct driver *driver, uint32_t exit_status);
void driver_leave_when_alone (struct driver *driver);
uint64_t driver_next_leave_at_ms (const struct driver *driver); /* after the end: when to try again to leave */

/* driver_catalogue.c */
void driver_ask_catalogue (struct driver *driver, const struct held_effect *held);
void driver_end_generation_use (struct driver *driver); /* notes that this run uses no generation any more */

/* driver_in.c */
/* True if the plan has a fixed port, as tickets need; else the opener admits workers (driver_worker_keyed). */
bool driver_joins_by_ticket (const struct plan *plan);
/* Callbacks; `owner` is the driver. */
void driver_on_durable (void *owner, int fd, uint32_t events);
void driver_send_chunk (void *owner, uint32_t host, const struct msg_chunk *chunk);
void driver_note_courier_step (void *owner, uint32_t rank, struct text step);
void driver_log_remark (void *owner, uint32_t rank, struct text sentence);
void driver_worker_exited (void *owner, uint32_t rank, struct text why);
void driver_on_loop_iteration (void *owner);

#endif
