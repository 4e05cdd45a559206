#include "coordinator/receipt/drift_private.h"

#include <string.h>

const char *const drift_section_words[SECTION_N] = { "fact",  "bundle",   "policy", "backend",
                                                     "setup", "launched", "program" };

/* Bitmaps of who does not say a fact: past this many nobody could read them any more. */
enum { MISSING_MAX = 4096, FIRST_SLOTS = 256 };

/* ---- hashing ---- */

/* The odd constants are those of splitmix64 (Steele, Lea, Flood 2014). */
uint64_t drift_hash_number (uint64_t number)
{
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9ull;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebull;
    return number ^ (number >> 31);
}

uint64_t drift_hash (struct text text, uint64_t seed)
{
    uint64_t hash = seed ^ (text.len * 0x9e3779b97f4a7c15ull), piece;
    uint32_t at = 0;
    for (; at + 8 <= text.len; at += 8) {
        memcpy (&piece, text.ptr + at, 8);
        hash = (hash ^ piece) * 0xbf58476d1ce4e5b9ull;
        hash ^= hash >> 32;
    }
    if (at < text.len) {
        piece = 0;
        memcpy (&piece, text.ptr + at, text.len - at);
        hash = (hash ^ piece) * 0xbf58476d1ce4e5b9ull;
    }
    return drift_hash_number (hash);
}

/* ---- growing ---- */

static void *grown (struct arena *arena, const void *old, uint32_t n, uint32_t *capacity, size_t item_bytes)
{
    *capacity = *capacity ? 2 * *capacity : 64;
    void *items = arena_array (arena, *capacity, item_bytes);
    if (n)
        memcpy (items, old, n * item_bytes);
    return items;
}

static void slots_put (struct drift_indices *slots, uint64_t hash, uint32_t index)
{
    uint32_t mask = slots->capacity - 1, at = (uint32_t) hash & mask;
    while (slots->items[at])
        at = (at + 1) & mask;
    slots->items[at] = index + 1;
}

/* At most half full. */
static bool slots_need_room (struct drift_indices *slots, struct arena *arena)
{
    if (2 * (slots->n + 1) <= slots->capacity)
        return false;
    slots->capacity = slots->capacity ? 4 * slots->capacity : FIRST_SLOTS;
    slots->items = arena_array (arena, slots->capacity, sizeof (uint32_t));
    return true;
}

/* ---- facts ---- */

static uint32_t add_fact (struct drift_table *table, enum drift_section section, struct text name, uint64_t hash)
{
    if (table->facts_n == table->facts_capacity)
        table->facts = grown (table->arena, table->facts, table->facts_n, &table->facts_capacity,
                              sizeof (*table->facts));
    if (slots_need_room (&table->fact_slots, table->arena))
        for (uint32_t i = 0; i < table->facts_n; i++)
            slots_put (&table->fact_slots, table->facts[i].hash, i);
    table->facts[table->facts_n] = (struct drift_fact){ .section = section,
                                                        .name = name,
                                                        .hash = hash,
                                                        .first = DRIFT_NONE_AT,
                                                        .last = DRIFT_NONE_AT,
                                                        .recent = DRIFT_NONE_AT,
                                                        .missing = DRIFT_NONE_AT };
    slots_put (&table->fact_slots, hash, table->facts_n);
    table->fact_slots.n++;
    return table->facts_n++;
}

static uint32_t find_fact (const struct drift_table *table, enum drift_section section, struct text name, uint64_t hash)
{
    uint32_t mask = table->fact_slots.capacity - 1;
    for (uint32_t at = (uint32_t) hash & mask; table->fact_slots.n && table->fact_slots.items[at];
         at = (at + 1) & mask) {
        const struct drift_fact *fact = &table->facts[table->fact_slots.items[at] - 1];
        if (fact->hash == hash && fact->section == section && text_equal (fact->name, name))
            return table->fact_slots.items[at] - 1;
    }
    return DRIFT_NONE_AT;
}

/* The fact at the place where the host before had it; else found by its name, and remembered for the next host. */
static inline uint32_t fact_at (struct drift_table *table, enum drift_section section, uint32_t place, struct text name,
                                bool make)
{
    struct drift_indices *guess = &table->guess[section];
    if (place < guess->n && text_equal (table->facts[guess->items[place]].name, name))
        return guess->items[place];
    uint64_t hash = drift_hash (name, section);
    uint32_t fact = find_fact (table, section, name, hash);
    if (fact == DRIFT_NONE_AT && make)
        fact = add_fact (table, section, name, hash);
    if (fact == DRIFT_NONE_AT || place > guess->n)
        return fact;
    if (place == guess->n) {
        if (guess->n == guess->capacity)
            guess->items = grown (table->arena, guess->items, guess->n, &guess->capacity, sizeof (uint32_t));
        guess->n++;
    }
    guess->items[place] = fact;
    return fact;
}

/* ---- values ---- */

