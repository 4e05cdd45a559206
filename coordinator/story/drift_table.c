#include "coordinator/story/drift_private.h"

#include <stdlib.h>

#define XXH_INLINE_ALL /* no library of its own: one function is used */
#include <xxhash.h>

enum { SLOTS_FIRST = 1024 };

const char *const drift_section_words[SECTION_N] = { "fact",  "bundle",   "policy",  "backend",
                                                     "setup", "launched", "package", "program" };

/* The odd constants are those of splitmix64 (Steele, Lea, Flood 2014). */
uint64_t drift_hash_number (uint64_t number)
{
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9ull;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebull;
    return number ^ (number >> 31);
}

uint64_t drift_hash (struct text text, uint64_t seed)
{
    return XXH3_64bits_withSeed (text.ptr, text.len, seed);
}

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

/* Where the value with this hash is, or would be put. */
static uint32_t *slot_of (const struct drift_table *table, uint64_t hash)
{
    uint64_t at = hash;
    while (table->slots[at & (table->slots_n - 1)] &&
           table->values[table->slots[at & (table->slots_n - 1)] - 1].hash != hash)
        at++;
    return &table->slots[at & (table->slots_n - 1)];
}

static void widen (struct drift_table *table)
{
    if (table->values_n * 2 < table->slots_n)
        return;
    mem_free (table->slots);
    table->slots_n = table->slots_n ? 4 * table->slots_n : SLOTS_FIRST;
    table->slots = mem_array (table->slots_n, sizeof (*table->slots));
    for (uint32_t v = 0; v < table->values_n; v++)
        *slot_of (table, table->values[v].hash) = v + 1;
}

/* What a host says twice it says once. */
static void drift_table_say (struct drift_table *table, const struct drift_value *said, uint32_t host)
{
    widen (table);
    uint32_t *slot = slot_of (table, said->hash);
    if (!*slot) {
        table->values = mem_room (table->values, table->values_n, &table->values_capacity, SLOTS_FIRST, sizeof *said);
        table->values[table->values_n] = *said;
        *slot = ++table->values_n;
    }
    struct drift_value *value = &table->values[*slot - 1];
    if (value->hosts_n && value->hosts[value->hosts_n - 1] == host)
        return;
    value->hosts = arena_room (table->arena, value->hosts, value->hosts_n, &value->room, 1, sizeof host);
    value->hosts[value->hosts_n++] = host;
}

void drift_table_add (struct drift_table *table, enum drift_section section, uint32_t host, const struct var *vars,
                      uint32_t n)
{
    if (n)
        drift_table_note_reported (table, section, host);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t fact = drift_hash (vars[i].name, section);
        drift_table_say (table,
                         &(struct drift_value){ .section = section,
                                                .name = vars[i].name,
                                                .text = vars[i].value,
                                                .fact_hash = fact,
                                                .hash = drift_hash (vars[i].value, fact) },
                         host);
    }
}

/* Numbers alone: the names of ten thousand values of one fact are all the same. */
static int by_fact_and_host (const void *a, const void *b)
{
    const struct drift_value *x = a, *y = b;
    int order = order_u64 (x->fact_hash, y->fact_hash);
    order = order ? order : order_u64 (x->hosts[0], y->hosts[0]);
    return order ? order : order_u64 (x->hash, y->hash);
}

static int drift_table_by_name (const void *a, const void *b)
{
    const struct drift_fact *x = a, *y = b;
    return x->section != y->section ? (int) x->section - (int) y->section : text_compare (x->name, y->name);
}

static void add_fact (struct drift_table *table, struct drift_value *values, uint32_t n)
{
    table->facts = arena_room (table->arena, table->facts, table->facts_n, &table->facts_room, 256,
                               sizeof *table->facts);
    struct drift_fact *fact = &table->facts[table->facts_n++];
    *fact = (struct drift_fact){ .section = values->section, .name = values->name, .values = values, .values_n = n };
    for (uint32_t i = 0; i < n; i++)
        fact->hosts_n += values[i].hosts_n;
    if (fact->section != SECTION_PROGRAM && fact->hosts_n < table->reporting_n[fact->section])
        fact->absent_n = table->reporting_n[fact->section] - fact->hosts_n;
}

void drift_table_finish (struct drift_table *table)
{
    uint32_t n = table->values_n;
    if (n == 0)
        return;
    struct drift_value *values = table->values;
    mem_free (table->slots);
    qsort (values, n, sizeof (*values), by_fact_and_host);
    for (uint32_t from = 0, to = 0; from < n; from = to) {
        while (to < n && values[to].fact_hash == values[from].fact_hash)
            to++;
        add_fact (table, values + from, to - from);
    }
    qsort (table->facts, table->facts_n, sizeof (*table->facts), drift_table_by_name);
}

struct text drift_fact_label (enum drift_section section, struct text name, struct arena *arena)
{
    return text_format (arena, "%s %.*s", drift_section_words[section], TEXT_ARG (name));
}
