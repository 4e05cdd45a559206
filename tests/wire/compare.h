/* compare.h - the bounded walker held against msgpack-c's unpacker.
 *
 * What the walker has to refuse is found without it: by the unpacker, by what it made, and by the reasons below, each a
 * rule of this project's language that MessagePack does not have. So both directions are compared: the walker accepts
 * exactly what the unpacker accepts and no reason speaks against, and then it is the same tree of the same length.
 *
 * The unpacker reserves 48 bytes for each value that a head announces, before it has seen one: 155 bytes make it ask
 * for 63 GB. So the heads are added up first. A value takes a byte at least: where more are announced than there are
 * bytes the input is incomplete, whoever reads it, and above a few thousand the unpacker is not asked. It then reserves
 * at most 48 times the input's length, or 200 KB. Nesting is no concern: it goes 32 levels down on a stack of its own
 * and gives up. */
#ifndef SLICEUP_TESTS_COMPARE_H
#define SLICEUP_TESTS_COMPARE_H

#include <math.h>
#include <string.h>

#include <msgpack.h>

#include "common/wire/reader.h"
#include "common/wire/wire.h"

enum { COMPARE_FEW_VALUES = 4096 };

/* What stands behind a format byte from c0 to df: bytes of a length or count, and bytes besides. */
static const uint8_t compare_length_bytes[32] = { [0x04] = 1, 2, 4, [0x07] = 1, 2, 4, [0x19] = 1, 2, 4, 2, 4, 2, 4 };
static const uint8_t compare_fixed_bytes[32] = { [0x07] = 1, 1, 1, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17 };

/* How many bytes one head has with its text, bytes or ext; `values` are those it announces. */
static inline uint64_t compare_head (const uint8_t *at, size_t remain, uint64_t *values)
{
    uint8_t format = *at, length_bytes = format >= 0xc0 && format < 0xe0 ? compare_length_bytes[format & 31] : 0;
    uint64_t length = 0;
    *values = 0;
    for (uint32_t i = 1; i <= length_bytes && i < remain; i++)
        length = length << 8 | at[i];
    if (format >= 0x80 && format < 0xa0)
        *values = format < 0x90 ? 2 * (format & 15) : format & 15;
    else if (format >= 0xdc && format < 0xe0)
        *values = format < 0xde ? length : 2 * length;
    else if (format >= 0xa0 && format < 0xc0)
        return 1 + (format & 31);
    else if (format >= 0xc0 && format < 0xe0)
        return 1 + length_bytes + length + compare_fixed_bytes[format & 31];
    return 1 + length_bytes;
}

/* How many values the first value of `input` consists of, as far as heads are there to say so. */
static inline uint64_t compare_announced (struct text input)
{
    uint64_t announced = 1, seen = 0, more;
    for (size_t at = 0; at < input.len && seen < announced; seen++) {
        at += compare_head ((const uint8_t *) input.ptr + at, input.len - at, &more);
        announced += more;
    }
    return announced;
}

static inline const char *compare_refusal (const msgpack_object *object, uint32_t depth, uint32_t *items);

static inline const char *compare_map_refusal (const msgpack_object_map *map, uint32_t depth, uint32_t *items)
{
    const char *why = NULL;
    for (uint32_t i = 0; i < map->size && !why; i++) {
        const msgpack_object *key = &map->ptr[i].key;
        ++*items;
        if (key->type != MSGPACK_OBJECT_POSITIVE_INTEGER || key->via.u64 > UINT32_MAX ||
            (i > 0 && key->via.u64 <= key[-2].via.u64))
            return "a key is no integer of 32 bits, is there twice or falls";
        why = compare_refusal (&map->ptr[i].val, depth, items);
    }
    return why;
}

static inline const char *compare_list_refusal (const msgpack_object_array *list, uint32_t depth, uint32_t *items)
{
    const char *why = NULL;
    for (uint32_t i = 0; i < list->size && !why; i++)
        why = compare_refusal (&list->ptr[i], depth, items);
    return why;
}

/* Of what MessagePack has and this language has not; NULL: nothing. Counts the values. */
static inline const char *compare_refusal (const msgpack_object *object, uint32_t depth, uint32_t *items)
{
    uint64_t bits;
    ++*items;
    switch (object->type) {
    case MSGPACK_OBJECT_NIL:
    case MSGPACK_OBJECT_EXT:
    case MSGPACK_OBJECT_FLOAT32: return "nil, ext and float32 are no part of it";
    case MSGPACK_OBJECT_FLOAT64:
        memcpy (&bits, &object->via.f64, sizeof bits);
        return bits == 1ull << 63 || (isnan (object->via.f64) && bits != WIRE_NAN_BITS) ? "zero and NaN have one form"
                                                                                        : NULL;
    case MSGPACK_OBJECT_STR:
        return object->via.str.size == 0 ||
                       value_text_is_utf8_no_nul ((struct text){ object->via.str.ptr, object->via.str.size })
                   ? NULL
                   : "a text is not UTF-8 without NUL";
    case MSGPACK_OBJECT_ARRAY:
        return depth ? compare_list_refusal (&object->via.array, depth - 1, items) : "nested too deeply";
    case MSGPACK_OBJECT_MAP:
        return depth ? compare_map_refusal (&object->via.map, depth - 1, items) : "nested too deeply";
    default: return NULL;
    }
}

