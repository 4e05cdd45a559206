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
