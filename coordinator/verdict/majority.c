#include "coordinator/verdict/agree.h"

uint32_t majority_count_equal (const struct text *values, uint32_t n, uint32_t at)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += text_equal (values[i], values[at]);
    return count;
}

uint32_t majority_index (const struct text *values, uint32_t n)
{
    uint32_t best = 0, most = 0;
    for (uint32_t i = 0; i < n && most * 2 <= n; i++) {
        uint32_t count = majority_count_equal (values, n, i);
        if (count > most) {
            most = count;
            best = i;
        }
    }
    return best;
}

/* Boyer and Moore's vote: such values are long, and each host has one. */
struct text majority_value (const struct text *values, uint32_t n)
{
    struct text value = { 0 };
    uint32_t lead = 0, told = 0, same = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!values[i].len)
            continue;
        if (lead == 0)
            value = values[i];
        lead = text_equal (values[i], value) ? lead + 1 : lead - 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        told += values[i].len > 0;
        same += values[i].len > 0 && text_equal (values[i], value);
    }
    return same * 2 > told ? value : (struct text){ 0 };
}

/* ---- covers ---- */

_Static_assert(COVERS_KEPT >= 4 * RUNGS_MAX, "the covers that a ladder uses are never among those that are dropped");

static void add_where (text_list *to, const text_list *from, const text_list *ladder, bool used, struct text but)
{
    for (uint32_t i = 0; i < from->n; i++)
        if (text_is_among (from->items[i], ladder->items, ladder->n) == used && !text_equal (from->items[i], but))
            to->items[to->n++] = from->items[i];
}

text_list covers_carry_over (const text_list *base, const text_list *ladder, struct text made, struct arena *arena)
{
    text_list next = { .items = arena_array (arena, (size_t) base->n + 1, sizeof (*next.items)) };
    add_where (&next, base, ladder, false, made);
    add_where (&next, base, ladder, true, made);
    next.items[next.n++] = made;
    uint32_t let_go = next.n > COVERS_KEPT ? next.n - COVERS_KEPT : 0;
    return (text_list){ .items = next.items + let_go, .n = next.n - let_go };
}
