#include "coordinator/run/driver_private.h"

#include <string.h>

void held_release (struct held_effect_queue *queue)
{
    while (queue->n)
        held_done (queue);
}

struct held_effect *held_add (struct held_effect_queue *queue, uint64_t after_index)
{
    struct held_effect *held = mem_alloc (sizeof (*held));
    held->after_index = after_index;
    if (queue->n++ == 0)
        STAILQ_INIT (&queue->items);
    STAILQ_INSERT_TAIL (&queue->items, held, next);
    return held;
}

void held_copy_bytes (struct held_effect *held, struct text bytes)
{
    char *copy = mem_alloc (bytes.len + 1);
    if (bytes.len)
        memcpy (copy, bytes.ptr, bytes.len);
    held->bytes = (struct text){ copy, bytes.len };
}

struct held_effect *held_ready (struct held_effect_queue *queue, uint64_t durable_index)
{
    struct held_effect *first = STAILQ_FIRST (&queue->items);
    return first && first->after_index <= durable_index ? first : NULL;
}

void held_done (struct held_effect_queue *queue)
{
    LOCAL_MEM struct held_effect *held = STAILQ_FIRST (&queue->items);
    STAILQ_REMOVE_HEAD (&queue->items, next);
    queue->n--;
    mem_free ((void *) held->bytes.ptr);
    arena_release (&held->arena);
}

/* ---- remark queue ---- */

enum { HOSTS_BYTES = 1 << 20, HOSTS_COLUMNS = 300 };

struct remark {
    char words[REMARK_BYTES];
    uint32_t len;
    uint32_t *hosts;
    uint32_t n, capacity;
};

struct remark_queue {
    const struct plan *plan;
    const struct log *log;
    uint64_t since_ms; /* of the oldest that waits */
    struct remark items[REMARKS_MAX];
    uint32_t n;
};

struct remark_queue *remark_queue_create (const struct plan *plan, const struct log *log)
{
    struct remark_queue *queue = mem_alloc (sizeof (*queue));
    queue->plan = plan;
    queue->log = log;
    return queue;
}

void remark_queue_destroy (struct remark_queue *queue)
{
    if (queue == NULL)
        return;
    remark_queue_tell (queue, UINT64_MAX);
    for (uint32_t i = 0; i < REMARKS_MAX; i++)
        mem_free (queue->items[i].hosts);
    mem_free (queue);
}

static struct remark *remark_for (struct remark_queue *queue, struct text words)
{
    for (uint32_t i = 0; i < queue->n; i++)
        if (text_equal_but_numbers ((struct text){ queue->items[i].words, queue->items[i].len }, words))
            return &queue->items[i];
    if (queue->n == REMARKS_MAX)
        remark_queue_tell (queue, UINT64_MAX);
    struct remark *remark = &queue->items[queue->n++];
    remark->len = words.len;
    if (words.len)
        memcpy (remark->words, words.ptr, words.len);
    return remark;
}

void remark_queue_add (struct remark_queue *queue, uint32_t host, struct text sentence, uint64_t now_ms)
{
    if (host >= queue->plan->hosts.n)
        return;
    struct remark *remark = remark_for (queue, text_clip (sentence, REMARK_BYTES));
    if (queue->n == 1 && remark->n == 0)
        queue->since_ms = now_ms;
    if (remark->n && remark->hosts[remark->n - 1] == host)
        return; /* once is enough */
    remark->hosts = mem_room (remark->hosts, remark->n, &remark->capacity, 16, sizeof (*remark->hosts));
    remark->hosts[remark->n++] = host;
}

static void queues_tell (const struct remark_queue *queue, const struct remark *remark)
{
    LOCAL_ARENA arena = { 0 };
    LOCAL_BUF hosts = { .max = HOSTS_BYTES };
    buf_escaped (&hosts, plan_fold_hosts (queue->plan, remark->hosts, remark->n, UINT32_MAX, &arena), HOSTS_COLUMNS);
    log_print (queue->log, "%s: %.*s", buf_c (&hosts), (int) remark->len, remark->words);
}

void remark_queue_tell (struct remark_queue *queue, uint64_t now_ms)
{
    if (now_ms < remark_queue_due_ms (queue) && now_ms != UINT64_MAX)
        return;
    for (uint32_t i = 0; i < queue->n; i++) {
        queues_tell (queue, &queue->items[i]);
        queue->items[i].n = 0;
    }
    queue->n = 0;
}

uint64_t remark_queue_due_ms (const struct remark_queue *queue)
{
    return queue->n ? queue->since_ms + REMARK_WAIT_MS : UINT64_MAX;
}
