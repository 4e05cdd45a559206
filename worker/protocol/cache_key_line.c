#include "worker/protocol/cache_key_line.h"

#include <string.h>

/* A digest is short on purpose: it tells values apart and is not one. */
enum { PART_MAX_BYTES = ID_MAX_BYTES };
/* MessagePack heads of the item, its state, its list of parts and its time, as in json_record.c. */
enum { HEADS_COST_BYTES = 8 + 10 + 10 + 10 };
/* One of an ordinary program (jit_<name>-<64 digits>) without its parts. */
enum { BARE_KEY_BYTES = 180 };

/* Rising. A program that was compiled and then found was compiled; what became of its entry tells more; and a damaged
 * entry outlives every retry. */
static const uint8_t rank_of[] = {
    [KEY_NONE] = 0,    [KEY_HIT] = 1,       [KEY_MISSED] = 2,     [KEY_BELOW_THRESHOLD] = 3,
    [KEY_WRITTEN] = 4, [KEY_UNWRITTEN] = 5, [KEY_UNREADABLE] = 6,
};

static bool outranks (enum key_state state, enum key_state known)
{
    return rank_of[state] > rank_of[known];
}

static int check_word (const json_t *value, const char *name, uint32_t min_bytes, uint32_t max_bytes, struct text *out,
                       struct err *err)
{
    *out = (struct text){ json_string_value (value), (uint32_t) json_string_length (value) };
    if (!json_is_string (value) || out->len < min_bytes || out->len > max_bytes || memchr (out->ptr, 0, out->len))
        return err_set (err, ERR_PARSE, "%s: expected a string of %u to %u bytes", name, min_bytes, max_bytes);
    return 0;
}

static int check_state (const json_t *value, enum key_state *out, struct err *err)
{
    uint32_t found = KEY_NONE;
    struct text word;
    if (check_word (value, "state", 1, WORD_MAX_BYTES, &word, err) < 0)
        return -1;
    if (!text_is (word, key_state_names.of[KEY_NONE]) && !enum_value_of (&key_state_names, word, &found))
        return err_set (err, ERR_PARSE, "state: this word is not in the protocol");
    *out = (enum key_state) found;
    return 0;
}

static int check_parts (const json_t *parts, struct err *err)
{
    const char *name;
    json_t *digest;
    struct text text;
    if (!parts)
        return 0;
    if (!json_is_object (parts) || json_object_size (parts) > KEY_PARTS_MAX)
        return err_set (err, ERR_PARSE, "parts: expected an object of at most %d members", KEY_PARTS_MAX);
    json_object_foreach ((json_t *) parts, name, digest) {
        if (!name[0] || strlen (name) > PART_MAX_BYTES)
            return err_set (err, ERR_PARSE, "parts: expected names of 1 to %d bytes", PART_MAX_BYTES);
        if (check_word (digest, "parts", 0, PART_MAX_BYTES, &text, err) < 0)
            return -1;
    }
    return 0;
}

/* Program, key and state, borrowed from `line`; refuses what breaks a rule, also in what it does not read. */
static int check (const json_t *line, struct cache_key *out, struct err *err)
{
    const json_t *why = json_object_get (line, "why"), *ms = json_object_get (line, "compile_ms");
    *out = (struct cache_key){ 0 };
    if (check_word (json_object_get (line, "program"), "program", 1, NAME_MAX_BYTES, &out->program, err) < 0)
        return -1;
    if (check_word (json_object_get (line, "key"), "key", 1, NAME_MAX_BYTES, &out->key, err) < 0)
        return -1;
    if (check_state (json_object_get (line, "state"), &out->state, err) < 0)
        return -1;
    if (ms && (!json_is_integer (ms) || json_integer_value (ms) < 0))
        return err_set (err, ERR_PARSE, "compile_ms: expected a whole number of at least 0");
    out->compile_ms = ms ? (uint64_t) json_integer_value (ms) : 0;
    if (why && !json_is_string (why))
        return err_set (err, ERR_PARSE, "why: expected a string");
    return check_parts (json_object_get (line, "parts"), err);
}

static int read_text (const json_t *line, const char *name, struct text *out, struct json_budget *budget)
{
    const json_t *value = json_object_get (line, name);
    *out = (struct text){ 0 };
    return value ? json_read_text (value, name, NAME_MAX_BYTES, false, out, budget, NULL) : 0;
}

static int read_parts (const json_t *line, struct json_budget *budget, var_list *out)
{
    json_t *parts = json_object_get (line, "parts"), *digest;
    const char *name;
    int rc = 0;
    *out = (var_list){ 0 };
    if (json_object_size (parts) > 0)
        out->items = arena_array (budget->arena, json_object_size (parts), sizeof (struct var));
    json_object_foreach (parts, name, digest) {
        json_t *pair = json_pack ("{s:s, s:O}", "name", name, "value", digest);
        rc = json_read_record (pair, &var_record, &out->items[out->n++], budget, NULL);
        json_decref (pair);
        if (rc < 0)
            break;
    }
    return rc;
}

/* All of a checked line, without parts that would leave less than `reserve_bytes`. -1: the budget is too low. */
static int read_key (const json_t *line, size_t reserve_bytes, struct json_budget *budget, struct cache_key *out)
{
    if (budget->left_bytes < HEADS_COST_BYTES)
        return -1;
    budget->left_bytes -= HEADS_COST_BYTES;
    if (read_text (line, "program", &out->program, budget) < 0 || read_text (line, "key", &out->key, budget) < 0 ||
        read_text (line, "why", &out->why, budget) < 0)
        return -1;
    size_t kept_bytes = budget->left_bytes < reserve_bytes ? budget->left_bytes : reserve_bytes;
    struct json_budget rest = { budget->arena, budget->left_bytes - kept_bytes };
    if (read_parts (line, &rest, &out->parts) == 0)
        budget->left_bytes = rest.left_bytes + kept_bytes;
    else
        out->parts = (var_list){ 0 };
    return 0;
}

static struct cache_key *find (const struct result *result, const struct cache_key *key)
{
    for (uint32_t i = 0; i < result->keys.n; i++) {
        struct cache_key *known = &result->keys.items[i];
        if (text_equal (known->program, key->program) && text_equal (known->key, key->key))
            return known;
    }
    return NULL;
}

static struct cache_key *room_for_one (struct result *result, struct arena *arena)
{
    if (!result->keys.items)
        result->keys.items = arena_array (arena, RESULT_KEYS_MAX, sizeof (struct cache_key));
    return &result->keys.items[result->keys.n++];
}

int cache_key_line_store (const json_t *line, struct result *out, struct json_budget *budget, bool *left_out,
                          struct err *err)
{
    struct cache_key key;
    *left_out = false;
    if (check (line, &key, err) < 0)
        return -1;
    struct cache_key *known = find (out, &key);
    if (known && key.compile_ms)
        known->compile_ms = key.compile_ms;
    if (known && !outranks (key.state, known->state))
        return 0;
    size_t others_bytes = (size_t) (RESULT_KEYS_MAX - out->keys.n) * BARE_KEY_BYTES;
    *left_out = (!known && out->keys.n == RESULT_KEYS_MAX) || read_key (line, others_bytes, budget, &key) < 0;
    if (*left_out)
        return 0;
    if (known && key.parts.n == 0)
        key.parts = known->parts;
    key.compile_ms = known && !key.compile_ms ? known->compile_ms : key.compile_ms;
    *(known ? known : room_for_one (out, budget->arena)) = key;
    return 0;
}
