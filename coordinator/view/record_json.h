/* record_json.h - records <-> JSON, from their tables, and the texts and host sets beside them. A list of variables or
 * numbers ({name, value}) is shown as an object. */
#ifndef SLICEUP_COORDINATOR_VIEW_RECORD_JSON_H
#define SLICEUP_COORDINATOR_VIEW_RECORD_JSON_H

#include "common/model/hostset.h"
#include "common/model/record.h"
#include <jansson.h>

/* What a kind of document adds to what its tables say. */
struct json_rules {
    bool (*unknown) (const struct record *record, const void *value, const struct field *field); /* it is null */
    /* NULL, or it gives members beside the fields, in the order of their names. One that has a field's name replaces that. */
    json_t *(*more) (const void *owner, const struct record *record, const void *value);
    const void *owner;
    const char *listed; /* a member of `more`, null there, is a list: no tree holds all of it */
    json_t *(*next) (const void *list, uint32_t *at); /* the item at `at`, which it passes; NULL: there are no more */
    const void *list;
};
/* Appends the record as text, a member a line, sorted by name. Every field is present, also when empty; an enum that is
 * none is null; a double that is not finite is null. `rules` NULL: none. Drains `out`. */
void record_print_json (const struct record *record, const void *value, const struct json_rules *rules,
                        struct buf *out);
json_t *record_to_json (const struct record *record, const void *value);
json_t *record_field_json (const struct field *field, const void *at); /* of the value at `at` */
/* The reverse: unknown members, wrong types and values out of bounds are errors that name the place. Missing members
 * and null are empty. Texts are copied into `arena`. */
int record_from_json (const struct record *record, const json_t *json, void *out, struct arena *arena, struct err *err);

json_t *text_json (struct text text); /* of UTF-8, which all that records hold is; else "" */
json_t *folded_hosts_json (const struct text *names, uint32_t n);

json_t *buf_take_json (struct buf *buf);       /* its bytes; releases it */
json_t *escaped_json (struct text text);       /* of any bytes: what is no UTF-8 is escaped rather than lost */
json_t *text_or_null_json (struct text text);  /* escaped; null: empty, which stands for not known */
json_t *number_or_null_json (uint64_t number); /* null: 0, which stands for not known */
json_t *enum_json (const struct enum_names *names, uint32_t value); /* null: 0, which is none */
json_t *time_json (uint64_t wall_ms);                               /* RFC 3339, in UTC; null: 0, not known */
json_t *texts_json (const struct text *items, uint32_t n);
/* Appends it as text with these flags of jansson and a newline, and releases it. */
void json_print_release (json_t *json, size_t flags, struct buf *out);
/* The string of text_json with its quotes, as bytes, without a tree. */
void json_put_text (struct text text, struct buf *out);

#endif
