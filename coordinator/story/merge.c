#include "coordinator/story/frontier.h"

#include <stdlib.h>
#include <string.h>

/* One record to compare by, for qsort_r. */
static int by_record (const void *a, const void *b, void *record)
{
    return record_compare (record, a, b);
}

static void set_normalise (const struct record *record, struct any_list *set)
{
    if (set->n < 2)
        return;
    qsort_r (set->items, set->n, record->bytes, by_record, (void *) record);
    char *items = set->items;
    uint32_t kept = 1;
    for (uint32_t i = 1; i < set->n; i++)
        if (record_compare (record, items + (size_t) (kept - 1) * record->bytes, items + (size_t) i * record->bytes) !=
            0)
            memmove (items + (size_t) kept++ * record->bytes, items + (size_t) i * record->bytes, record->bytes);
    set->n = kept;
}

static struct any_list *set_at (const struct slice_receipt *receipt, const struct field *field)
{
    return (struct any_list *) ((char *) (uintptr_t) receipt + field->offset);
}

void merge_normalise (struct slice_receipt *receipt)
{
    for (uint32_t i = 0; i < slice_receipt_record.fields_n; i++) {
        const struct field *field = &slice_receipt_record.fields[i];
        set_normalise (field->of, set_at (receipt, field));
    }
}

static void set_join (const struct field *field, const struct any_list *a, const struct any_list *b,
                      struct arena *arena, struct any_list *out)
{
    size_t item = field->of->bytes;
    out->n = a->n + b->n;
    out->items = arena_array (arena, out->n, item);
    if (a->n)
        memcpy (out->items, a->items, a->n * item);
    if (b->n)
        memcpy ((char *) out->items + a->n * item, b->items, b->n * item);
}

void merge_receipts (const struct slice_receipt *a, const struct slice_receipt *b, struct arena *arena,
                     struct slice_receipt *out)
{
    struct slice_receipt joined = { 0 };
    for (uint32_t i = 0; i < slice_receipt_record.fields_n; i++) {
        const struct field *field = &slice_receipt_record.fields[i];
        set_join (field, set_at (a, field), set_at (b, field), arena, set_at (&joined, field));
    }
    merge_normalise (&joined);
    *out = joined;
}

static bool same_subject (const struct host_receipt *a, const struct host_receipt *b)
{
    return text_equal (a->run, b->run) && text_equal (a->host, b->host);
}

bool merge_host_has_conflict (const struct slice_receipt *receipt, uint32_t i)
{
    const struct host_receipt *hosts =
        receipt->hosts.items; /* sorted by run and host: receipts of one host in one run are neighbours */
    return (i > 0 && same_subject (&hosts[i], &hosts[i - 1])) ||
           (i + 1 < receipt->hosts.n && same_subject (&hosts[i], &hosts[i + 1]));
}
