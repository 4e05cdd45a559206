/* flag_set.h - flags compared as sets, since both frontends sort them before they hash them; variables compared by name. Pure. */
#ifndef SLICEUP_COORDINATOR_VERDICT_FLAG_SET_H
#define SLICEUP_COORDINATOR_VERDICT_FLAG_SET_H

#include "common/base/digest.h"
#include "common/model/plan.h"

/* The words of `flags` sorted, each once, joined by one space, so equal sets give equal texts. In the arena. */
struct text flag_set_normalise (struct text flags, struct arena *arena);
/* Takes the next word from `rest`; false: there is none. */
bool flag_set_next (struct text *rest, struct text *word);
bool flag_set_has (struct text set, struct text word);
/* The words of `set` that `other` lacks, in the order of `set`, joined by one space. In the arena. */
struct text flag_set_subtract (struct text set, struct text other, struct arena *arena);

/* NULL: that side has no variable of this name. */
typedef void var_pair_fn (void *context, struct text name, const struct text *here, const struct text *there);
/* Calls `tell` once for every name: all of `here` in order, then those only in `there`. */
void var_lists_walk (const var_list *here, const var_list *there, var_pair_fn *tell, void *context);

/* ---- fingerprint builder ---- */

/* A fingerprint: a digest over named values, in the order of adding. 16 hexadecimal digits of a sha256: enough to
 * distinguish one user's launches, not a proof. */

struct fingerprint_builder {
    struct digest_state *state;
    struct arena *arena;
};

struct fingerprint_builder fingerprint_begin (struct arena *arena);
void fingerprint_add (struct fingerprint_builder *builder, const char *name, struct text value);
/* Sorts by name, and takes values as sets of words, as both frontends put flags into their keys (facts: XLA_FLAGS and
 * LIBTPU_INIT_ARGS are sorted before hashing). */
void fingerprint_add_vars (struct fingerprint_builder *builder, const struct var *items, uint32_t n);
/* Adds all variables of a profile as written, so placeholders stand for values that differ between hosts. */
void fingerprint_add_profile (struct fingerprint_builder *builder, const struct profile *profile);
struct text fingerprint_end (struct fingerprint_builder *builder); /* of the arena */

#endif
