/* recompile_reason.h - why a host compiled again what the writer had put into the cache; and what made two keys differ.
 *
 * Works from what frontends report of their keys (result.keys, docs/spec/canary.md `cache`) and from the counters,
 * which decide how many programs were compiled where no key was reported. Knows no frontend, no host and no verdict.
 * Pure; any thread. What it returns lives in the arena given, or in its inputs. Nothing here can fail. */
#ifndef SLICEUP_COORDINATOR_VERDICT_RECOMPILE_REASON_H
#define SLICEUP_COORDINATOR_VERDICT_RECOMPILE_REASON_H

#include "common/model/result.h"

enum recompile_reason {
    RECOMPILE_NONE = 0,        /* every program that was asked for was found */
    RECOMPILE_KEY_DIFFERS,     /* the writer has the program under another key */
    RECOMPILE_ENTRY_MISSING,   /* the writer has no such program, or did not put this one in */
    RECOMPILE_UNREADABLE,      /* found, and could not be loaded */
    RECOMPILE_BELOW_THRESHOLD, /* the writer compiled it, and it was too quick or too small to be kept */
    RECOMPILE_NEVER_CONSULTED,
    RECOMPILE_UNKNOWN, /* the frontend did not tell */
};

/* One sentence without a host name, so that equal causes fold together; empty for RECOMPILE_NONE. Of several programs
 * the first one is explained, one that could not be loaded before all others. `sealed_keys`: what the writers of the
 * generation told (fact_generation.keys); `found` is never NULL. */
struct recompiled {
    enum recompile_reason reason;
    const char *next; /* what to do about it */
};
struct text recompiled_why (const struct result *reader, const struct cache_key *sealed_keys, uint32_t sealed_n,
                            struct arena *arena, struct recompiled *found);
/* What to do when this check counts what compiled again from step to step (docs/spec/canary.md); NULL: it does not. */
const char *recompiled_steps_next (struct text check);
/* What a cold pass that passed did, by its counters: "cold" when it compiled; "restored" when it found every program and
 * ran them; else empty, such as for a program that compiled nothing and asked no cache. */
struct text cold_pass_cache (const number_list *counters);
/* An entry that the writer left under this very key was found, and could not be loaded. */
bool recompiled_is_torn (const struct result *reader, const struct cache_key *sealed_keys, uint32_t sealed_n);

/* `part` is a part of the key ("flags", "computation", ...) with its digests; "key" with the keys where their parts
 * were not told or are equal; "program" where only one side asked for it: the side that did not has an empty text. */
struct cache_key_difference {
    struct text program, part, here, there;
};
struct cache_key_difference_list {
    struct cache_key_difference *items;
    uint32_t n;
};
/* Keys that both sides have are equal; of the others those of one program are held against each other. */
void recompiled_compare_keys (const struct cache_key *here, uint32_t here_n, const struct cache_key *there,
                              uint32_t there_n, struct arena *arena, struct cache_key_difference_list *out);

#endif
