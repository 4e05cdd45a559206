#include "coordinator/run/held_effect_queue.h"

#include <string.h>

static struct held_effect *held_at (struct held_effect_queue *queue, uint32_t i)
{
    return &queue->items[(queue->first + i) % queue->capacity];
}

static void held_clear (struct held_effect *held)
{
    mem_free ((void *) held->bytes.ptr);
    arena_release (&held->arena);
    *held = (struct held_effect){ 0 };
}

void held_release (struct held_effect_queue *queue)
{
    for (uint32_t i = 0; i < queue->n; i++)
        held_clear (held_at (queue, i));
    mem_free (queue->items);
    *queue = (struct held_effect_queue){ 0 };
}

static void held_grow (struct held_effect_queue *queue)
{
    uint32_t capacity = queue->capacity ? 2 * queue->capacity : 64;
    struct held_effect *items = mem_array (capacity, sizeof (*items));
    for (uint32_t i = 0; i < queue->n; i++)
        items[i] = *held_at (queue, i);
    mem_free (queue->items);
    *queue = (struct held_effect_queue){ items, 0, queue->n, capacity };
}

struct held_effect *held_add (struct held_effect_queue *queue, uint64_t after_index)
{
    if (queue->n == queue->capacity)
        held_grow (queue);
    struct held_effect *held = held_at (queue, queue->n++);
    *held = (struct held_effect){ .after_index = after_index };
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
    return queue->n == 0 || held_at (queue, 0)->after_index > durable_index ? NULL : held_at (queue, 0);
}

void held_done (struct held_effect_queue *queue)
{
    held_clear (held_at (queue, 0));
    queue->first = (queue->first + 1) % queue->capacity;
    queue->n--;
}
