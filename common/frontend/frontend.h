/* frontend.h - the table of frontends: who traces the program, and by which variables its cache and behaviour are set.
 * A new frontend is a row here, never an `if` elsewhere. frontend.c names the source of each constant. It starts and
 * reads nothing: the caller hands in what is installed, printed or counted. Rows are constants; any thread. */
#ifndef SLICEUP_COMMON_FRONTEND_FRONTEND_H
#define SLICEUP_COMMON_FRONTEND_FRONTEND_H

#include "common/model/msg.h"

struct frontend;
const struct frontend *frontend_find (struct text name); /* NULL: unknown */
const char *frontend_name (const struct frontend *frontend);
uint32_t frontend_names (const char *out[], uint32_t max); /* how many there are */
/* Modules that a preloaded interpreter imports, "jax,numpy"; NULL: its programs are always executed. */
const char *frontend_modules (const struct frontend *frontend);
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
/* Adds the variables that make the runtime of such a host take itself for a whole slice, unless `env` already sets or
 * unsets them. */
void frontend_alone_env (const struct frontend *frontend, const struct frontend_alone *alone, struct arena *arena,
                         struct scope_env *env);
/* Names of the counters that prove a restored run: requests, hits. */
const char *frontend_requests_counter (const struct frontend *frontend);
const char *frontend_hits_counter (const struct frontend *frontend);
/* The runtime's own counters: any above 0 says that a program was compiled or could not be loaded, whatever requests
 * and hits say. Returns how many there are. */
uint32_t frontend_recompile_counters (const struct frontend *frontend, const char *out[], uint32_t max);
/* NULL: no known fault of a shared cache with this bundle (names in any spelling). Else one sentence, without its full
 * stop: which release, what happens, what to do. A fault of the bundle, not of the cache. */
const char *frontend_cache_defect (const struct frontend *frontend, struct text backend, const var_list *bundle,
                                   struct arena *arena);
/* Not NULL: only the functions above may set this variable, for this reason: "uses the slice's cache". */
const char *frontend_why_owned (const struct frontend *frontend, struct text name);
/* Can a program be restored from a compile cache at all? */
bool frontend_has_cache (const struct frontend *frontend);
/* Does the runtime write only in process 0 of a group? Then the writer of a slice-wide program must be rank 0. */
bool frontend_writer_is_rank_0 (const struct frontend *frontend);

/* ---- likely mistakes ---- */

/* Variables that are valid but most likely a mistake: read by nothing any more, debugging left on, flags that frameworks
 * set to the opposite. The one table, for `check` and for hosts. Pure. Sources stand beside the rows. */

/* Why the variable is most likely a mistake, and what to do; NULL: no known problem. `value` NULL: inherited, not known
 * yet. A value that switches something off is fine, and so is debugging in a profile with that word in its name. */
const char *launch_lint_variable (const struct profile *profile, struct text name, const struct text *value,
                                  struct arena *arena);
/* Why and how the profile should give shapes; NULL: it need not. */
const char *launch_lint_shapes (const struct profile *profile);

#endif
