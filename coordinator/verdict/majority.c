#include "coordinator/verdict/majority.h"

uint32_t majority_share (const struct text *values, uint32_t n, uint32_t at)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += text_equal (values[i], values[at]);
    return count;
}

uint32_t majority_of (const struct text *values, uint32_t n)
{
    uint32_t best = 0, most = 0;
    for (uint32_t i = 0; i < n && most * 2 <= n; i++) {
        uint32_t count = majority_share (values, n, i);
        if (count > most) {
            most = count;
            best = i;
        }
    }
    return best;
}
