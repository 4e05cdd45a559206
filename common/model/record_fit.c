/* record_fit.c - a value cut to its table's bounds. */
#include "common/model/record.h"

static uint64_t field_fit (const struct field *field, void *at);

static uint64_t list_fit (const struct field *field, struct any_list *list)
{
    size_t item_bytes = field_item_bytes (field);
    struct field item = field_item (field);
    uint64_t left_out = list->n > field->max ? list->n - field->max : 0;
    list->n -= (uint32_t) left_out;
    for (uint32_t i = 0; i < list->n; i++)
        left_out += field_fit (&item, (char *) list->items + i * item_bytes);
    return left_out;
}

static uint64_t field_fit (const struct field *field, void *at)
{
    switch (field->kind) {
    case FIELD_TEXT: *(struct text *) at = text_clip (*(struct text *) at, (uint32_t) field->max); return 0;
    case FIELD_RECORD: return record_fit (field->of, at);
    case FIELD_LIST: return list_fit (field, at);
    default: return 0;
    }
}

uint64_t record_fit (const struct record *record, void *value)
{
    uint64_t left_out = 0;
    for (uint32_t i = 0; i < record->fields_n; i++)
        left_out += field_fit (&record->fields[i], (char *) value + record->fields[i].offset);
    return left_out;
}
