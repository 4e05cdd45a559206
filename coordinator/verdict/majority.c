#include "coordinator/verdict/majority.h"

uint32_t majority_count_equal (const struct text *values, uint32_t n, uint32_t at)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += text_equal (values[i], values[at]);
    return count;
}

uint32_t majority_index (const struct text *values, uint32_t n)
{
    uint32_t best = 0, most = 0;
    for (uint32_t i = 0; i < n && most * 2 <= n; i++) {
        uint32_t count = majority_count_equal (values, n, i);
        if (count > most) {
            most = count;
            best = i;
        }
    }
    return best;
}

/* Boyer and Moore's vote: such values are long, and each host has one. */
struct text majority_value (const struct text *values, uint32_t n)
{
    struct text value = { 0 };
    uint32_t lead = 0, told = 0, same = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!values[i].len)
            continue;
        if (lead == 0)
            value = values[i];
        lead = text_equal (values[i], value) ? lead + 1 : lead - 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        told += values[i].len > 0;
        same += values[i].len > 0 && text_equal (values[i], value);
    }
    return same * 2 > told ? value : (struct text){ 0 };
}
