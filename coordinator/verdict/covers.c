#include "coordinator/verdict/covers.h"

_Static_assert(COVERS_KEPT >= 4 * RUNGS_MAX, "the covers that a ladder uses are never among those that are dropped");

bool covers_have (const text_list *covers, struct text cover)
{
    return text_is_among (cover, covers->items, covers->n);
}

static void add_where (text_list *to, const text_list *from, const text_list *ladder, bool used, struct text but)
{
    for (uint32_t i = 0; i < from->n; i++)
        if (covers_have (ladder, from->items[i]) == used && !text_equal (from->items[i], but))
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
