/* queues.h - what waits: effects until the facts before them are durable, remarks for their like. */
#ifndef SLICEUP_COORDINATOR_RUN_QUEUES_H
#define SLICEUP_COORDINATOR_RUN_QUEUES_H

#include "common/io/log.h"
#include "common/model/plan.h"
#include "coordinator/core/coord.h"

enum held_kind { HELD_EFFECT, HELD_PUBLISH };
struct held_effect {
    enum held_kind kind;
    uint64_t after_index; /* the last durable fact before it */
    enum effect_kind effect;
    enum fact_kind fact; /* PUBLISH */
    uint32_t host;
    uint32_t exit_status;
    struct text bytes;  /* SEND, PUBLISH: the frame; ADMIT, FIND, TOKEN: the text. Owned */
    bool undeliverable; /* SEND: of the order `key`, which is larger than a frame */
    struct attempt_key key;
    struct fact_generation generation; /* CACHE_PUBLISH; in `arena` */
    uint64_t token;                    /* of the cache's effects, as their flag, lease owner and storage */
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
/* A place at the end, zeroed; fill it before the next call. */
struct held_effect *held_add (struct held_effect_queue *queue, uint64_t after_index);
void held_copy_bytes (struct held_effect *held, struct text bytes);
/* The first one whose facts are durable, or NULL. Give it back with held_done. */
struct held_effect *held_ready (struct held_effect_queue *queue, uint64_t durable_index);
void held_done (struct held_effect_queue *queue);

/* ---- remark queue ---- */

/* What is said of hosts in the coordinator's own log: a remark that several hosts share within a second
 * is one line, "h[3,17]: its worker had to be copied anew".
 *
 * Remarks are alike but for their numbers. More than REMARKS_MAX different ones are told sooner, never dropped. Knows no
 * clock. One thread. */

enum { REMARKS_MAX = 16, REMARK_BYTES = 512, REMARK_WAIT_MS = 1000 };

struct remark_queue;
struct remark_queue *remark_queue_create (const struct plan *plan, const struct log *log); /* both outlive it */
void remark_queue_destroy (struct remark_queue *queue); /* tells what waits; NULL is fine */
void remark_queue_add (struct remark_queue *queue, uint32_t host, struct text sentence, uint64_t now_ms);
/* Tells what has waited long enough; all of it at UINT64_MAX. */
void remark_queue_tell (struct remark_queue *queue, uint64_t now_ms);
uint64_t remark_queue_due_ms (const struct remark_queue *queue); /* UINT64_MAX: nothing waits */

#endif
