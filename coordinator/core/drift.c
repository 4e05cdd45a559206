#include "coordinator/core/drift.h"

#include <stdlib.h>
#include <string.h>

struct sighting { struct text fact, value, host; };

static const char *const of_the_host_itself[] = {
    "fact hostname", "fact boot_id", "fact uptime", "fact pid", "fact memory.available_bytes", "fact disk.free_bytes",
    "policy JAX_COMPILATION_CACHE_DIR", "policy XLA_PERSISTENT_CACHE_PATH", "policy TPU_WORKER_ID", "policy CLOUD_TPU_TASK_ID",
};

static bool expected_to_differ (struct text fact)
{
    for (size_t i = 0; i < sizeof (of_the_host_itself) / sizeof (of_the_host_itself[0]); i++)
        if (text_is (fact, of_the_host_itself[i]))
            return true;
    return text_starts (fact, "fact ") && text_find (fact, TEXT_LIT ("free"), NULL);
}

static int by_fact_value_host (const void *a, const void *b)
{
    const struct sighting *x = a, *y = b;
    int order = text_compare (x->fact, y->fact);
    if (order == 0)
        order = text_compare (x->value, y->value);
    return order ? order : text_compare (x->host, y->host);
}

struct sightings { struct sighting *items; uint32_t n; };

static void see (struct sightings *all, struct arena *arena, const char *kind, const struct var *vars, uint32_t n, struct text host)
{
    for (uint32_t i = 0; i < n; i++)
        all->items[all->n++] = (struct sighting) {
            text_format (arena, "%s %.*s", kind, TEXT_ARG (vars[i].name)), vars[i].value, host,
        };
}

static struct sightings gather (const struct slice_receipt *receipt, struct arena *arena)
{
    size_t n = 0;
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        const struct host_receipt *host = &receipt->hosts.items[i];
        n += host->facts.n + host->bundle.n + host->policy.observed.n;
    }
    struct sightings all = { arena_array (arena, n, sizeof (struct sighting)), 0 };
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        const struct host_receipt *host = &receipt->hosts.items[i];
        see (&all, arena, "fact", host->facts.items, host->facts.n, host->host);
        see (&all, arena, "bundle", host->bundle.items, host->bundle.n, host->host);
        see (&all, arena, "policy", host->policy.observed.items, host->policy.observed.n, host->host);
    }
    if (all.n)
        qsort (all.items, all.n, sizeof (*all.items), by_fact_value_host);
    return all;
}

static int largest_first (const void *a, const void *b)
{
    const struct drift_group *x = a, *y = b;
    if (x->hosts_n != y->hosts_n)
        return x->hosts_n < y->hosts_n ? 1 : -1;
    return text_compare (x->value, y->value);
}

/* Hosts that say nothing of a fact that others have: absence is a difference too. */
static void add_absent (const struct slice_receipt *receipt, struct drift_item *item, uint32_t seen, struct arena *arena)
{
    if (seen >= receipt->hosts.n)
        return;
    struct drift_group *group = &item->groups[item->groups_n];
    group->absent = true;
    group->hosts = arena_array (arena, receipt->hosts.n, sizeof (struct text));
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        bool found = false;
        for (uint32_t g = 0; g < item->groups_n && !found; g++)
            for (uint32_t h = 0; h < item->groups[g].hosts_n && !found; h++)
                found = text_equal (item->groups[g].hosts[h], receipt->hosts.items[i].host);
        if (!found)
            group->hosts[group->hosts_n++] = receipt->hosts.items[i].host;
    }
    item->groups_n += group->hosts_n > 0;
}

/* Sightings from..to are of one fact. */
static void group_fact (const struct slice_receipt *receipt, const struct sighting *from, uint32_t n, struct arena *arena,
                        struct drift *out)
{
    struct drift_item item = { .fact = from->fact, .groups = arena_array (arena, n + 1, sizeof (struct drift_group)) };
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || !text_equal (from[i].value, from[i - 1].value)) {
            item.groups[item.groups_n++] = (struct drift_group) { .value = from[i].value };
            item.groups[item.groups_n - 1].hosts = arena_array (arena, n - i, sizeof (struct text));
        }
        struct drift_group *group = &item.groups[item.groups_n - 1];
        group->hosts[group->hosts_n++] = from[i].host;
    }
    if (item.groups_n > 1 || n < receipt->hosts.n)
        add_absent (receipt, &item, n, arena);
    if (item.groups_n < 2)
        return;
    qsort (item.groups, item.groups_n, sizeof (*item.groups), largest_first);
    item.expected = expected_to_differ (item.fact);
    out->items[out->n++] = item;
}

void drift_find (const struct slice_receipt *receipt, struct arena *arena, struct drift *out)
{
    struct sightings all = gather (receipt, arena);
    *out = (struct drift) { arena_array (arena, all.n, sizeof (struct drift_item)), 0 };
    for (uint32_t from = 0, to = 0; from < all.n; from = to) {
        while (to < all.n && text_equal (all.items[to].fact, all.items[from].fact))
            to++;
        group_fact (receipt, all.items + from, to - from, arena, out);
    }
}
