#include "coordinator/story/frontier.h"

#include <stdlib.h>
#include <string.h>

enum { EXIT_STATUS_CANCELLED = 130 };

/* Of each pass; NULL: none. */
struct latest {
    const struct rung_receipt *of[PASS_RESTORED + 1];
};

static struct latest latest_attempts (const struct host_receipt *host, struct text rung)
{
    struct latest latest = { 0 };
    for (uint32_t i = 0; i < host->rungs.n; i++) {
        const struct rung_receipt *at = host->rungs.items[i], **known = &latest.of[at->pass];
        if (at->purpose == PURPOSE_ISOLATION) /* a part of the slice, to see who is at fault: it is no rung */
            continue;
        if (text_equal (at->rung, rung) && (*known == NULL || at->attempt > (*known)->attempt))
            *known = at;
    }
    return latest;
}

const struct rung_receipt *frontier_latest_attempt (const struct host_receipt *host, struct text rung, enum pass pass)
{
    return latest_attempts (host, rung).of[pass];
}

enum outcome frontier_rung_outcome (const struct host_receipt *host, struct text rung)
{
    enum outcome worst = OUTCOME_NONE;
    struct latest latest = latest_attempts (host, rung);
    bool warmed = latest.of[PASS_RESTORED] != NULL; /* then a cold pass had passed, if not by this host */
    for (enum pass pass = PASS_ONCE; pass <= PASS_RESTORED; pass++)
        if (latest.of[pass] && !(warmed && pass == PASS_COLD))
            worst = outcome_worst (worst, latest.of[pass]->outcome);
    return worst == OUTCOME_NONE ? OUTCOME_NOT_REACHED : worst;
}

/* A rung that was reached says more than all those that were not. */
static enum outcome worst_reached (enum outcome a, enum outcome b)
{
    return a == OUTCOME_NOT_REACHED || a == OUTCOME_NONE ? b : b == OUTCOME_NOT_REACHED ? a : outcome_worst (a, b);
}

enum outcome frontier_host_outcome (const struct run_header *header, const struct host_receipt *host)
{
    enum outcome worst = OUTCOME_NOT_REACHED;
    for (uint32_t i = 0; i < header->rungs.n; i++)
        worst = worst_reached (worst, frontier_rung_outcome (host, header->rungs.items[i]));
    return worst;
}

static void frontier_add (struct frontier *frontier, uint32_t rung, enum outcome outcome)
{
    if (outcome == OUTCOME_NOT_REACHED)
        return;
    if (outcome != OUTCOME_PASSED) {
        if (frontier->next_failing < 0)
            frontier->next_failing = (int) rung;
        return;
    }
    if (frontier->first_passing < 0)
        frontier->first_passing = (int) rung;
    frontier->highest_passing = (int) rung;
}

struct frontier frontier_of_host (const struct run_header *header, const struct host_receipt *host)
{
    struct frontier frontier = { -1, -1, -1 };
    for (uint32_t i = 0; i < header->rungs.n; i++)
        frontier_add (&frontier, i, frontier_rung_outcome (host, header->rungs.items[i]));
    return frontier;
}

/* It has a verdict there, and began nothing. */
static bool is_absent (const struct host_receipt *host, struct text rung)
{
    const struct rung_receipt *latest = frontier_latest_attempt (host, rung, PASS_ONCE);
    return latest && latest->attempt == 0;
}

/* `came`: only over those that came to it, if there are any. */
static enum outcome rung_over_hosts (const struct slice_receipt *receipt, struct text rung, bool came)
{
    enum outcome worst = OUTCOME_NOT_REACHED;
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        if (!came || !is_absent (&receipt->hosts.items[i], rung))
            worst = worst_reached (worst, frontier_rung_outcome (&receipt->hosts.items[i], rung));
    return came && worst == OUTCOME_NOT_REACHED ? rung_over_hosts (receipt, rung, false) : worst;
}

struct frontier frontier_of_slice (const struct run_header *header, const struct slice_receipt *receipt)
{
    struct frontier frontier = { -1, -1, -1 };
    for (uint32_t i = 0; i < header->rungs.n; i++)
        frontier_add (&frontier, i, rung_over_hosts (receipt, header->rungs.items[i], true));
    return frontier;
}

enum outcome frontier_told_outcome (const struct run_header *header, enum outcome outcome)
{
    bool open = header->ended_wall_ms == 0 && (outcome == OUTCOME_PASSED || outcome == OUTCOME_NOT_REACHED);
    return open ? OUTCOME_NONE : outcome;
}

enum outcome frontier_slice_outcome (const struct run_header *header, const struct slice_receipt *receipt)
{
    if (header->exit_status == EXIT_STATUS_CANCELLED)
        return OUTCOME_CANCELLED;
    enum outcome worst = OUTCOME_NOT_REACHED;
    for (uint32_t i = 0; i < header->rungs.n; i++)
        worst = worst_reached (worst, rung_over_hosts (receipt, header->rungs.items[i], false));
    return worst;
}

/* ---- merge ---- */

/* One record to compare by, for qsort_r. */
static int by_record (const void *a, const void *b, void *record)
{
    return record_compare (record, a, b);
}

static void set_normalise (const struct record *record, struct any_list *set)
{
    if (set->n < 2)
        return;
    qsort_r (set->items, set->n, record->bytes, by_record, (void *) record);
    char *items = set->items;
    uint32_t kept = 1;
    for (uint32_t i = 1; i < set->n; i++)
        if (record_compare (record, items + (size_t) (kept - 1) * record->bytes, items + (size_t) i * record->bytes) !=
            0)
            memmove (items + (size_t) kept++ * record->bytes, items + (size_t) i * record->bytes, record->bytes);
    set->n = kept;
}

static struct any_list *set_at (const struct slice_receipt *receipt, const struct field *field)
{
    return (struct any_list *) ((char *) (uintptr_t) receipt + field->offset);
}

void merge_normalise (struct slice_receipt *receipt)
{
    for (uint32_t i = 0; i < slice_receipt_record.fields_n; i++) {
        const struct field *field = &slice_receipt_record.fields[i];
        set_normalise (field->of, set_at (receipt, field));
    }
}

static void set_join (const struct field *field, const struct any_list *a, const struct any_list *b,
                      struct arena *arena, struct any_list *out)
{
    size_t item = field->of->bytes;
    out->n = a->n + b->n;
    out->items = arena_array (arena, out->n, item);
    if (a->n)
        memcpy (out->items, a->items, a->n * item);
    if (b->n)
        memcpy ((char *) out->items + a->n * item, b->items, b->n * item);
}

void merge_receipts (const struct slice_receipt *a, const struct slice_receipt *b, struct arena *arena,
                     struct slice_receipt *out)
{
    struct slice_receipt joined = { 0 };
    for (uint32_t i = 0; i < slice_receipt_record.fields_n; i++) {
        const struct field *field = &slice_receipt_record.fields[i];
        set_join (field, set_at (a, field), set_at (b, field), arena, set_at (&joined, field));
    }
    merge_normalise (&joined);
    *out = joined;
}

static bool same_subject (const struct host_receipt *a, const struct host_receipt *b)
{
    return text_equal (a->run, b->run) && text_equal (a->host, b->host);
}

bool merge_host_has_conflict (const struct slice_receipt *receipt, uint32_t i)
{
    const struct host_receipt *hosts =
        receipt->hosts.items; /* sorted by run and host: receipts of one host in one run are neighbours */
    return (i > 0 && same_subject (&hosts[i], &hosts[i - 1])) ||
           (i + 1 < receipt->hosts.n && same_subject (&hosts[i], &hosts[i + 1]));
}
