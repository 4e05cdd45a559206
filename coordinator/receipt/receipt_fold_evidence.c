/* receipt_fold_evidence.c - what an attempt measured, and what was recognised in its output. */
#include "coordinator/receipt/receipt_fold_private.h"

#include <string.h>

/* Of the note by which a worker tells that it waited for a device: docs/spec/protocol.md. */
#define DEVICE_NOTE_SOURCE "device"

static void add_recovered (struct rung_receipt *rung, struct text what, struct arena *arena)
{
    uint32_t n = rung->recovered.n;
    struct text *items = arena_array (arena, n + 1, sizeof (*items));
    if (n)
        memcpy (items, rung->recovered.items, n * sizeof (*items));
    items[n] = text_copy (arena, what);
    rung->recovered.items = items;
    rung->recovered.n = n + 1;
}

/* The device was not free at once: an attempt that passed then is no clean pass. */
static void keep_waiting (struct rung_receipt *rung, const struct result *result, struct arena *arena)
{
    for (uint32_t i = 0; i < result->notes.n; i++)
        if (text_is (result->notes.items[i].source, DEVICE_NOTE_SOURCE) && result->ending != ENDING_NOT_STARTED)
            add_recovered (rung, result->notes.items[i].text, arena);
}

void receipt_fold_measured (struct receipt_fold *fold, struct rung_receipt *rung, const struct result *result)
{
    rung->memory = (struct memory){ result->peak_bytes, result->predicted_bytes, result->device_peak_bytes };
    rung->launch = fold->plan.rungs.items[result->key.rung].launch;
    rung->bad_line = receipt_keep (fold, result->bad_line);
    RECEIPT_KEEP_LIST (rung->left_out, result->left_out, &number_record, &fold->arena);
    RECEIPT_KEEP_LIST (rung->phases, result->phases, &number_record, &fold->arena);
    RECEIPT_KEEP_LIST (rung->sightings, result->sightings, &sighting_record, &fold->arena);
    keep_waiting (rung, result, &fold->arena);
}
