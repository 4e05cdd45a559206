/* drift_reference.c - which hosts the others are held against: the largest group that agrees in everything. */
#include "coordinator/receipt/drift_private.h"

/* One number a host: equal for hosts that say the same of every settled fact. A fact of which no value is held by half
 * of the hosts decides nothing, or a serial number would make every host a group of its own. */
static uint64_t *signatures (const struct drift_comparison *work, const struct drift_compared_fact *candidates,
                             uint32_t n)
{
    const struct drift_table *table = &work->table;
    uint64_t *of = arena_array (work->arena, table->hosts_n, sizeof (*of));
    for (uint32_t c = 0; c < n; c++) {
        const struct drift_fact *fact = &table->facts[candidates[c].fact];
        if (!candidates[c].settled)
            continue;
        for (uint32_t i = fact->seen_first; i < fact->seen_first + fact->seen_n; i++) {
            uint32_t value = table->values[table->seen[i].value].same_as;
            if (value != table->values[fact->first].same_as)
                of[table->seen[i].host] += drift_hash_number (table->values[value].hash);
        }
        for (uint32_t host = 0; fact->missing != DRIFT_NONE_AT && host < table->hosts_n; host++)
            if (drift_table_host_lacks (table, fact, host))
                of[host] += drift_hash_number (fact->hash + 1);
    }
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

struct crowd {
    uint64_t signature;
    uint32_t hosts_n, first;
};

static struct crowd *crowd_of (struct crowd *crowds, uint32_t mask, uint64_t signature)
{
    uint32_t at = (uint32_t) drift_hash_number (signature) & mask;
    while (crowds[at].hosts_n && crowds[at].signature != signature)
        at = (at + 1) & mask;
    return &crowds[at];
}

static uint32_t table_size (uint32_t n)
{
    uint32_t size = 16;
    while (size < 2 * n)
        size *= 2;
    return size;
}

void drift_reference_choose_hosts (struct drift_comparison *work, const struct drift_compared_fact *candidates,
                                   uint32_t n)
{
    struct drift *out = work->out;
    uint64_t *of = signatures (work, candidates, n);
    bool *may = eligible (work);
    uint32_t size = table_size (out->hosts_n);
    struct crowd *crowds = arena_array (work->arena, size, sizeof (*crowds)), *best = NULL;
    for (uint32_t i = 0; i < out->hosts_n; i++) {
        if (!may[i])
            continue;
        struct crowd *crowd = crowd_of (crowds, size - 1, of[i]);
        if (crowd->hosts_n++ == 0)
            *crowd = (struct crowd){ of[i], 1, i };
    }
    for (uint32_t i = 0; i < size; i++) {
        struct crowd *crowd = &crowds[i];
        if (!crowd->hosts_n || (best && crowd->hosts_n < best->hosts_n))
            continue;
        out->tie = best && crowd->hosts_n == best->hosts_n;
        if (!out->tie || crowd->first < best->first)
            best = crowd;
    }
    out->reference = arena_array (work->arena, best ? best->hosts_n : 0, sizeof (uint32_t));
    for (uint32_t i = 0; best && i < out->hosts_n; i++)
        if (may[i] && of[i] == best->signature)
            out->reference[out->reference_n++] = i;
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
