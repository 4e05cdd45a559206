/* record.h - a struct described by a table, so that wire bytes, JSON, copies and comparison follow from one place.
 *
 * A record is an open C struct plus a `struct record` that lists its fields. Rules that keep versions compatible:
 * a key is never reused; an absent field reads as zero/empty; a zero/empty field is not written. So equal values have
 * equal bytes, and a digest of the bytes is an identity.
 *
 * A list in a struct has this shape, with any item type: struct { T *items; uint32_t n; } - see LIST_OF.
 * Texts and lists that come from decoding live in the arena given, or alias the input bytes. */
#ifndef SLICEUP_COMMON_MODEL_RECORD_H
#define SLICEUP_COMMON_MODEL_RECORD_H

#include "common/base/buf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIST_OF(T)                                                                                                     \
    struct {                                                                                                           \
        T *items;                                                                                                      \
        uint32_t n;                                                                                                    \
    }
struct any_list {
    void *items;
    uint32_t n;
};
/* The place of one item more at the end of a LIST_OF, not set yet. The list moves: who has its items sees no change. */
void *list_append (void *list, size_t item_bytes, struct arena *arena);
/* The first item of a LIST_OF (TYPE) whose text MEMBER is `name`; NULL: none. */
#define LIST_FIND(list, TYPE, MEMBER, name) list_find (&(list), sizeof (TYPE), offsetof (TYPE, MEMBER), name)
void *list_find (const void *list, size_t item_bytes, size_t member, struct text name);

/* An enum's names, index = value; value 0 is "none" and is written as absent. */
struct enum_names {
    const char *const *of;
    uint32_t n;
};

/* All words of an array. */
#define NAMES(list)                                                                                                    \
    {                                                                                                                  \
        list, sizeof (list) / sizeof ((list)[0])                                                                       \
    }
/* The same of words that are needed only here; of static duration outside functions. */
#define NAMED(...) NAMES (((const char *const[]){ __VA_ARGS__ }))

enum field_kind {
    FIELD_BOOL = 1, /* bool */
    FIELD_U32,      /* uint32_t, at most `max` */
    FIELD_U64,      /* uint64_t, at most `max` */
    FIELD_F64,      /* double; NaN and infinities allowed only here */
    FIELD_ENUM,     /* an `enum` of int size; `names` bounds it; JSON shows the name */
    FIELD_TEXT,     /* struct text: valid UTF-8 without NUL, at most `max` bytes */
    FIELD_BYTES,    /* struct text: any bytes, at most `max`; JSON shows hex */
    FIELD_RECORD,   /* an embedded struct, described by `of` */
    FIELD_LIST,     /* LIST_OF (T), at most `max` items, each of kind `item` */
    FIELD_REF,      /* an item of a list: the address of such a struct, which several lists may hold */
};

struct record;
struct field {
    uint32_t key;     /* on the wire; unique in its record; fields are listed by rising key */
    const char *name; /* in JSON and in errors */
    enum field_kind kind;
    size_t offset;
    uint64_t max;                   /* see the kinds; always finite */
    const struct record *of;        /* RECORD, or a LIST of records */
    const struct enum_names *names; /* ENUM, or a LIST of enums */
    enum field_kind item;           /* LIST: kind of an item */
    uint64_t item_max;              /* LIST of texts or numbers: bound of an item */
};

struct record {
    const char *name;
    size_t bytes; /* sizeof the struct */
    const struct field *fields;
    uint32_t fields_n;
    size_t encoded_at; /* 0, or where its struct has the text that it was decoded from, or none: record_encoded */
};

/* Building tables; see common/model/msg.c for their use. S is the struct, M the member. */
#define F_OF_KIND(key, S, M, kind, max, of, names, item, item_max)                                                     \
    {                                                                                                                  \
        key, #M, kind, offsetof (S, M), max, of, names, item, item_max                                                 \
    }
