/* launch_variables.h - the variables of a profile for one program: those of its scope, with their placeholders filled
 * for its host. Pure.
 *
 * A value may hold {rank}, {world}, {host}, {address}, {addresses}, {slice} and {slices}; docs/spec/configuration.md
 * says what each stands for. {{word}} is the text {word}. Other text in braces stays as it is, unless it looks like a
 * placeholder. */
#ifndef SLICEUP_COMMON_MODEL_LAUNCH_VARIABLES_H
#define SLICEUP_COMMON_MODEL_LAUNCH_VARIABLES_H

#include "common/model/plan.h"

/* Where a program runs. Borrows the plan. */
struct launch_place {
    uint32_t rank, world; /* of its host among those that form a group: the slice, or a part of it */
    struct text host, address;
    const struct plan *plan;
    const uint32_t *ranks; /* in the plan, of the group; NULL: of all hosts */
};

/* The place of the host that is `at` among the `n` of `ranks`; NULL: among all hosts. */
struct launch_place launch_place_of (const struct plan *plan, const uint32_t *ranks, uint32_t n, uint32_t at);
/* Does a value name the addresses of all? Only then a place needs its `ranks`. */
bool launch_uses_addresses (const struct profile *profile);
/* The variables of which hosts of one run get different values by the profile's own will. */
text_list launch_differing_by_host (const struct profile *profile, struct arena *arena);
/* In braces, of small letters, and none of the above: a slip of the pen. False: there is none. */
bool launch_find_unknown_placeholder (struct text value, struct text *name);
/* Only what a scope has of its own. */
var_list launch_variables_of_scope (const struct profile *profile, enum scope scope, const struct launch_place *place,
                                    struct arena *arena);
/* `env` for every scope, then the scope's own, without what the scope unsets; sorted by name. Lives in the arena. */
var_list launch_variables_of (const struct profile *profile, enum scope scope, const struct launch_place *place,
                              struct arena *arena);
/* What the local worker of a rehearsal gets. */
var_list launch_variables_of_rehearsal (const struct plan *plan, uint32_t rank, struct arena *arena);
/* What such a program takes over from its worker: no variable that the profile sets or unsets for it. */
text_list launch_inherited_by (const struct profile *profile, enum scope scope, struct arena *arena);

#endif
