/* frontend.h - the table of frontends: who traces the program, and by which variables its cache and behaviour are set.
 * A new frontend is a row here, never an `if` elsewhere. Sources: facts named in frontend.c beside each constant. */
#ifndef SLICEUP_FRONTEND_FRONTEND_H
#define SLICEUP_FRONTEND_FRONTEND_H

#include "common/model/msg.h"

struct frontend;
const struct frontend *frontend_find (struct text name);    /* NULL: unknown */
const char *frontend_name (const struct frontend *frontend);
uint32_t frontend_names (const char *out[], uint32_t max);   /* how many there are */
/* Appends the variables that put a program under `role` on the cache directory `dir`. */
void frontend_cache_env (const struct frontend *frontend, enum cache_role role, struct text dir, struct arena *arena,
                         var_list *env);
/* Appends what this frontend needs whatever the profile says (e.g. that SIGTERM still ends the program). */
void frontend_base_env (const struct frontend *frontend, struct arena *arena, var_list *env);
/* Names of the counters that prove a restored run: requests, hits; and which packages make its bundle. */
const char *frontend_requests_counter (const struct frontend *frontend);
const char *frontend_hits_counter (const struct frontend *frontend);
uint32_t frontend_bundle_packages (const struct frontend *frontend, const char *out[], uint32_t max);
/* Is this variable part of launch policy (recorded, compared)? */
bool frontend_policy_var (const struct frontend *frontend, struct text name);
/* Is this variable set by the two functions above, so that nobody else may set it? */
bool frontend_owns_var (const struct frontend *frontend, struct text name);
/* Can a program be restored from a compile cache at all? */
bool frontend_has_cache (const struct frontend *frontend);
/* Does the runtime itself write only on process 0 of a group? Then a gang's writer has to be rank 0. */
bool frontend_writer_is_rank_0 (const struct frontend *frontend);
/* Name of its file in configs/signatures; NULL: it has none. */
const char *frontend_signatures (const struct frontend *frontend);

#endif