#define F_BOOL(key, S, M) F_OF_KIND (key, S, M, FIELD_BOOL, 1, NULL, NULL, 0, 0)
#define F_U32(key, S, M, max) F_OF_KIND (key, S, M, FIELD_U32, max, NULL, NULL, 0, 0)
#define F_U64(key, S, M, max) F_OF_KIND (key, S, M, FIELD_U64, max, NULL, NULL, 0, 0)
#define F_F64(key, S, M) F_OF_KIND (key, S, M, FIELD_F64, 0, NULL, NULL, 0, 0)
#define F_ENUM(key, S, M, names) F_OF_KIND (key, S, M, FIELD_ENUM, 0, NULL, names, 0, 0)
#define F_TEXT(key, S, M, max) F_OF_KIND (key, S, M, FIELD_TEXT, max, NULL, NULL, 0, 0)
#define F_BYTES(key, S, M, max) F_OF_KIND (key, S, M, FIELD_BYTES, max, NULL, NULL, 0, 0)
#define F_RECORD(key, S, M, of) F_OF_KIND (key, S, M, FIELD_RECORD, 0, of, NULL, 0, 0)
#define F_LIST(key, S, M, max, of) F_OF_KIND (key, S, M, FIELD_LIST, max, of, NULL, FIELD_RECORD, 0)
#define F_REFS(key, S, M, max, of) F_OF_KIND (key, S, M, FIELD_LIST, max, of, NULL, FIELD_REF, 0)
#define F_TEXTS(key, S, M, max, item_max) F_OF_KIND (key, S, M, FIELD_LIST, max, NULL, NULL, FIELD_TEXT, item_max)
#define F_U32S(key, S, M, max, item_max) F_OF_KIND (key, S, M, FIELD_LIST, max, NULL, NULL, FIELD_U32, item_max)
#define F_F64S(key, S, M, max) F_OF_KIND (key, S, M, FIELD_LIST, max, NULL, NULL, FIELD_F64, 0)
#define RECORD(NAME, S, FIELDS)                                                                                        \
    {                                                                                                                  \
        NAME, sizeof (S), FIELDS, sizeof (FIELDS) / sizeof ((FIELDS)[0]), 0                                            \
    }
/* A row of a table of kinds, of facts or of messages: the name of the kind, and the record of the same name. */
#define KIND(NAME, S, FIELDS)                                                                                          \
    {                                                                                                                  \
        NAME, &(const struct record) RECORD (NAME, S, FIELDS)                                                          \
    }

/* One item of a list, described as a field at offset 0, and its size in memory. */
struct field field_describe_item (const struct field *list);
size_t field_item_bytes (const struct field *list);
/* Zero or empty at every depth, so not written. `at` points at the field itself. */
bool field_is_empty (const struct field *field, const void *at);
bool record_is_empty (const struct record *record, const void *value);

/* The bytes that the value was decoded from, whose copy is then its encoding, and within its bounds; empty: encode it.
 * Only who decodes sets them, only who changes nothing keeps them, and no copy has them. */
struct text record_encoded (const struct record *record, const void *value);

/* Deep copy: `arena` holds all that `to` points at; `to` may be `from`. NaN equals NaN, -0.0 equals 0.0. */
void record_copy (const struct record *record, void *to, const void *from, struct arena *arena);
bool record_equal (const struct record *record, const void *a, const void *b);
/* A total order: field by field in key order; lists by items, then by length. */
int record_compare (const struct record *record, const void *a, const void *b);
/* Is the value within its own table's bounds (lengths, ranges, UTF-8)? If not, `why` (may be NULL) names the field. */
bool record_check (const struct record *record, const void *value, struct buf *why);
/* Cuts lists and texts to their bounds in place, texts between characters, but for what lists hold by address. Returns how
 * many list items were dropped. The caller checks numbers and UTF-8. */
uint64_t record_fit (const struct record *record, void *value);

/* "none" for 0; "?" past the end, and for a retired number, whose word is empty. */
const char *enum_name_of (const struct enum_names *names, uint32_t value);
/* Does not find value 0. Finds former words, too. */
bool enum_value_of (const struct enum_names *names, struct text name, uint32_t *value);

#endif
