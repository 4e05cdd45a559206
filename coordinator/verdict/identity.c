#include "coordinator/verdict/identity.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/verdict/flag_set.h"

struct identity identity_begin (struct arena *arena)
{
    return (struct identity){ digest_begin (), arena };
}

void identity_add (struct identity *identity, const char *name, struct text value)
{
    digest_add (identity->state, name, strlen (name) + 1);
    digest_add (identity->state, value.ptr, value.len);
    digest_add (identity->state, "\n", 1);
}

static int by_name (const void *a, const void *b)
{
    return text_compare (((const struct var *) a)->name, ((const struct var *) b)->name);
}

void identity_add_vars (struct identity *identity, const struct var *items, uint32_t n)
{
    struct var *sorted = arena_copy (identity->arena, items, n * sizeof (*items));
    if (n)
        qsort (sorted, n, sizeof (*sorted), by_name);
    for (uint32_t i = 0; i < n; i++) {
        identity_add (identity, "name", sorted[i].name);
        identity_add (identity, "value", flag_set (sorted[i].value, identity->arena));
    }
}

struct text identity_end (struct identity *identity)
{
    struct digest digest = digest_end (identity->state);
    char hex[DIGEST_HEX_BYTES];
    identity->state = NULL;
    return text_format (identity->arena, "%.16s", digest_hex (&digest, hex));
}
