#include "worker/facts/value_tally.h"

#include "common/base/buf.h"
#include <stdlib.h>
#include <string.h>

void value_tally_add (struct value_tally *tally, struct text what)
{
    for (uint32_t i = 0; i < tally->n; i++)
        if (text_equal (tally->items[i].what, what)) {
            tally->items[i].count++;
            return;
        }
    if (tally->n == KINDS_MAX) {
        tally->others++;
        return;
    }
    tally->items[tally->n].what = what;
    tally->items[tally->n++].count = 1;
}

static int frequent_first (const void *a, const void *b)
{
    const struct value_tally_entry *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return text_compare (x->what, y->what);
}

void value_tally_to_fact (struct host_fact_list *list, const char *name, const struct value_tally *tally,
                          struct text missing)
{
    struct value_tally_entry sorted[KINDS_MAX];
    struct buf value;
    memcpy (sorted, tally->items, sizeof sorted);
    qsort (sorted, tally->n, sizeof *sorted, frequent_first);
    buf_init (&value, FACT_VALUE_BYTES);
    for (uint32_t i = 0; i < tally->n; i++)
        buf_printf (&value, "%s%u x %.*s", i ? ", " : "", sorted[i].count, TEXT_ARG (sorted[i].what));
    if (tally->others)
        buf_printf (&value, ", and %u others", tally->others);
    host_fact_add (list, name, value.len ? text_copy (&list->arena, buf_as_text (&value)) : missing);
    buf_release (&value);
}
