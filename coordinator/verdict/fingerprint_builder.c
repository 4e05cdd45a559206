#include "coordinator/verdict/fingerprint_builder.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/verdict/flag_set.h"

struct fingerprint_builder fingerprint_begin (struct arena *arena)
{
    return (struct fingerprint_builder){ digest_begin (), arena };
}

void fingerprint_add (struct fingerprint_builder *builder, const char *name, struct text value)
{
    digest_add (builder->state, name, strlen (name) + 1);
    digest_add (builder->state, value.ptr, value.len);
    digest_add (builder->state, "\n", 1);
}

static int by_name (const void *a, const void *b)
{
    return text_compare (((const struct var *) a)->name, ((const struct var *) b)->name);
}

void fingerprint_add_vars (struct fingerprint_builder *builder, const struct var *items, uint32_t n)
{
    struct var *sorted = arena_copy (builder->arena, items, n * sizeof (*items));
    if (n)
        qsort (sorted, n, sizeof (*sorted), by_name);
    for (uint32_t i = 0; i < n; i++) {
        fingerprint_add (builder, "name", sorted[i].name);
        fingerprint_add (builder, "value", flag_set_normalise (sorted[i].value, builder->arena));
    }
}

struct text fingerprint_end (struct fingerprint_builder *builder)
{
    struct digest digest = digest_end (builder->state);
    char hex[DIGEST_HEX_BYTES];
    builder->state = NULL;
    return text_format (builder->arena, "%.16s", digest_hex (&digest, hex));
}
