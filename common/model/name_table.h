/* name_table.h - private to host sets: names in the order in which they came, found in constant time.
 *
 * Borrows the names. A table that is {0} is empty. */
#ifndef SLICEUP_COMMON_MODEL_NAME_TABLE_H
#define SLICEUP_COMMON_MODEL_NAME_TABLE_H

#include "common/base/text.h"

struct name_table_entry {
    struct text name;
    uint32_t slot;
}; /* a name that was taken out: ptr NULL */
struct name_table {
    struct name_table_entry *entries;
    uint32_t n, capacity; /* with those taken out */
    uint32_t living;
    uint32_t *slots; /* index of an entry + 1; 0: free; twice the capacity, a power of two */
};

void name_table_release (struct name_table *table);
void name_table_clear (struct name_table *table); /* costs what is in it, not what it could hold */
bool name_table_has (const struct name_table *table, struct text name);
bool name_table_add (struct name_table *table, struct text name);    /* false: it is there already */
bool name_table_remove (struct name_table *table, struct text name); /* false: it is not there */
/* The next living name from *at on, and *at behind it; false at the end. Start with 0. */
bool name_table_next (const struct name_table *table, uint32_t *at, struct text *name);

#endif
