/* drift_items.c - the list that a comparison fills: findings, and what is listed beside them. */
#include "coordinator/receipt/drift_private.h"

#include <stdlib.h>
#include <string.h>

struct drift_item *drift_add_item (struct drift_comparison *work)
{
    struct drift *out = work->out;
    if (out->n == work->items_capacity) {
        work->items_capacity = work->items_capacity ? 2 * work->items_capacity : 16;
        struct drift_item *items = arena_array (work->arena, work->items_capacity, sizeof (*items));
        if (out->n)
            memcpy (items, out->items, out->n * sizeof (*items));
        out->items = items;
    }
    return &out->items[out->n++];
}

static bool is_finding (const struct drift_item *item)
{
    return item->verdict != DRIFT_TOO_FEW && item->verdict != DRIFT_AS_EXPECTED;
}

/* Numbers of one severity stand together, whatever they measure: the largest difference comes first. */
static uint32_t order_of (const struct drift_item *item)
{
    return item->severity == DRIFT_SLOWS && item->size > 0 ? 0 : item->order;
}

static int worst_first (const void *a, const void *b)
{
    const struct drift_item *x = a, *y = b;
    if (is_finding (x) != is_finding (y))
        return is_finding (x) ? -1 : 1;
    if (x->severity != y->severity)
        return x->severity < y->severity ? -1 : 1;
    if (order_of (x) != order_of (y))
        return order_of (x) < order_of (y) ? -1 : 1;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    if (x->deviating != y->deviating)
        return x->deviating < y->deviating ? -1 : 1;
    return text_compare (x->fact, y->fact);
}

void drift_items_sort (struct drift *drift)
{
    if (drift->n)
        qsort (drift->items, drift->n, sizeof (*drift->items), worst_first);
}

void drift_items_keep_worst (struct drift *out)
{
    if (out->findings <= DRIFT_ITEMS_MAX)
        return;
    uint32_t over = out->findings - DRIFT_ITEMS_MAX;
    memmove (&out->items[DRIFT_ITEMS_MAX], &out->items[out->findings], (out->n - out->findings) * sizeof (*out->items));
    out->findings = DRIFT_ITEMS_MAX;
    out->n -= over;
    out->left_out += over;
}

const struct drift_group *drift_item_beside (const struct drift_item *item)
{
    for (uint32_t i = 0; i < item->groups_n; i++)
        if (item->groups[i].reference)
            return &item->groups[i];
    return item->verdict == DRIFT_DIFFERS && item->groups_n > 1 ? &item->groups[0] : NULL;
}

const struct text *drift_group_host_names (const struct drift *drift, const struct drift_item *item,
                                           const struct drift_group *group, struct arena *arena)
{
    struct text *names = arena_array (arena, group->hosts_n, sizeof (*names));
    uint32_t n = 0;
    for (uint32_t i = 0; !group->rest && i < group->hosts_n; i++)
        names[n++] = drift->names[group->hosts[i]];
    if (!group->rest)
        return names;
    bool *elsewhere = arena_array (arena, drift->hosts_n, sizeof (*elsewhere));
    for (uint32_t g = 0; g < item->groups_n; g++)
        for (uint32_t i = 0; !item->groups[g].rest && i < item->groups[g].hosts_n; i++)
            elsewhere[item->groups[g].hosts[i]] = true;
    for (uint32_t i = 0; i < drift->hosts_n && n < group->hosts_n; i++)
        if (drift->tells[item->section][i] && !elsewhere[i])
            names[n++] = drift->names[i];
    return names;
}

bool drift_is_incomplete (const struct drift *drift)
{
    return drift->silent_n || drift->no_facts || drift->silences_n || drift->only_now_n || drift->only_before_n;
}
