/* drift.h - hosts that should be the same and are not: facts, versions and policy grouped by value.
 *
 * Values that name the host itself (its name, boot, process ids, addresses, directories, what is free right now) are expected to
 * differ and are listed as such; values that are equal everywhere are not listed. */
#ifndef SLICEUP_CORE_DRIFT_H
#define SLICEUP_CORE_DRIFT_H

#include "common/model/receipt.h"

struct drift_group { struct text value; struct text *hosts; uint32_t hosts_n; bool absent; };
struct drift_item {
    struct text fact;           /* "fact kernel.release", "bundle jax", "policy XLA_FLAGS" */
    struct drift_group *groups; /* largest first; among equals by value */
    uint32_t groups_n;
    bool expected;
};
struct drift { struct drift_item *items; uint32_t n; }; /* by name */

void drift_find (const struct slice_receipt *receipt, struct arena *arena, struct drift *out);

#endif
