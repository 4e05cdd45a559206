/* cache_key_causes.h - what two hosts, or two runs, have different that can make their cache keys differ: versions,
 * flags, settings, devices, programs. Knows nothing of the keys themselves: see recompile_reason.h,
 * recompiled_compare_keys.
 *
 * Settings that differ on purpose between who writes a cache and who reads it are no cause and are left out. Of a
 * result only bundle, policy, facts, backend and programs are read, so that a caller may fill one from a receipt.
 * Pure; any thread. Texts live in the arena given, or in the results. */
#ifndef SLICEUP_COORDINATOR_STORY_CACHE_KEY_CAUSES_H
#define SLICEUP_COORDINATOR_STORY_CACHE_KEY_CAUSES_H

#include "common/model/result.h"

struct cache_key_cause {
    struct text what;        /* "jaxlib", "XLA_FLAGS", "device kind", ... */
    struct text here, there; /* the values; of flags and arguments only the tokens that the other side has not */
    struct text text;        /* for people: "XLA_FLAGS has --xla_x=1 here only" */
};
struct cache_key_cause_list {
    struct cache_key_cause *items;
    uint32_t n;
};

void cache_key_causes_find (const struct result *here, const struct result *there, struct arena *arena,
                            struct cache_key_cause_list *out);

#endif
