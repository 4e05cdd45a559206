/* frontend.h - the table of frontends: who traces the program, and by which variables its cache and behaviour are set.
 * A new frontend is a row here, never an `if` elsewhere. Sources: facts named in frontend.c beside each constant. It
 * starts and reads nothing: what is installed, said or counted is given to it. Rows are constants; any thread. */
#ifndef SLICEUP_COMMON_FRONTEND_FRONTEND_H
#define SLICEUP_COMMON_FRONTEND_FRONTEND_H

#include "common/model/msg.h"

struct frontend;
const struct frontend *frontend_find (struct text name); /* NULL: unknown */
const char *frontend_name (const struct frontend *frontend);
uint32_t frontend_names (const char *out[], uint32_t max); /* how many there are */
/* Appends the variables that put a program under `role` on the cache directory `dir`. */
void frontend_cache_env (const struct frontend *frontend, enum cache_role role, struct text dir, struct arena *arena,
                         var_list *env);
/* Appends what this frontend needs whatever the profile says (e.g. that SIGTERM still ends the program). */
void frontend_base_env (const struct frontend *frontend, struct arena *arena, var_list *env);
/* One host of a larger slice. */
struct frontend_alone {
    struct text bounds, topology, type; /* "2,2,1", "2x2", "v6e-4" */
    uint32_t chips;
};
/* Adds to `env` the variables by which the runtime of such a host takes itself for a whole slice: those that `env`
 * neither sets nor unsets already. */
void frontend_alone_env (const struct frontend *frontend, const struct frontend_alone *alone, struct arena *arena,
                         struct scope_env *env);
/* Names of the counters that prove a restored run: requests, hits. */
const char *frontend_requests_counter (const struct frontend *frontend);
const char *frontend_hits_counter (const struct frontend *frontend);
/* Counters of the runtime's own which, when one is there and over 0, say that something was compiled or could not be
 * loaded, whatever requests and hits say. Returns how many there are. */
uint32_t frontend_recompile_counters (const struct frontend *frontend, const char *out[], uint32_t max);
/* NULL: nothing is known against a shared cache with this bundle (names in any spelling). Else one sentence, without
 * its full stop: which release, what happens, what to do. A fault of the bundle, not of the cache. */
const char *frontend_cache_defect (const struct frontend *frontend, struct text backend, const var_list *bundle,
                                   struct arena *arena);
/* Not NULL: this variable is set by the two functions above, and nobody else may set it: "uses the slice's cache". */
const char *frontend_why_owned (const struct frontend *frontend, struct text name);
/* Can a program be restored from a compile cache at all? */
bool frontend_has_cache (const struct frontend *frontend);
/* Does the runtime itself write only on process 0 of a group? Then a gang's writer has to be rank 0. */
bool frontend_writer_is_rank_0 (const struct frontend *frontend);

#endif
