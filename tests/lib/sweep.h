/* sweep.h - many scenarios, each of a seed. Those that break a promise are made as small as they get.
 *
 * Scenarios run in processes of their own, so that an assertion, a sanitizer's report or a loop without end is a finding like any
 * broken promise. */
#ifndef SLICEUP_TESTS_LIB_SWEEP_H
#define SLICEUP_TESTS_LIB_SWEEP_H

#include "world.h"

enum { HOW_BYTES = 128 };

/* What the seed makes of everything that can go wrong. */
void sweep_draw (uint64_t seed, struct scenario *scenario);

/* In a process of its own; prints what it says where it breaks, unless `how` is given. `how`: the promise, or what else
 * happened. */
bool sweep_holds (const struct scenario *scenario, char how[HOW_BYTES]);
/* Fewer faults and fewer hosts, for as long as it breaks in the same way. Returns how many runs that took. */
uint32_t sweep_shrink (struct scenario *scenario, const char *how);

struct sweep {
    uint64_t first, n, again_every; /* one in so many is run twice, and has to end alike; 0: none */
    bool until_broken;              /* and is not made smaller */
    void (*broken) (void *owner, const struct scenario *scenario, const char *how);
    void *owner;
};
struct swept {
    uint64_t seeds, again, messages, lost, facts, lives, programs;
    uint64_t passed, doubted; /* runs */
    uint32_t broken;
    struct tally tally;
};
void sweep_run (const struct sweep *sweep, struct swept *swept);

#endif
