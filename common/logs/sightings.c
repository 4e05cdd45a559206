/* sightings.c - what came of a scan: which of the known texts are told. */
#include <stdlib.h>

#include "common/logs/scan_state.h"

/* LONG: tracebacks in two parts and stacks of aborts have fewer lines. PEERS: who else is named is told as well. */
enum { LONG_LINES = 64, PEERS_KEPT = 4 };

static int sightings_by_offset (const void *a, const void *b)
{
    const struct signature_progress *left = *(const struct signature_progress *const *) a,
                                    *right = *(const struct signature_progress *const *) b;
    if (left->place->offset != right->place->offset)
        return left->place->offset < right->place->offset ? -1 : 1;
    return left < right ? -1 : left > right;
}

enum { RANK_CAUSE, RANK_PEER, RANK_NOISE, RANKS };

static uint32_t rank_of (const struct signature *signature)
{
    return signature->noise ? RANK_NOISE : signature->peer ? RANK_PEER : RANK_CAUSE;
}

static uint32_t least_of (uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* How many of each rank, so that neither what failed here nor who else is named there is pushed out by the rest. */
static void share_out (const uint32_t had[RANKS], uint32_t kept[RANKS])
{
    uint32_t left = SIGHTINGS_MAX;
    kept[RANK_CAUSE] = least_of (had[RANK_CAUSE], left - least_of (had[RANK_PEER], PEERS_KEPT));
    left -= kept[RANK_CAUSE];
    kept[RANK_PEER] = least_of (had[RANK_PEER], left);
    left -= kept[RANK_PEER];
    kept[RANK_NOISE] = least_of (had[RANK_NOISE], left);
}

static void take_sightings (struct signature_scan *scan, struct arena *arena, struct signature_scan_result *out)
{
    const struct signature_progress **sighted = mem_array (scan->set->n, sizeof *sighted);
    uint32_t n = 0, had[RANKS] = { 0 }, kept[RANKS];
    for (uint32_t i = 0; i < scan->set->n; i++)
        if (scan->watches[i].sighted) {
            sighted[n++] = &scan->watches[i];
            had[rank_of (&scan->set->items[i])]++;
        }
    if (n > 1)
        qsort (sighted, n, sizeof *sighted, sightings_by_offset);
    share_out (had, kept);
    out->sightings = arena_array (arena, least_of (n, SIGHTINGS_MAX), sizeof *out->sightings);
    for (uint32_t i = 0; i < n; i++) {
        const struct signature *signature = &scan->set->items[sighted[i] - scan->watches];
        const struct scanned_line *place = sighted[i]->place;
        if (kept[rank_of (signature)]-- == 0) {
            kept[rank_of (signature)] = 0;
            continue;
        }
        out->sightings[out->sightings_n++] = (struct sighting){
            .signature = text_copy (arena, signature->id),
            .line = place->line,
            .offset = place->offset,
            .text = text_copy (arena, (struct text){ .ptr = place->text, .len = place->len }),
        };
    }
    mem_free (sighted);
}

static bool only_noise (const struct signature_scan *scan)
{
    for (uint32_t i = 0; i < scan->set->n; i++)
        if (scan->watches[i].sighted && rank_of (&scan->set->items[i]) != RANK_NOISE)
            return false;
    return true;
}

/* It printed a lot after all that may pass by itself, or may be harmless: it may well have ended of something else. */
static bool went_on (const struct signature_scan *scan, uint32_t end)
{
    bool noise = only_noise (scan);
    uint32_t last = 0;
    for (uint32_t i = 0; i < scan->set->n; i++)
        if (scan->watches[i].sighted && (scan->set->items[i].transient || noise) && scan->watches[i].last_line > last)
            last = scan->watches[i].last_line;
    return last > 0 && end - last > LONG_LINES;
}

void sightings_collect (struct signature_scan *scan, uint32_t line, struct arena *arena,
                        struct signature_scan_result *out)
{
    *out = (struct signature_scan_result){ .went_on = went_on (scan, line) };
    take_sightings (scan, arena, out);
}
