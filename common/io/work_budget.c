#include "common/io/work_budget.h"

#include "common/io/clock.h"

enum { US_A_SECOND = 1000 * 1000, BURST_US = 2 * US_A_SECOND };

struct work_budget work_budget_begin (uint32_t pieces, uint64_t ms)
{
    return (struct work_budget){ .pieces = pieces, .until_ms = clock_boot_ms () + ms };
}

bool work_budget_take (struct work_budget *budget)
{
    if (budget->pieces && clock_boot_ms () >= budget->until_ms)
        budget->pieces = 0;
    return budget->pieces && budget->pieces--;
}

/* Each piece advances `spent_us` by its part of a second; it is never before the present, nor far after it. */
bool rate_limit_take (struct rate_limit *limit, uint32_t a_second, uint64_t now_ms)
{
    uint64_t now_us = now_ms * 1000, piece_us = US_A_SECOND / a_second;
    uint64_t spent_us = limit->spent_us > now_us ? limit->spent_us : now_us;
    if (spent_us + piece_us > now_us + BURST_US)
        return false;
    limit->spent_us = spent_us + piece_us;
    return true;
}
