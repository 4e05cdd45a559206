/* generate.h - random values of any record, made by walking its table. Same seed, same value.
 *
 * GENERATE_FULL sets every field to something that is not zero; GENERATE_SPARSE leaves about half of them empty;
 * GENERATE_EDGE prefers the bounds. Everything made passes record_check. Each field has random numbers of its own, by
 * its name: a field that is added to a table changes nothing else, so golden bytes of the past can be compared. */
#ifndef SLICEUP_TESTS_WIRE_GENERATE_H
#define SLICEUP_TESTS_WIRE_GENERATE_H

#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/model/fact.h"
#include "rng_unit.h"

enum generate_mode { GENERATE_FULL, GENERATE_SPARSE, GENERATE_EDGE };

struct generator {
    enum generate_mode mode;
    struct rng rng;
    struct arena *arena;
};

/* Above this a text or list at its bound only makes tests slow; large ones have a test of their own. */
enum { GENERATE_TEXT_MAX_BYTES = 300, GENERATE_LIST_MAX = 20 };

static inline struct text generate_text (struct generator *g, uint64_t max, bool any_bytes)
{
    static const char *const letters[] = {
        "a", "Z", "0", "-", "_", " ", "/", "\x7f", "\n", "\xc3\xa9", "\xe6\xbc\xa2", "\xf0\x9f\x9a\x80"
    };
    uint64_t most = max < GENERATE_TEXT_MAX_BYTES ? max : GENERATE_TEXT_MAX_BYTES;
    uint64_t len = g->mode == GENERATE_EDGE ? most : 1 + rng_below (&g->rng, most < 24 ? most : 24);
    char *bytes = arena_alloc (g->arena, len + 1);

    for (uint64_t at = 0; at < len;) {
        const char *letter = letters[rng_below (&g->rng, sizeof letters / sizeof letters[0])];
        size_t letter_bytes = strlen (letter);
        if (any_bytes) {
            bytes[at++] = (char) rng_below (&g->rng, 256);
        } else if (letter_bytes <= len - at) {
            memcpy (bytes + at, letter, letter_bytes);
            at += letter_bytes;
        }
    }
    return (struct text){ .ptr = bytes, .len = (uint32_t) len };
}

/* 1 .. max, with all lengths of the encoding about equally likely. */
static inline uint64_t generate_number (struct generator *g, uint64_t max)
{
    if (g->mode == GENERATE_EDGE)
        return max;
    uint64_t shift = rng_below (&g->rng, 64), number = rng_next (&g->rng) >> shift;
    return number == 0 ? 1 : number <= max ? number : 1 + number % max;
}

/* Full values keep to the numbers that every version had, again for golden bytes; the others have a word. */
static inline uint32_t generate_choice (struct generator *g, const struct enum_names *names)
{
    uint32_t max = names->n - 1;
    if (g->mode == GENERATE_EDGE)
        return max;
    uint32_t choice = 1 + (uint32_t) rng_below (&g->rng, g->mode == GENERATE_FULL && max > 2 ? 2 : max);
    return g->mode == GENERATE_SPARSE && !names->of[choice][0] ? max : choice;
}

static inline double generate_real (struct generator *g)
{
    static const double special[] = { NAN, INFINITY, -INFINITY, 1e308, -5e-324, 1.0, -1.0, 0.1 };
    if (rng_below (&g->rng, 3) == 0)
        return special[rng_below (&g->rng, sizeof special / sizeof special[0])];
    return (rng_unit (&g->rng) - 0.5) * 1e6 + 1e7;
}

static inline void generate_record (struct generator *g, const struct record *record, void *value);
static inline void generate_field (struct generator *g, const struct field *field, void *at);

static inline void generate_list (struct generator *g, const struct field *field, struct any_list *list)
{
    uint64_t most = field->max < GENERATE_LIST_MAX ? field->max : GENERATE_LIST_MAX;
    size_t item_bytes = field_item_bytes (field);
    struct field item = field_describe_item (field);

    uint64_t few = most < 3 ? most : 3;
    list->n = (uint32_t) (g->mode == GENERATE_EDGE ? few : 1 + rng_below (&g->rng, few));
    if (field->item != FIELD_RECORD && g->mode == GENERATE_EDGE)
        list->n = (uint32_t) most;
    list->items = arena_array (g->arena, list->n, item_bytes);
    uint64_t seed = rng_next (&g->rng);
    for (uint32_t i = 0; i < list->n; i++) {
        g->rng = rng_seed (rng_derive_seed (seed, i));
        generate_field (g, &item, (char *) list->items + i * item_bytes);
    }
}

