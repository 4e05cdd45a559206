#include "worker/core/pending_results.h"

#include <assert.h>
#include <string.h>

static void held_destroy (struct pending_result *held)
{
    arena_release (&held->arena);
    mem_free (held);
}

void pending_results_release (struct pending_results *pending_results)
{
    for (uint32_t i = 0; i < pending_results->held_n; i++)
        held_destroy (pending_results->held[i]);
    pending_results->held_n = 0;
}

bool pending_results_full (const struct pending_results *pending_results)
{
    return pending_results->held_n == HELD_MAX;
}

struct pending_result *pending_results_put (struct pending_results *pending_results, const struct result *result)
{
    assert (!pending_results_full (pending_results) && !pending_results_find (pending_results, &result->key));
    struct pending_result *held = mem_alloc (sizeof *held);
    record_copy (&result_record, &held->result, result, &held->arena);
    pending_results->held[pending_results->held_n++] = held;
    pending_results_note_seen (pending_results, &result->key);
    return held;
}

struct pending_result *pending_results_find (const struct pending_results *pending, const struct attempt_key *key)
{
    for (uint32_t i = 0; i < pending->held_n; i++) {
        if (attempt_key_equal (&pending->held[i]->result.key, key))
            return pending->held[i];
    }
    return NULL;
}

bool pending_results_drop (struct pending_results *pending, const struct attempt_key *key)
{
    struct pending_result *held = pending_results_find (pending, key);
    if (!held)
        return false;
    uint32_t at = 0;
    while (pending->held[at] != held)
        at++;
    memmove (&pending->held[at], &pending->held[at + 1], (pending->held_n - at - 1) * sizeof pending->held[0]);
    pending->held_n--;
    held_destroy (held);
    return true;
}

void pending_results_note_seen (struct pending_results *pending_results, const struct attempt_key *key)
{
    if (pending_results_has_seen (pending_results, key))
        return;
    pending_results->seen[pending_results->seen_next] = *key;
    pending_results->seen_next = (pending_results->seen_next + 1) % SEEN_MAX;
    if (pending_results->seen_n < SEEN_MAX)
        pending_results->seen_n++;
}

bool pending_results_has_seen (const struct pending_results *pending_results, const struct attempt_key *key)
{
    for (uint32_t i = 0; i < pending_results->seen_n; i++) {
        if (attempt_key_equal (&pending_results->seen[i], key))
            return true;
    }
    return false;
}
