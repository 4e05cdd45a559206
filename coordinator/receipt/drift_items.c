/* drift_items.c - the list that a comparison fills: findings, and what is listed beside them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/receipt/drift_private.h"

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

/* ---- values that name the host they are of: paths that hold its name or its rank, and its name as a word ---- */

static bool word_at (struct text value, uint32_t at, struct text word)
{
    uint32_t end = at + word.len;
    return word.len && end <= value.len && memcmp (value.ptr + at, word.ptr, word.len) == 0 &&
           (at == 0 || !isalnum ((unsigned char) value.ptr[at - 1])) &&
           (end == value.len || !isalnum ((unsigned char) value.ptr[end]));
}

/* The digits that begin here, where they are the rank; 0: they are not. */
static uint32_t rank_at (struct text value, uint32_t at, uint32_t rank)
{
    uint32_t end = at;
    uint64_t number;
    if (at && isdigit ((unsigned char) value.ptr[at - 1]))
        return 0;
    while (end < value.len && isdigit ((unsigned char) value.ptr[end]))
        end++;
    return text_to_u64 ((struct text){ value.ptr + at, end - at }, &number) && number == rank ? end - at : 0;
}

struct text drift_without_place (struct text value, struct text host, uint32_t rank, struct arena *arena)
{
    struct buf out;
    bool path = false;
    buf_init (&out, 16 + 8 * (size_t) value.len);
    for (uint32_t i = 0, taken = 1; i < value.len; i += taken) {
        path = value.ptr[i] == '/' || (path && !strchr (" \n=,;'\"", value.ptr[i]));
        taken = word_at (value, i, host) ? host.len : path ? rank_at (value, i, rank) : 0;
        if (taken)
            buf_puts (&out, "{}");
        else
            buf_byte (&out, (uint8_t) value.ptr[i]);
        taken = taken ? taken : 1;
    }
    return buf_finish (&out, arena);
}

/* ---- hosts of one run that have the same place in it. A plan has no two such hosts; files that were
merged can have them, and so have hosts of two slices ---- */

struct place {
    struct text run, number, name;
    uint32_t host;
};

static int by_place (const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = text_compare (x->run, y->run);
    order = order ? order : text_compare (x->number, y->number);
    return order ? order : (x->host > y->host) - (x->host < y->host);
}

static bool same_place (const struct place *a, const struct place *b)
{
    return text_equal (a->run, b->run) && text_equal (a->number, b->number);
}

/* Those from `places` on that share a place. Several receipts of one host are a conflict, and nothing else. */
static uint32_t add_shared (struct drift_comparison *work, struct text fact, const struct place *places, uint32_t n)
{
    uint32_t alike = 1, hosts_n = 0, others = 0;
    while (alike < n && same_place (&places[0], &places[alike]))
        alike++;
    for (uint32_t i = 1; i < alike; i++)
        others += !text_equal (places[i].name, places[0].name);
    if (others == 0)
        return alike;
    uint32_t *hosts = arena_array (work->arena, alike, sizeof (*hosts));
    for (uint32_t i = 0; i < alike; i++)
        hosts[hosts_n++] = places[i].host;
    struct text number = text_clip (places->number, 64);
    drift_add_impossible (work, fact,
                          text_format (work->arena, "they have the same %s: %.*s",
                                       text_is (fact, "rank") ? "rank" : "TPU worker number", TEXT_ARG (number)),
                          TEXT_LIT ("see whether receipts of two slices were merged, or the number was set by hand"),
                          hosts, hosts_n);
    return alike;
}

static void judge (struct drift_comparison *work, const char *fact, struct place *places, uint32_t n)
{
    if (n)
        qsort (places, n, sizeof (*places), by_place);
    for (uint32_t i = 0; i < n;)
        i += add_shared (work, text_of (fact), &places[i], n - i);
}

static bool is_found_already (const struct drift_comparison *work)
{
    const struct topology_findings *found = work->query->topology;
    for (uint32_t i = 0; found && i < found->n; i++)
        if (text_is (found->items[i].fact, "tpu.worker_id"))
            return true;
    return false;
}

void drift_duplicates_judge (struct drift_comparison *work)
{
    struct place *ranks = arena_array (work->arena, work->hosts.n, sizeof (*ranks));
    struct place *numbers = arena_array (work->arena, work->hosts.n, sizeof (*numbers));
    uint32_t ranks_n = 0, numbers_n = 0;
    uint64_t number;
    for (uint32_t i = 0; i < work->hosts.n; i++) {
        const struct host_receipt *host = work->hosts.receipts[i];
        if (host == NULL)
            continue;
        struct text said = var_value (&host->facts, "tpu.worker_id");
        ranks[ranks_n++] = (struct place){ host->run, text_format (work->arena, "%u", host->rank), host->host, i };
        if (text_to_u64 (said, &number))
            numbers[numbers_n++] = (struct place){ host->run, said, host->host, i };
    }
    judge (work, "rank", ranks, ranks_n);
    if (!is_found_already (work))
        judge (work, "tpu.worker_id", numbers, numbers_n);
}