struct compare_bytes {
    const char *at;
    size_t len;
    bool same;
};

static inline int compare_written (void *owner, const char *bytes, size_t len)
{
    struct compare_bytes *left = owner;
    left->same = left->same && len <= left->len && (len == 0 || memcmp (left->at, bytes, len) == 0);
    if (left->same) {
        left->at += len;
        left->len -= len;
    }
    return 0;
}

/* The packer knows the shortest form only. */
static inline bool compare_is_shortest (const msgpack_object *object, struct text input, size_t len)
{
    struct compare_bytes left = { input.ptr, len, true };
    msgpack_packer packer;
    msgpack_packer_init (&packer, &left, compare_written);
    return msgpack_pack_object (&packer, *object) == 0 && left.same && left.len == 0;
}

/* Why `input` must not be accepted; NULL: it must, as `unpacked`, its first `len` bytes. */
static inline const char *compare_reason (struct text input, uint32_t items_max, msgpack_unpacked *unpacked,
                                          size_t *len)
{
    uint64_t announced = compare_announced (input);
    uint32_t items = 0;
    if (announced > input.len && announced > COMPARE_FEW_VALUES)
        return "incomplete, and dear to unpack";
    msgpack_unpack_return rc = msgpack_unpack_next (unpacked, input.ptr, input.len, len);
    if (rc != MSGPACK_UNPACK_SUCCESS)
        return rc == MSGPACK_UNPACK_CONTINUE ? "incomplete" : "no MessagePack to the unpacker either";
    const char *why = compare_refusal (&unpacked->data, WIRE_DEPTH_MAX, &items);
    if (!why && items > items_max)
        return "more items than allowed";
    return !why && !compare_is_shortest (&unpacked->data, input, *len) ? "a longer form than needed" : why;
}

static inline bool compare_tree (struct reader *reader, const msgpack_object *object);

static inline bool compare_items (struct reader *reader, const msgpack_object *object)
{
    bool same = true;
    if (object->type == MSGPACK_OBJECT_ARRAY)
        for (uint32_t i = 0; i < object->via.array.size && same; i++)
            same = compare_tree (reader, &object->via.array.ptr[i]);
    else
        for (uint32_t i = 0; i < object->via.map.size && same; i++)
            same = compare_tree (reader, &object->via.map.ptr[i].key) &&
                   compare_tree (reader, &object->via.map.ptr[i].val);
    return same;
}

/* What the reader hands out, value by value, is what the unpacker made. */
static inline bool compare_tree (struct reader *reader, const msgpack_object *object)
{
    struct wire_value value;
    if (reader_next (reader, &value, NULL) < 0)
        return false;
    switch (object->type) {
    case MSGPACK_OBJECT_BOOLEAN: return value.kind == VALUE_BOOL && value.number == object->via.boolean;
    case MSGPACK_OBJECT_POSITIVE_INTEGER: return value.kind == VALUE_UINT && value.number == object->via.u64;
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        return value.kind == VALUE_NEGATIVE && (int64_t) value.number == object->via.i64;
    case MSGPACK_OBJECT_FLOAT64:
        return value.kind == VALUE_FLOAT && memcmp (&value.real, &object->via.f64, sizeof value.real) == 0;
    case MSGPACK_OBJECT_STR:
        return value.kind == VALUE_TEXT &&
               text_equal (value.text, (struct text){ object->via.str.ptr, object->via.str.size });
    case MSGPACK_OBJECT_BIN:
        return value.kind == VALUE_BYTES &&
               text_equal (value.text, (struct text){ object->via.bin.ptr, object->via.bin.size });
    case MSGPACK_OBJECT_ARRAY:
        return value.kind == VALUE_LIST && value.number == object->via.array.size && compare_items (reader, object);
    case MSGPACK_OBJECT_MAP:
        return value.kind == VALUE_MAP && value.number == object->via.map.size && compare_items (reader, object);
    default: return false;
    }
}

/* `reason`: why both refuse; NULL: both accept the first `len` bytes. `differs`: where they do not agree, or NULL. */
struct compared {
    const char *reason, *differs;
    size_t len;
};

static inline struct compared compare_readers (struct text input, uint32_t items_max)
{
    struct compared found = { 0 };
    struct reader walker = reader_begin (input, items_max), again = walker;
    bool accepted = reader_skip (&walker, WIRE_DEPTH_MAX, NULL) == 0;
    msgpack_unpacked unpacked;
    msgpack_unpacked_init (&unpacked);
    found.reason = compare_reason (input, items_max, &unpacked, &found.len);
    if (accepted && found.reason)
        found.differs = "accepted by the walker alone";
    else if (!accepted && !found.reason)
        found.differs = "refused by the walker alone";
    else if (accepted && reader_offset (&walker) != found.len)
        found.differs = "another length";
    else if (accepted && !compare_tree (&again, &unpacked.data))
        found.differs = "another tree";
    msgpack_unpacked_destroy (&unpacked);
    return found;
}

#endif