/* A number whose bound grew keeps its first bound, below which the golden bytes were drawn. */
static inline uint64_t generate_u32_bound (const struct field *field)
{
    uint64_t first = strcmp (field->name, "from_config") == 0 ? 127 : UINT32_MAX;
    return field->max < first ? field->max : first;
}

static inline void generate_field (struct generator *g, const struct field *field, void *at)
{
    switch (field->kind) {
    case FIELD_BOOL: *(bool *) at = true; break;
    case FIELD_U32: *(uint32_t *) at = (uint32_t) generate_number (g, generate_u32_bound (field)); break;
    case FIELD_ENUM: *(uint32_t *) at = generate_choice (g, field->names); break;
    case FIELD_U64: *(uint64_t *) at = generate_number (g, field->max); break;
    case FIELD_F64: *(double *) at = generate_real (g); break;
    case FIELD_TEXT:
    case FIELD_BYTES: *(struct text *) at = generate_text (g, field->max, field->kind == FIELD_BYTES); break;
    case FIELD_RECORD: generate_record (g, field->of, at); break;
    case FIELD_REF: generate_record (g, field->of, *(void **) at = arena_alloc (g->arena, field->of->bytes)); break;
    case FIELD_LIST: generate_list (g, field, at); break;
    }
}

/* FNV-1a, 64 bits. A field that was renamed keeps the values of its first name, which the golden bytes hold. */
static inline uint64_t generate_purpose (const char *name)
{
    name = strcmp (name, "owner") == 0 ? "layer" : name;
    uint64_t hash = 0xcbf29ce484222325ull;
    for (; *name; name++)
        hash = (hash ^ (uint8_t) *name) * 0x100000001b3ull;
    return hash;
}

static inline void generate_record (struct generator *g, const struct record *record, void *value)
{
    uint64_t seed = rng_next (&g->rng);
    for (uint32_t i = 0; i < record->fields_n; i++) {
        const struct field *field = &record->fields[i];
        g->rng = rng_seed (rng_derive_seed (seed, generate_purpose (field->name)));
        if (g->mode == GENERATE_SPARSE && rng_below (&g->rng, 2) == 0)
            continue;
        generate_field (g, field, (char *) value + field->offset);
    }
}

static inline struct generator generator_of (enum generate_mode mode, uint64_t seed, struct arena *arena)
{
    return (struct generator){ .mode = mode, .rng = rng_seed (seed), .arena = arena };
}

static inline void generate_msg (struct generator *g, enum msg_kind kind, struct msg *msg)
{
    memset (msg, 0, sizeof *msg);
    msg->kind = kind;
    msg->major = PROTOCOL_MAJOR;
    msg->minor = PROTOCOL_MINOR;
    msg->run_id = (struct text){ .ptr = arena_alloc (g->arena, RUN_ID_BYTES), .len = RUN_ID_BYTES };
    for (uint32_t i = 0; i < RUN_ID_BYTES; i++)
        ((char *) msg->run_id.ptr)[i] = (char) rng_below (&g->rng, 256);
    msg->epoch = generate_number (g, UINT64_MAX);
    msg->session = generate_number (g, UINT64_MAX);
    msg->seq = generate_number (g, UINT64_MAX);
    msg->ack = generate_number (g, UINT64_MAX);
    if (msg_record_of_kind (kind))
        generate_record (g, msg_record_of_kind (kind), &msg->of);
}

static inline void generate_fact (struct generator *g, enum fact_kind kind, struct fact *fact)
{
    memset (fact, 0, sizeof *fact);
    fact->kind = kind;
    fact->index = fact_is_soft (kind) ? 0 : generate_number (g, UINT64_MAX);
    fact->at_ms = generate_number (g, UINT64_MAX);
    fact->wall_ms = generate_number (g, UINT64_MAX);
    generate_record (g, fact_record_of_kind (kind), &fact->of);
}

/* Every kind there is, in order; 0 ends the list. `last` is a bound on the enums' values. */
enum { KINDS_LAST = 128 };

static inline enum msg_kind next_msg_kind (uint32_t after)
{
    for (uint32_t kind = after + 1; kind < KINDS_LAST; kind++)
        if (msg_is_known ((enum msg_kind) kind))
            return (enum msg_kind) kind;
    return MSG_NONE;
}

static inline enum fact_kind next_fact_kind (uint32_t after)
{
    for (uint32_t kind = after + 1; kind < KINDS_LAST; kind++)
        if (fact_record_of_kind ((enum fact_kind) kind))
            return (enum fact_kind) kind;
    return FACT_NONE;
}

#endif
