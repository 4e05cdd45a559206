#include "coordinator/monitor/monitors.h"

#include <string.h>

static struct query *query_queue_find (struct query_queue *query_queue, const struct hub_monitor *who)
{
    for (uint32_t i = 0; i < query_queue->n; i++)
        if (query_queue->items[i].who.key == who->key &&
            memcmp (query_queue->items[i].who.id, who->id, sizeof query_queue->items[i].who.id) == 0)
            return &query_queue->items[i];
    return NULL;
}

/* The unserved one of this key that asked longest ago; and the number of all of the key. */
static struct query *oldest (struct query_queue *query_queue, const uint32_t *key, uint32_t *n)
{
    struct query *found = NULL;
    *n = 0;
    for (uint32_t i = 0; i < query_queue->n; i++) {
        struct query *query = &query_queue->items[i];
        if (key && query->who.key != *key)
            continue;
        (*n)++;
        if (!query->served && (!found || query->asked_ms < found->asked_ms))
            found = query;
    }
    return found;
}

/* A key has a limited number; a new connection replaces its own oldest, or the oldest of all if none is free. */
static struct query *place_for (struct query_queue *query_queue, uint32_t key)
{
    uint32_t of_key, all;
    struct query *own = oldest (query_queue, &key, &of_key);
    if (of_key == QUERY_QUEUE_A_KEY)
        return own;
    return query_queue->n < QUERY_QUEUE_MAX ? &query_queue->items[query_queue->n++] : oldest (query_queue, NULL, &all);
}

static uint64_t key_turn (const struct query_queue *query_queue, uint32_t key)
{
    uint64_t turn = 0;
    for (uint32_t i = 0; i < query_queue->n; i++)
        if (query_queue->items[i].who.key == key && query_queue->items[i].turn > turn)
            turn = query_queue->items[i].turn;
    return turn;
}

void query_queue_add (struct query_queue *query_queue, const struct hub_monitor *who,
                      const struct snapshot_position *from, uint64_t now_ms)
{
    struct query *query = query_queue_find (query_queue, who);
    if (!query) {
        uint64_t turn = key_turn (query_queue, who->key); /* a new connection keeps the key's turn */
        if ((query = place_for (query_queue, who->key)) == NULL)
            return; /* all of its key are being served: it asks again */
        *query = (struct query){ .who = *who, .turn = turn };
    }
    query->from = *from;
    query->asked_ms = now_ms;
    query->waits = true;
    query->gone = query->told = false; /* of what it was told not all arrived in order */
}

static bool comes_before (const struct query_queue *query_queue, const struct query *a, const struct query *b)
{
    uint64_t turn_a = key_turn (query_queue, a->who.key), turn_b = key_turn (query_queue, b->who.key);
    return turn_a != turn_b ? turn_a < turn_b : a->turn < b->turn;
}

bool query_queue_next (struct query_queue *query_queue, struct hub_monitor *who, struct snapshot_position *from)
{
    struct query *next = NULL;
    for (uint32_t i = 0; i < query_queue->n; i++) {
        struct query *query = &query_queue->items[i];
        if (query->waits && !query->served && (!next || comes_before (query_queue, query, next)))
            next = query;
    }
    if (!next)
        return false;
    next->waits = false;
    next->served = true;
    next->turn = ++query_queue->turn;
    *who = next->who;
    *from = next->from;
    return true;
}

void query_queue_done (struct query_queue *query_queue, const struct hub_monitor *who, bool told)
{
    struct query *query = query_queue_find (query_queue, who);
    if (!query)
        return;
    query->served = false;
    query->told |= told;
}

void query_queue_note_gone (struct query_queue *query_queue, const struct hub_monitor *who)
{
    struct query *query = query_queue_find (query_queue, who);
    if (query)
        query->gone = true;
}

void query_queue_note_run_ended (struct query_queue *query_queue)
{
    for (uint32_t i = 0; i < query_queue->n; i++)
        query_queue->items[i].told = false;
}

bool query_queue_next_pending (const struct query_queue *query_queue, uint64_t now_ms, uint64_t lately_ms, uint32_t *at,
                               struct hub_monitor *who)
{
    for (; *at < query_queue->n; (*at)++) {
        const struct query *query = &query_queue->items[*at];
        if (query->told || query->gone || now_ms - query->asked_ms >= lately_ms)
            continue;
        *who = query->who;
        (*at)++;
        return true;
    }
    return false;
}