static uint32_t add_value (struct drift_table *table, uint32_t fact, struct text text, uint64_t hash, uint32_t host)
{
    if (table->values_n == table->values_capacity)
        table->values = grown (table->arena, table->values, table->values_n, &table->values_capacity,
                               sizeof (*table->values));
    if (slots_need_room (&table->value_slots, table->arena))
        for (uint32_t i = 0; i < table->values_n; i++)
            slots_put (&table->value_slots, table->values[i].hash, i);
    uint32_t index = table->values_n++;
    table->values[index] = (struct drift_value){ text, hash, fact, DRIFT_NONE_AT, 0, host, index, 0 };
    slots_put (&table->value_slots, hash, index);
    table->value_slots.n++;
    struct drift_fact *of = &table->facts[fact];
    if (of->last == DRIFT_NONE_AT)
        of->first = index;
    else
        table->values[of->last].next = index;
    of->last = index;
    of->values_n++;
    return index;
}

static uint32_t value_of (struct drift_table *table, uint32_t fact, struct text text, uint32_t host)
{
    uint64_t hash = drift_hash (text, (uint64_t) fact + SECTION_N);
    uint32_t mask = table->value_slots.capacity - 1;
    for (uint32_t at = (uint32_t) hash & mask; table->value_slots.n && table->value_slots.items[at];
         at = (at + 1) & mask) {
        const struct drift_value *value = &table->values[table->value_slots.items[at] - 1];
        if (value->hash == hash && value->fact == fact && text_equal (value->text, text))
            return table->value_slots.items[at] - 1;
    }
    return add_value (table, fact, text, hash, host);
}

static void keep_sighting (struct drift_table *table, uint32_t value, uint32_t host)
{
    if (table->seen_n == table->seen_capacity)
        table->seen = grown (table->arena, table->seen, table->seen_n, &table->seen_capacity, sizeof (*table->seen));
    table->seen[table->seen_n++] = (struct drift_value_of_host){ value, host };
}

/* ---- the passes ---- */

void drift_table_init (struct drift_table *table, uint32_t hosts, struct arena *arena)
{
    *table = (struct drift_table){ .arena = arena, .hosts_n = hosts };
    for (int i = 0; i < SECTION_N; i++)
        table->tells[i] = arena_array (arena, hosts, sizeof (bool));
}

void drift_table_note_reported (struct drift_table *table, enum drift_section section, uint32_t host)
{
    table->reporting_n[section] += !table->tells[section][host];
    table->tells[section][host] = true;
}

void drift_table_add (struct drift_table *table, enum drift_section section, uint32_t host, const struct var *vars,
                      uint32_t n)
{
    if (n)
        drift_table_note_reported (table, section, host);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t fact = fact_at (table, section, i, vars[i].name, true);
        struct drift_fact *of = &table->facts[fact];
        uint32_t value = of->recent;
        if (value == DRIFT_NONE_AT || !text_equal (table->values[value].text, vars[i].value))
            value = value_of (table, fact, vars[i].value, host);
        of->recent = value;
        of->hosts_n++;
        table->values[value].hosts_n++;
        if (value != of->first || section == SECTION_PROGRAM)
            keep_sighting (table, value, host);
    }
}

/* A counting sort: by fact, and within it still by host. */
void drift_table_finish (struct drift_table *table)
{
    struct drift_value_of_host *sorted = arena_array (table->arena, table->seen_n, sizeof (*sorted));
    uint32_t at = 0;
    for (uint32_t i = 0; i < table->seen_n; i++)
        table->facts[table->values[table->seen[i].value].fact].seen_n++;
    for (uint32_t i = 0; i < table->facts_n; i++) {
        table->facts[i].seen_first = at;
        at += table->facts[i].seen_n;
        table->facts[i].seen_n = 0;
    }
    for (uint32_t i = 0; i < table->seen_n; i++) {
        struct drift_fact *fact = &table->facts[table->values[table->seen[i].value].fact];
        sorted[fact->seen_first + fact->seen_n++] = table->seen[i];
    }
    table->seen = sorted;
}

bool drift_table_make_bitmaps (struct drift_table *table)
{
    for (uint32_t i = 0; i < table->facts_n; i++) {
        struct drift_fact *fact = &table->facts[i];
        if (fact->section == SECTION_PROGRAM || fact->hosts_n >= table->reporting_n[fact->section])
            continue;
        if (table->missing_n == MISSING_MAX)
            table->missing_left_out++;
        else
            fact->missing = table->missing_n++;
    }
    table->missing = arena_array (table->arena, table->missing_n, (table->hosts_n + 7) / 8);
    return table->missing_n > 0;
}

/* Bits of who says it; drift_table_host_lacks turns that around. */
void drift_table_mark_present (struct drift_table *table, enum drift_section section, uint32_t host,
                               const struct var *vars, uint32_t n)
{
    size_t bitmap_bytes = (table->hosts_n + 7) / 8;
    for (uint32_t i = 0; i < n; i++) {
        const struct drift_fact *fact = &table->facts[fact_at (table, section, i, vars[i].name, false)];
        if (fact->missing != DRIFT_NONE_AT)
            table->missing[fact->missing * bitmap_bytes + host / 8] |= (uint8_t) (1u << host % 8);
    }
}

bool drift_table_host_lacks (const struct drift_table *table, const struct drift_fact *fact, uint32_t host)
{
    if (fact->missing == DRIFT_NONE_AT)
        return false;
    const uint8_t *bitmap = table->missing + (size_t) fact->missing * ((table->hosts_n + 7) / 8);
    return table->tells[fact->section][host] && !(bitmap[host / 8] >> host % 8 & 1);
}

struct text drift_fact_label (enum drift_section section, struct text name, struct arena *arena)
{
    return text_format (arena, "%s %.*s", drift_section_words[section], TEXT_ARG (name));
}
