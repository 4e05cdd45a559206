/* launch_variables.h - the variables of a profile for one program: those of its scope, with placeholders filled for its
 * host. Pure.
 *
 * A value may hold {rank}, {world}, {host}, {address}, {addresses}, {address0}, {port}, {rendezvous}, {slice} and
 * {slices}; docs/spec/configuration.md says what each stands for. {{word}} is the text {word}. Other text in braces stays as it is, unless it looks like a
 * placeholder. */
#ifndef SLICEUP_COMMON_MODEL_LAUNCH_VARIABLES_H
#define SLICEUP_COMMON_MODEL_LAUNCH_VARIABLES_H

#include "common/model/plan.h"

/* Where a program runs. Borrows the plan. */
struct launch_place {
    uint32_t rank, world; /* of its host in its group: the slice, or a part of it */
    struct text host, address;
    const struct plan *plan;
    uint32_t port;         /* of {port} */
    const uint32_t *ranks; /* the group's ranks in the plan; NULL: all hosts */
};

/* The place of the host at index `at` of the `n` `ranks`; NULL: all hosts. */
struct launch_place launch_place_of (const struct plan *plan, const uint32_t *ranks, uint32_t n, uint32_t at);
bool launch_uses_port (const struct profile *profile);
/* {port} of an attempt, 0 as 1; `rank` of a program that is alone on its host, else 0. 0: the profile uses none. */
uint32_t launch_port_of (const struct profile *profile, uint32_t attempt, uint32_t rank);
/* Variables whose values the profile makes different on each host. */
text_list launch_differing_by_host (const struct plan *plan, struct arena *arena);
/* Finds an unknown word of small letters in braces, probably a misspelt placeholder. False: none. */
bool launch_find_unknown_placeholder (struct text value, struct text *name);
/* One variable of programs of scope slice; empty: the profile does not set it. */
struct text launch_variable_of (const struct profile *profile, struct text name, const struct launch_place *place,
                                struct arena *arena);
/* Only the scope's own variables. */
var_list launch_variables_of_scope (const struct profile *profile, enum scope scope, const struct launch_place *place,
                                    struct arena *arena);
/* `env` for every scope, then the scope's own, without what the scope unsets; sorted by name. Lives in the arena. */
var_list launch_variables_of (const struct profile *profile, enum scope scope, const struct launch_place *place,
                              struct arena *arena);
/* The variables of a rehearsal's local worker. */
var_list launch_variables_of_rehearsal (const struct plan *plan, uint32_t rank, struct arena *arena);
/* The variables that such a program inherits from its worker: none that the profile sets or unsets. */
text_list launch_inherited_by (const struct profile *profile, enum scope scope, struct arena *arena);

#endif
