#include "coordinator/story/drift_private.h"

#include <stdlib.h>

#define XXH_INLINE_ALL /* no library of its own: one function is used */
#include <xxhash.h>

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

void drift_table_add (struct drift_table *table, enum drift_section section, uint32_t host, const struct var *vars,
                      uint32_t n)
{
    if (n)
        drift_table_note_reported (table, section, host);
    for (uint32_t i = 0; i < n; i++) {
        table->statements = mem_room (table->statements, table->statements_n, &table->statements_capacity, 1024,
                                      sizeof (*table->statements));
        table->statements[table->statements_n++] = (struct drift_statement){
            drift_hash (vars[i].value, drift_hash (vars[i].name, section)), &vars[i], host, section
        };
    }
}

/* By hash, digit by digit from the lowest, and within a hash still by host: a million statements take a tenth of what
 * qsort needs for them. */
static void sort_statements (struct drift_statement *statements, uint32_t n)
{
    enum { BITS = 11, DIGITS = 1 << BITS, PASSES = 6 };
    _Static_assert(PASSES % 2 == 0 && PASSES * BITS >= 64, "they end where they began, and no bit is left out");
    struct drift_statement *spare = mem_array (n, sizeof (*spare)), *from = statements, *to = spare;
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        uint32_t at[DIGITS + 1] = { 0 };
        for (uint32_t i = 0; i < n; i++)
            at[1 + (from[i].hash >> pass * BITS) % DIGITS]++;
        for (uint32_t digit = 1; digit < DIGITS; digit++)
            at[digit] += at[digit - 1];
        for (uint32_t i = 0; i < n; i++)
            to[at[(from[i].hash >> pass * BITS) % DIGITS]++] = from[i];
        struct drift_statement *sorted = to;
        to = from;
        from = sorted;
    }
    mem_free (spare);
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

/* What a host says twice it says once. */
static struct drift_value *make_values (struct drift_table *table, uint32_t *n)
{
    const struct drift_statement *sorted = table->statements;
    uint32_t *hosts = arena_array (table->arena, table->statements_n, sizeof (*hosts));
    for (uint32_t i = 0; i < table->statements_n; i++)
        *n += i == 0 || sorted[i].hash != sorted[i - 1].hash;
    struct drift_value *values = arena_array (table->arena, *n, sizeof (*values));
    uint32_t at = 0;
    for (uint32_t i = 0; i < table->statements_n; i++) {
        const struct drift_statement *one = &sorted[i];
        if (i == 0 || one->hash != one[-1].hash)
            values[at++] = (struct drift_value){ .section = one->section,
                                                 .name = one->said->name,
                                                 .text = one->said->value,
                                                 .fact_hash = drift_hash (one->said->name, one->section),
                                                 .hash = one->hash,
                                                 .hosts = hosts };
        else if (one->host == one[-1].host)
            continue;
        *hosts++ = one->host;
        values[at - 1].hosts_n++;
    }
    return values;
}

static void add_fact (struct drift_table *table, struct drift_value *values, uint32_t n)
{
    struct drift_fact *fact = &table->facts[table->facts_n++];
    *fact = (struct drift_fact){ .section = values->section, .name = values->name, .values = values, .values_n = n };
    for (uint32_t i = 0; i < n; i++)
        fact->hosts_n += values[i].hosts_n;
    if (fact->section != SECTION_PROGRAM && fact->hosts_n < table->reporting_n[fact->section])
        fact->absent_n = table->reporting_n[fact->section] - fact->hosts_n;
}

void drift_table_finish (struct drift_table *table)
{
    uint32_t n = 0;
    if (table->statements_n == 0)
        return;
    sort_statements (table->statements, table->statements_n);
    struct drift_value *values = make_values (table, &n);
    qsort (values, n, sizeof (*values), by_fact_and_host);
    table->facts = arena_array (table->arena, n, sizeof (*table->facts));
    for (uint32_t from = 0, to = 0; from < n; from = to) {
        while (to < n && values[to].fact_hash == values[from].fact_hash)
            to++;
        add_fact (table, values + from, to - from);
    }
    qsort (table->facts, table->facts_n, sizeof (*table->facts), drift_table_by_name);
    mem_free (table->statements);
    table->statements = NULL;
}

struct text drift_fact_label (enum drift_section section, struct text name, struct arena *arena)
{
    return text_format (arena, "%s %.*s", drift_section_words[section], TEXT_ARG (name));
}
