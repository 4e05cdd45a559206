/* held_effect_queue.h - effects that wait for the facts before them to be durable. First in, first out. */
#ifndef SLICEUP_COORDINATOR_RUN_HELD_EFFECT_QUEUE_H
#define SLICEUP_COORDINATOR_RUN_HELD_EFFECT_QUEUE_H

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

#endif
