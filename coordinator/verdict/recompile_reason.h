/* recompile_reason.h - why a host compiled again what the writer had cached; and how two keys differ.
 *
 * Uses the keys that frontends report (result.keys, docs/spec/canary.md `cache`) and counters, which tell how many
 * programs were compiled if no key was reported. Knows no frontend, no host and no verdict. Pure; any thread. Results
 * live in the arena, or in the inputs. Nothing here can fail. */
#ifndef SLICEUP_COORDINATOR_VERDICT_RECOMPILE_REASON_H
#define SLICEUP_COORDINATOR_VERDICT_RECOMPILE_REASON_H

#include "common/model/result.h"

enum recompile_reason {
    RECOMPILE_NONE = 0,        /* every requested program was found */
    RECOMPILE_KEY_DIFFERS,     /* the writer has the program under another key */
    RECOMPILE_ENTRY_MISSING,   /* the writer has no such program, or did not store this one */
    RECOMPILE_UNREADABLE,      /* found, and could not be loaded */
    RECOMPILE_BELOW_THRESHOLD, /* the writer compiled it, but it was too quick or too small to store */
    RECOMPILE_NEVER_CONSULTED,
    RECOMPILE_UNKNOWN, /* the frontend did not report it */
};

/* One sentence without a host name, so that equal causes fold together; empty for RECOMPILE_NONE. It explains the first
 * program, but one that could not be loaded before all others. `sealed_keys`: from the generation's writers
 * (fact_generation.keys); `found` is never NULL. */
struct recompiled {
    enum recompile_reason reason;
    const char *next; /* what to do about it */
};
struct text recompiled_why (const struct result *reader, const struct cache_key *sealed_keys, uint32_t sealed_n,
                            struct arena *arena, struct recompiled *found);
/* Advice if this check counts recompilations of steps (docs/spec/canary.md); NULL: another check. */
const char *recompiled_steps_next (struct text check);
/* What a passed cold pass did, by its counters: "cold": it compiled; "restored": it found and ran every program; else
 * empty, as for a program that compiled nothing and used no cache. */
struct text cold_pass_cache (const number_list *counters);
/* Was an entry found under the writer's own key that could not be loaded? */
bool recompiled_is_torn (const struct result *reader, const struct cache_key *sealed_keys, uint32_t sealed_n);

/* `part` is a part of the key ("flags", "computation", ...) with its digests; "key" with the keys if their parts are
 * unknown or equal; "program" if only one side has it: the other side's text is empty. */
struct cache_key_difference {
    struct text program, part, here, there;
};
struct cache_key_difference_list {
    struct cache_key_difference *items;
    uint32_t n;
};
/* Skips keys that both sides have, and compares the others by program. */
void recompiled_compare_keys (const struct cache_key *here, uint32_t here_n, const struct cache_key *there,
                              uint32_t there_n, struct arena *arena, struct cache_key_difference_list *out);

#endif
