/* stretched.h - values of records as large as their tables allow: each number at its end, each text as long as it may
 * be, each list full. By table, so that a field that is added is stretched too. Include after cmocka.h. */
#ifndef SLICEUP_TESTS_UNIT_STRETCHED_H
#define SLICEUP_TESTS_UNIT_STRETCHED_H

#include "common/model/fact.h"
#include "test.h"

enum { STRETCHED_VOICES = 4 };

/* The last of the voices speaks in letters of two bytes, and so not always to the last byte. */
static inline struct text stretched_text (uint32_t reporter, uint64_t max)
{
    static char bytes[STRETCHED_VOICES][TEXT_MAX_BYTES];
    uint32_t len = max < TEXT_MAX_BYTES ? (uint32_t) max : TEXT_MAX_BYTES;
    bool wide = reporter == STRETCHED_VOICES - 1;
    for (uint32_t i = 0; i < TEXT_MAX_BYTES; i++)
        bytes[reporter][i] = wide ? "\xc3\xa9"[i % 2] : (char) ('a' + reporter);
    return (struct text){ bytes[reporter], wide ? len / 2 * 2 : len };
}

static inline void stretch (const struct record *record, void *value, uint32_t reporter, struct arena *arena);
static inline void stretch_field (const struct field *field, void *at, uint32_t reporter, struct arena *arena);

/* Items of a list are all the same: made once. */
static inline void stretch_list (const struct field *field, struct any_list *list, uint32_t reporter,
                                 struct arena *arena)
{
    size_t bytes = field_item_bytes (field);
    struct field item = field_describe_item (field);
    list->n = (uint32_t) field->max;
    list->items = arena_array (arena, list->n, bytes);
    if (list->n)
        stretch_field (&item, list->items, reporter, arena);
    for (uint32_t i = 1; i < list->n; i++)
        memcpy ((char *) list->items + i * bytes, list->items, bytes);
}

static inline void stretch_field (const struct field *field, void *at, uint32_t reporter, struct arena *arena)
{
    switch (field->kind) {
    case FIELD_BOOL: *(bool *) at = true; break;
    case FIELD_U32: *(uint32_t *) at = (uint32_t) field->max; break;
    case FIELD_U64: *(uint64_t *) at = field->max; break;
    case FIELD_F64: *(double *) at = 1e308; break;
    case FIELD_ENUM: *(uint32_t *) at = field->names->n - 1; break;
    case FIELD_TEXT:
    case FIELD_BYTES: *(struct text *) at = stretched_text (reporter, field->max); break;
    case FIELD_RECORD: stretch (field->of, at, reporter, arena); break;
    case FIELD_REF: stretch (field->of, *(void **) at = arena_alloc (arena, field->of->bytes), reporter, arena); break;
    case FIELD_LIST: stretch_list (field, at, reporter, arena); break;
    }
}

static inline void stretch (const struct record *record, void *value, uint32_t reporter, struct arena *arena)
{
    for (uint32_t i = 0; i < record->fields_n; i++)
        stretch_field (&record->fields[i], (char *) value + record->fields[i].offset, reporter, arena);
}

static inline void stretched_fits (const struct fact *facts, uint32_t n)
{
    struct buf why;
    buf_init (&why, 256);
    for (uint32_t i = 0; i < n; i++)
        if (!record_check (fact_record_of_kind (facts[i].kind), &facts[i].of, &why))
            fail_msg ("fact %u, %s, is out of its bounds: %s", i, fact_name (facts[i].kind), buf_c (&why));
    buf_release (&why);
}

#endif
