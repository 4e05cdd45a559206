#include "common/io/share.h"

#include "common/io/clock.h"

enum { US_A_SECOND = 1000 * 1000, BURST_US = 2 * US_A_SECOND };

struct share share_of (uint32_t pieces, uint64_t ms)
{
    return (struct share){ .pieces = pieces, .until_ms = clock_boot_ms () + ms };
}

bool share_take (struct share *share)
{
    if (share->pieces && clock_boot_ms () >= share->until_ms)
        share->pieces = 0;
    return share->pieces && share->pieces--;
}

/* Each piece moves `spent_us` on by its part of a second; it never lies behind the present, nor far before it. */
bool allowance_take (struct allowance *allowance, uint32_t a_second, uint64_t now_ms)
{
    uint64_t now_us = now_ms * 1000, piece_us = US_A_SECOND / a_second;
    uint64_t spent_us = allowance->spent_us > now_us ? allowance->spent_us : now_us;
    if (spent_us + piece_us > now_us + BURST_US)
        return false;
    allowance->spent_us = spent_us + piece_us;
    return true;
}
