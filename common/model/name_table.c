#include "common/model/name_table.h"

#include <assert.h>

enum { CAPACITY_MIN = 16 };

void name_table_release (struct name_table *table)
{
    mem_free (table->entries);
    mem_free (table->slots);
    *table = (struct name_table){ 0 };
}

void name_table_clear (struct name_table *table)
{
    for (uint32_t i = 0; i < table->n; i++)
        table->slots[table->entries[i].slot] = 0;
    table->n = table->living = 0;
}

/* FNV-1a, then the finalizer of splitmix64: FNV leaves the low bits of names that end alike too much alike. */
static uint64_t hash_of (struct text name)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (uint32_t i = 0; i < name.len; i++)
        hash = (hash ^ (unsigned char) name.ptr[i]) * 0x100000001b3U;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebU;
    return hash ^ (hash >> 31);
}

/* The slot of `name`, or the free one where it belongs. */
static uint32_t slot_of (const struct name_table *table, struct text name)
{
    uint32_t mask = 2 * table->capacity - 1, slot = (uint32_t) hash_of (name) & mask;
    for (; table->slots[slot]; slot = (slot + 1) & mask) {
        struct text there = table->entries[table->slots[slot] - 1].name;
        if (there.ptr && text_equal (there, name))
            break;
    }
    return slot;
}

static void append (struct name_table *table, struct text name, uint32_t slot)
{
    table->entries[table->n] = (struct name_table_entry){ name, slot };
    table->slots[slot] = ++table->n;
    table->living++;
}

/* Leaves those taken out behind. */
static void rebuild (struct name_table *table)
{
    uint32_t capacity = CAPACITY_MIN;
    while (capacity < 2 * table->living)
        capacity *= 2;
    struct name_table built = { .capacity = capacity,
                                .entries = mem_array (capacity, sizeof *built.entries),
                                .slots = mem_array (2 * (size_t) capacity, sizeof *built.slots) };
    struct text name;
    for (uint32_t at = 0; name_table_next (table, &at, &name);)
        append (&built, name, slot_of (&built, name));
    name_table_release (table);
    *table = built;
}

bool name_table_has (const struct name_table *table, struct text name)
{
    return table->capacity && table->slots[slot_of (table, name)];
}

bool name_table_add (struct name_table *table, struct text name)
{
    assert (name.ptr);
    if (table->n == table->capacity)
        rebuild (table);
    uint32_t slot = slot_of (table, name);
    if (table->slots[slot])
        return false;
    append (table, name, slot);
    return true;
}

/* The entry stays as a mark, so that what was put behind it is still found. */
bool name_table_remove (struct name_table *table, struct text name)
{
    uint32_t slot = table->capacity ? slot_of (table, name) : 0;
    if (!table->capacity || !table->slots[slot])
        return false;
    table->entries[table->slots[slot] - 1].name = (struct text){ 0 };
    table->living--;
    return true;
}

bool name_table_next (const struct name_table *table, uint32_t *at, struct text *name)
{
    while (*at < table->n) {
        *name = table->entries[(*at)++].name;
        if (name->ptr)
            return true;
    }
    return false;
}
