/* hostset_pattern.h - private to host sets: names alike but for their numbers, "rack#n#", and the boxes they fill.
 *
 * Borrows the names; everything else is in the arena that was given. */
#ifndef SLICEUP_COMMON_MODEL_HOSTSET_PATTERN_H
#define SLICEUP_COMMON_MODEL_HOSTSET_PATTERN_H

#include "common/base/text.h"
#include "common/model/hostset_box.h"
#include <stdbool.h>

struct hostset_member {
    struct text name;
    struct text pattern; /* with "%s" for a number and "%%" for a '%', as in nodeset: it decides the order */
    const struct text *numbers;
    uint32_t numbers_n;
};
/* Sorts by pattern, then by the numbers from left to right; drops repeated names; returns how many are left. */
uint32_t hostset_members_make (const struct text *of, uint32_t n, struct hostset_member *members, struct arena *arena);
bool hostset_members_alike (const struct hostset_member *a, const struct hostset_member *b);
/* Shorter digits first, then bytewise: 1 2 10 01 02. */
int digits_compare (struct text a, struct text b);

/* The members [0, n) of one pattern. Numbers that are the same in all of them take no part in boxes. */
struct hostset_pattern {
    const struct hostset_member *members;
    uint32_t n, dims;
    uint32_t *number_of;        /* per coordinate: which number of the name */
    uint32_t *ids;              /* n rows of `dims`, rising */
    struct text **values;       /* per coordinate and id: its digits */
    struct hostset_boxes boxes; /* dims == 0: none, and one name */
};
void hostset_pattern_from_members (struct hostset_pattern *pattern, const struct hostset_member *members, uint32_t n,
                                   struct arena *arena);
/* The members of a box in the order of its product, appended to `out`; returns how many. */
uint32_t hostset_pattern_box_members (const struct hostset_pattern *pattern, uint32_t box, struct text *out);

#endif
