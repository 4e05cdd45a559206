/* lease.h - the arithmetic of the writer's lease, in one place for both sides. docs/spec/cache.md.
 *
 * Neither side ever tells the other an instant. The holder counts from when it sent its question and gives up early;
 * the grantor counts from when it sent its answer and waits longer. So the holder has stopped before anybody else gets
 * a lease, as long as the two clocks drift apart by less than 1 % during a lease. Pure; any thread. */
#ifndef SLICEUP_COMMON_MODEL_LEASE_H
#define SLICEUP_COMMON_MODEL_LEASE_H

#include "common/base/text.h"
#include <stdint.h>

enum { LEASE_TERM_MS = 15 * 1000 }; /* default of limits.lease */
enum {
    LEASE_HOLDER_PERMILLE = 970,
    LEASE_GRANTOR_PERMILLE = 1020,
    LEASE_ASKS_PER_TERM = 3,
    LEASE_REPEATS_PER_TERM = 15
};

static inline uint64_t lease_holder_ms (uint64_t term_ms)
{
    return term_ms * LEASE_HOLDER_PERMILLE / 1000;
}
static inline uint64_t lease_grantor_ms (uint64_t term_ms)
{
    return term_ms * LEASE_GRANTOR_PERMILLE / 1000 + 1;
}
/* Lock-delay: after it, pending writes of a holder that could not be told are over. */
static inline uint64_t lease_delay_ms (uint64_t term_ms)
{
    return term_ms;
}
static inline uint64_t lease_ask_ms (uint64_t term_ms)
{
    return term_ms / LEASE_ASKS_PER_TERM;
}
/* After a question that is not answered yet: an absence of two fifths of the term must leave time for one more. */
static inline uint64_t lease_repeat_ms (uint64_t term_ms)
{
    return term_ms / LEASE_REPEATS_PER_TERM;
}
/* Time before the end of the lease for SIGKILL to remove all of the program. */
static inline uint64_t lease_kill_ms (uint64_t term_ms)
{
    return term_ms / 8;
}

/* The catalogue's lease while another run holds it. */
struct lease_owner {
    struct text run;
    uint64_t token, beat;
};

#endif
