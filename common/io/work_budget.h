/* work_budget.h - limits how much a reader takes at a time, so that a peer that sends without end does not delay
 * others.
 *
 * A work budget is one reader's part of one pass of the loop: a number of pieces and a time. The rest is read in the
 * next pass, which follows at once; in between, timers, signals and other readers have their turn. A rate limit is how
 * much one sender may send over time. Pure, but for work_budget_take's look at the clock. */
#ifndef SLICEUP_COMMON_IO_WORK_BUDGET_H
#define SLICEUP_COMMON_IO_WORK_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct work_budget {
    uint32_t pieces;
    uint64_t until_ms;
};
struct work_budget work_budget_begin (uint32_t pieces, uint64_t ms); /* from now on */
bool work_budget_take (struct work_budget *budget);                  /* takes one more piece; false: used up */

/* `a_second` pieces a second, at most two seconds' worth at once. {0}: never used. */
struct rate_limit {
    uint64_t spent_us;
};
bool rate_limit_take (struct rate_limit *limit, uint32_t a_second, uint64_t now_ms); /* false: too many */

#endif
