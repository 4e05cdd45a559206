/* driver_private.h - the parts of a driver, for the files that make it up:
 *
 *   driver.c            opening, resuming, closing         driver_in.c         messages, ends of workers, time
 *   driver_out.c        facts to the journal, effects held until those before them are durable, and performed
 *   driver_catalogue.c  questions to the catalogue of caches, which waits for its disk on another thread */
#ifndef SLICEUP_COORDINATOR_RUN_DRIVER_PRIVATE_H
#define SLICEUP_COORDINATOR_RUN_DRIVER_PRIVATE_H

#include "common/io/work_budget.h"
#include "common/model/fact.h"
#include "coordinator/catalogue/catalogue.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/journal/run_facts.h"
#include "coordinator/journal/workqueue.h"
#include "coordinator/launch/launch.h"
#include "coordinator/monitor/monitors.h"
#include "coordinator/monitor/ticket.h"
#include "coordinator/run/driver.h"
#include "coordinator/run/kit_store.h"
#include "coordinator/run/log_store.h"
#include "coordinator/run/queues.h"

/* What a host may say over time, and whether it was told that it said more. */
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
    struct slice_link_keys tickets; /* launcher join: who may come */
    struct monitors *monitors;
    struct workqueue *workqueue, *log_workqueue; /* apart: logs must not delay a token */
    uint64_t lease_owner_token;  /* another run's generation whose writing was last told to be waited for */
    struct err not_ours;         /* why what was found in the cache is not used: who may change it */
    struct catalogue *catalogue; /* used on the task thread only, once it is open */
    struct log_store *logs;
    struct kit_store *kits;
    struct output_watch *outputs;
    struct remark_queue *remarks;
    uint64_t outputs_told_ms;
    uint64_t alive_told_ms; /* in the journal's lock */
    uint64_t *own_seq;      /* per host: of the last frame written to it */
    struct arena arena;     /* of the message being taken */
    struct buf frame;       /* of the message or fact being written */
    char run_raw[RUN_ID_BYTES];
    uint64_t recorded_index;                  /* the last fact given to the journal */
    uint64_t opening_index;                   /* the last one with which this process opened or resumed the run */
    uint64_t now_ms;                          /* of this pass */
    uint64_t *refused;                        /* per host: frames that could not be read */
    struct host_rate_limit *host_rate_limits; /* per host */
    bool *alive;                              /* per host: a worker process of ours runs */
    uint64_t leave_by_ms;                     /* once ended: how long its workers may take to go */
    uint64_t farewell_by_ms;                  /* and its monitors to hear of it */
    bool begun;                               /* what says that it was not is gone */
    bool hears;                               /* frames of hosts are taken, and the core's clock goes on */
    bool releasing;
    bool more;                  /* something was left for the next pass */
    struct work_budget effects; /* of this pass, once `performing` */
    bool performing;
    bool input_closed; /* level 3, or the journal failed: nothing more is taken or said */
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
bool driver_is_out_of_budget (const struct driver *driver); /* the effects' share of this pass is used up */
void driver_end_loop_iteration (struct driver *driver);
void driver_begin_leaving (struct driver *driver, uint32_t exit_status);
void driver_leave_when_alone (struct driver *driver);
uint64_t driver_next_leave_at_ms (const struct driver *driver); /* once ended: when that is tried again */

/* driver_catalogue.c */
void driver_ask_catalogue (struct driver *driver, const struct held_effect *held);
void driver_end_generation_use (struct driver *driver); /* this run uses no generation any more */

/* driver_in.c */
/* A ticket names a fixed port. Without one, whoever opened this driver says who may come (driver_worker_keyed). */
bool driver_joins_by_ticket (const struct plan *plan);
/* Callbacks; `owner` is the driver. */
void driver_on_durable (void *owner, int fd, uint32_t events);
void driver_send_chunk (void *owner, uint32_t host, const struct msg_chunk *chunk);
void driver_note_courier_step (void *owner, uint32_t rank, struct text step);
void driver_log_remark (void *owner, uint32_t rank, struct text sentence);
void driver_worker_exited (void *owner, uint32_t rank, struct text why);
void driver_on_loop_iteration (void *owner);

#endif
