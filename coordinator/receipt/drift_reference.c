/* drift_reference.c - which hosts the others are held against: the largest group that agrees in everything. */
#include "coordinator/receipt/drift_private.h"

#include <stdlib.h>

/* One number a host: equal for hosts that say the same of every settled fact. A fact of which no value is held by half
 * of the hosts decides nothing, or a serial number would make every host a group of its own. Nothing is added for the
 * fact's first value: hosts of which nothing of its kind is known agree with it. Something is added for not saying it:
 * to all that tell of its kind, and taken from those that say it, which are all that is walked over. */
static uint64_t *signatures (const struct drift_comparison *work, const struct drift_compared_fact *candidates,
                             uint32_t n)
{
    const struct drift_table *table = &work->table;
    uint64_t *of = arena_array (work->arena, table->hosts_n, sizeof (*of)), of_tellers[SECTION_N] = { 0 };
    for (uint32_t c = 0; c < n; c++) {
        const struct drift_fact *fact = candidates[c].fact;
        if (!candidates[c].settled)
            continue;
        uint64_t absent = fact->absent_n ? drift_hash_number (fact->values->fact_hash) : 0;
        of_tellers[fact->section] += absent;
        for (uint32_t v = 0; v < fact->values_n; v++)
            for (uint32_t i = 0; i < fact->values[v].hosts_n; i++)
                of[fact->values[v].hosts[i]] += (v ? drift_hash_number (fact->values[v].hash) : 0) - absent;
    }
    for (int section = 0; section < SECTION_N; section++)
        for (uint32_t host = 0; host < table->hosts_n; host++)
            of[host] += table->tells[section][host] ? of_tellers[section] : 0;
    return of;
}

/* Hosts that told nothing at all, or nothing of what most told, agree with nobody. */
static bool *eligible (const struct drift_comparison *work)
{
    const struct drift *out = work->out;
    bool *may = arena_array (work->arena, out->hosts_n, sizeof (*may));
    for (uint32_t i = 0; i < out->hosts_n; i++)
        may[i] = true;
    for (uint32_t i = 0; i < out->silent_n; i++)
        may[out->silent[i]] = false;
    for (uint32_t s = 0; s < out->silences_n; s++)
        for (uint32_t i = 0; i < out->silences[s].hosts_n; i++)
            may[out->silences[s].hosts[i]] = false;
    return may;
}

struct signed_host {
    uint64_t signature;
    uint32_t host;
};

static int by_signature (const void *a, const void *b)
{
    const struct signed_host *x = a, *y = b;
    if (x->signature != y->signature)
        return x->signature < y->signature ? -1 : 1;
    return (x->host > y->host) - (x->host < y->host);
}

static struct signed_host *sorted_hosts (struct drift_comparison *work, const uint64_t *of, uint32_t *n)
{
    struct signed_host *hosts = arena_array (work->arena, work->out->hosts_n, sizeof (*hosts));
    const bool *may = eligible (work);
    for (uint32_t i = 0; i < work->out->hosts_n; i++)
        if (may[i])
            hosts[(*n)++] = (struct signed_host){ of[i], i };
    if (*n)
        qsort (hosts, *n, sizeof (*hosts), by_signature);
    return hosts;
}

void drift_reference_choose_hosts (struct drift_comparison *work, const struct drift_compared_fact *candidates,
                                   uint32_t n)
{
    struct drift *out = work->out;
    uint32_t hosts_n = 0, best = 0;
    const struct signed_host *hosts = sorted_hosts (work, signatures (work, candidates, n), &hosts_n);
    for (uint32_t from = 0, to = 0; from < hosts_n; from = to) {
        while (to < hosts_n && hosts[to].signature == hosts[from].signature)
            to++;
        if (to - from < out->reference_n)
            continue;
        out->tie = to - from == out->reference_n;
        if (!out->tie || hosts[from].host < hosts[best].host)
            best = from;
        out->reference_n = to - from;
    }
    out->reference = arena_array (work->arena, out->reference_n, sizeof (uint32_t));
    for (uint32_t i = 0; i < out->reference_n; i++)
        out->reference[i] = hosts[best + i].host;
}

void drift_reference_leave_out_named (struct drift *out)
{
    bool *named = mem_array (out->hosts_n + 1, sizeof (*named));
    uint32_t n = 0;
    for (uint32_t i = 0; i < out->findings; i++) {
        const struct drift_item *item = &out->items[i];
        const struct drift_group *beside = drift_item_beside (item);
        for (uint32_t g = 0; item->settled && g < item->groups_n; g++)
            for (uint32_t k = 0; &item->groups[g] != beside && k < item->groups[g].hosts_n; k++)
                named[item->groups[g].hosts[k]] = true;
    }
    for (uint32_t i = 0; i < out->reference_n; i++)
        if (!named[out->reference[i]])
            out->reference[n++] = out->reference[i];
    out->tie = out->tie && n == out->reference_n; /* it was judged of them all */
    out->reference_n = n;
    mem_free (named);
}
