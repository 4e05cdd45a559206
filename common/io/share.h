/* share.h - limits how much a reader takes at a time, so that a peer that sends without end does not delay others.
 *
 * A share is one reader's part of one pass of the loop: so many pieces, for so long. What is left comes at the next
 * pass, which follows at once; in between timers, signals and all other readers have their turn. An allowance is what
 * one writer may say over time. Pure, but for share_take's look at the clock. */
#ifndef SLICEUP_COMMON_IO_SHARE_H
#define SLICEUP_COMMON_IO_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct share {
    uint32_t pieces;
    uint64_t until_ms;
};
struct share share_of (uint32_t pieces, uint64_t ms); /* from now on */
bool share_take (struct share *share);                /* one piece more; false: it is used up */

/* `a_second` pieces a second, and as many as two seconds' at once. {0}: it was never used. */
struct allowance {
    uint64_t spent_us;
};
bool allowance_take (struct allowance *allowance, uint32_t a_second, uint64_t now_ms); /* false: too many */

#endif
