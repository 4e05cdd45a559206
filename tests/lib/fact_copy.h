/* fact_copy.h - a deep copy of a fact into an arena, for tests that keep what they are handed. */
#ifndef SLICEUP_TESTS_FACT_COPY_H
#define SLICEUP_TESTS_FACT_COPY_H

#include "common/model/fact.h"

static inline void fact_copy (struct fact *to, const struct fact *from, struct arena *arena)
{
    struct fact copy = { .kind = from->kind, .index = from->index, .at_ms = from->at_ms, .wall_ms = from->wall_ms };
    const struct record *body = fact_record_of_kind (from->kind);

    if (body)
        record_copy (body, &copy.of, &from->of, arena);
    *to = copy;
}

#endif
