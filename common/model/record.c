/* record.c - walks one or two values of a record along its table. Recursion is as deep as the tables nest. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/model/record.h"

void *list_append (void *list, size_t item_bytes, struct arena *arena)
{
    struct any_list *any = list;
    char *items = arena_array (arena, (size_t) any->n + 1, item_bytes);
    if (any->n)
        memcpy (items, any->items, any->n * item_bytes);
    any->items = items;
    return items + any->n++ * item_bytes;
}

void *list_find (const void *list, size_t item_bytes, size_t member, struct text name)
{
    const struct any_list *any = list;
    char *item = any->items;
    for (uint32_t i = 0; i < any->n; i++, item += item_bytes)
        if (text_equal (*(const struct text *) (const void *) (item + member), name))
            return item;
    return NULL;
}

static size_t kind_bytes (enum field_kind kind)
{
    switch (kind) {
    case FIELD_BOOL: return sizeof (bool);
    case FIELD_U32:
    case FIELD_ENUM: return sizeof (uint32_t);
    case FIELD_U64: return sizeof (uint64_t);
    case FIELD_F64: return sizeof (double);
    case FIELD_TEXT:
    case FIELD_BYTES: return sizeof (struct text);
    case FIELD_REF: return sizeof (void *);
    case FIELD_RECORD:
    case FIELD_LIST: break;
    }
    assert (!"a kind without a size of its own");
    return 0;
}

size_t field_item_bytes (const struct field *list)
{
    return list->item == FIELD_RECORD ? list->of->bytes : kind_bytes (list->item);
}

struct field field_describe_item (const struct field *list)
{
    return (struct field){
        .name = list->name, .kind = list->item, .max = list->item_max, .of = list->of, .names = list->names
    };
}

bool field_is_empty (const struct field *field, const void *at)
{
    switch (field->kind) {
    case FIELD_BOOL: return !*(const bool *) at;
    case FIELD_U32:
    case FIELD_ENUM: return *(const uint32_t *) at == 0;
    case FIELD_U64: return *(const uint64_t *) at == 0;
    case FIELD_F64: return *(const double *) at == 0.0;
    case FIELD_TEXT:
    case FIELD_BYTES: return ((const struct text *) at)->len == 0;
    case FIELD_LIST: return ((const struct any_list *) at)->n == 0;
    case FIELD_RECORD: return record_is_empty (field->of, at);
    case FIELD_REF: return false; /* only items of lists are addresses, and a list is empty by its count */
    }
    return false;
}

bool record_is_empty (const struct record *record, const void *value)
{
    for (uint32_t i = 0; i < record->fields_n; i++) {
        const struct field *field = &record->fields[i];
        if (!field_is_empty (field, (const char *) value + field->offset))
            return false;
    }
    return true;
}

struct text record_encoded (const struct record *record, const void *value)
{
    const void *at = (const char *) value + record->encoded_at;
    return record->encoded_at ? *(const struct text *) at : (struct text){ 0 };
}

static void record_own (const struct record *record, void *value, struct arena *arena);
static void field_own (const struct field *field, void *at, struct arena *arena);

static void list_own (const struct field *field, struct any_list *list, struct arena *arena)
{
    size_t item_bytes = field_item_bytes (field);
    struct field item = field_describe_item (field);
    list->items = arena_copy (arena, list->items, list->n * item_bytes);
    for (uint32_t i = 0; i < list->n; i++)
        field_own (&item, (char *) list->items + i * item_bytes, arena);
}

static void ref_own (const struct field *field, void **at, struct arena *arena)
{
    *at = arena_copy (arena, *at, field->of->bytes);
    record_own (field->of, *at, arena);
}

static void field_own (const struct field *field, void *at, struct arena *arena)
{
    switch (field->kind) {
    case FIELD_TEXT:
    case FIELD_BYTES: *(struct text *) at = text_copy (arena, *(const struct text *) at); break;
    case FIELD_RECORD: record_own (field->of, at, arena); break;
    case FIELD_REF: ref_own (field, at, arena); break;
    case FIELD_LIST: list_own (field, at, arena); break;
    default: break;
    }
}

/* Makes what `value` points at its own. */
static void record_own (const struct record *record, void *value, struct arena *arena)
{
    for (uint32_t i = 0; i < record->fields_n; i++)
        if (record->fields[i].kind >= FIELD_TEXT)
            field_own (&record->fields[i], (char *) value + record->fields[i].offset, arena);
    if (record->encoded_at)
        *(struct text *) (void *) ((char *) value + record->encoded_at) = (struct text){ 0 };
}

void record_copy (const struct record *record, void *to, const void *from, struct arena *arena)
{
    memmove (to, from, record->bytes);
    record_own (record, to, arena);
}

/* All NaNs are one value, above all others, and -0.0 is 0.0, so that equal values have equal encodings. */
static int order_f64 (double a, double b)
{
    if (isnan (a) || isnan (b))
        return !!isnan (a) - !!isnan (b);
    return (a > b) - (a < b);
}

static int field_compare (const struct field *field, const void *a, const void *b);

static int list_compare (const struct field *field, const struct any_list *a, const struct any_list *b)
{
    size_t item_bytes = field_item_bytes (field);
    struct field item = field_describe_item (field);
    uint32_t shorter = a->n < b->n ? a->n : b->n;

    if (a->items == b->items)
        return order_u64 (a->n, b->n);
    for (uint32_t i = 0; i < shorter; i++) {
        int order = field_compare (&item, (const char *) a->items + i * item_bytes,
                                   (const char *) b->items + i * item_bytes);
        if (order != 0)
            return order;
    }
    return order_u64 (a->n, b->n);
}

static int field_compare (const struct field *field, const void *a, const void *b)
{
    switch (field->kind) {
    case FIELD_BOOL: return order_u64 (*(const bool *) a, *(const bool *) b);
    case FIELD_U32:
    case FIELD_ENUM: return order_u64 (*(const uint32_t *) a, *(const uint32_t *) b);
    case FIELD_U64: return order_u64 (*(const uint64_t *) a, *(const uint64_t *) b);
    case FIELD_F64: return order_f64 (*(const double *) a, *(const double *) b);
    case FIELD_TEXT:
    case FIELD_BYTES: return text_compare (*(const struct text *) a, *(const struct text *) b);
    case FIELD_RECORD: return record_compare (field->of, a, b);
    case FIELD_REF: return record_compare (field->of, *(void *const *) a, *(void *const *) b);
    case FIELD_LIST: return list_compare (field, a, b);
    }
    return 0;
}

int record_compare (const struct record *record, const void *a, const void *b)
{
    for (uint32_t i = 0; i < record->fields_n; i++) {
        const struct field *field = &record->fields[i];
        int order = field_compare (field, (const char *) a + field->offset, (const char *) b + field->offset);
        if (order != 0)
            return order;
    }
    return 0;
}

bool record_equal (const struct record *record, const void *a, const void *b)
{
    return record_compare (record, a, b) == 0;
}
