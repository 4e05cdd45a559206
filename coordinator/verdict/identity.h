/* identity.h - a short name for everything that must be equal: a digest over named values, in the order in which they
 * are added. 16 hexadecimal digits of a sha256: enough to tell apart what one person keeps, not a proof. */
#ifndef SLICEUP_COORDINATOR_VERDICT_IDENTITY_H
#define SLICEUP_COORDINATOR_VERDICT_IDENTITY_H

#include "common/base/digest.h"
#include "common/model/plan.h"

struct identity {
    struct digest_state *state;
    struct arena *arena;
};

struct identity identity_begin (struct arena *arena);
void identity_add (struct identity *identity, const char *name, struct text value);
/* Sorted by name; the values as sets of words, because that is how both frontends put flags into their keys
 * (facts: XLA_FLAGS and LIBTPU_INIT_ARGS are sorted before hashing). */
void identity_add_vars (struct identity *identity, const struct var *items, uint32_t n);
struct text identity_end (struct identity *identity); /* of the arena */

#endif
