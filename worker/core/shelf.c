/* shelf.c - see shelf.h. */
#include "worker/core/shelf.h"

#include <assert.h>
#include <string.h>

static void held_destroy (struct held *held)
{
    arena_release (&held->arena);
    mem_free (held);
}

void shelf_release (struct shelf *shelf)
{
    for (uint32_t i = 0; i < shelf->held_n; i++)
        held_destroy (shelf->held[i]);
    shelf->held_n = 0;
}

bool shelf_full (const struct shelf *shelf)
{
    return shelf->held_n == HELD_MAX;
}

struct held *shelf_put (struct shelf *shelf, const struct result *result)
{
    assert (!shelf_full (shelf) && !shelf_find (shelf, &result->key));
    struct held *held = mem_alloc (sizeof *held);
    record_copy (&result_record, &held->result, result, &held->arena);
    shelf->held[shelf->held_n++] = held;
    shelf_see (shelf, &result->key);
    return held;
}

struct held *shelf_find (const struct shelf *shelf, const struct attempt_key *key)
{
    for (uint32_t i = 0; i < shelf->held_n; i++) {
        if (attempt_key_equal (&shelf->held[i]->result.key, key))
            return shelf->held[i];
    }
    return NULL;
}

bool shelf_drop (struct shelf *shelf, const struct attempt_key *key)
{
    struct held *held = shelf_find (shelf, key);
    if (!held)
        return false;
    uint32_t at = 0;
    while (shelf->held[at] != held)
        at++;
    memmove (&shelf->held[at], &shelf->held[at + 1], (shelf->held_n - at - 1) * sizeof shelf->held[0]);
    shelf->held_n--;
    held_destroy (held);
    return true;
}

void shelf_see (struct shelf *shelf, const struct attempt_key *key)
{
    if (shelf_has_seen (shelf, key))
        return;
    shelf->seen[shelf->seen_next] = *key;
    shelf->seen_next = (shelf->seen_next + 1) % SEEN_MAX;
    if (shelf->seen_n < SEEN_MAX)
        shelf->seen_n++;
}

bool shelf_has_seen (const struct shelf *shelf, const struct attempt_key *key)
{
    for (uint32_t i = 0; i < shelf->seen_n; i++) {
        if (attempt_key_equal (&shelf->seen[i], key))
            return true;
    }
    return false;
}
