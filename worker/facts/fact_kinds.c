/* fact_kinds.c - see fact_kinds.h. */
#include "worker/facts/fact_kinds.h"

#include "common/base/buf.h"
#include <stdlib.h>
#include <string.h>

void kinds_count (struct kinds *kinds, struct text what)
{
    for (uint32_t i = 0; i < kinds->n; i++)
        if (text_equal (kinds->items[i].what, what)) {
            kinds->items[i].count++;
            return;
        }
    if (kinds->n == KINDS_MAX) {
        kinds->others++;
        return;
    }
    kinds->items[kinds->n].what = what;
    kinds->items[kinds->n++].count = 1;
}

static int frequent_first (const void *a, const void *b)
{
    const struct kind *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return text_compare (x->what, y->what);
}

void kinds_add (struct fact_list *list, const char *name, const struct kinds *kinds, struct text missing)
{
    struct kind sorted[KINDS_MAX];
    struct buf value;
    memcpy (sorted, kinds->items, sizeof sorted);
    qsort (sorted, kinds->n, sizeof *sorted, frequent_first);
    buf_init (&value, FACT_VALUE_BYTES);
    for (uint32_t i = 0; i < kinds->n; i++)
        buf_printf (&value, "%s%u x %.*s", i ? ", " : "", sorted[i].count, TEXT_ARG (sorted[i].what));
    if (kinds->others)
        buf_printf (&value, ", and %u others", kinds->others);
    fact_add (list, name, value.len ? text_copy (&list->arena, buf_as_text (&value)) : missing);
    buf_release (&value);
}
