#include "coordinator/verdict/agree.h"

static bool number_of (const struct var *items, uint32_t n, const char *name, uint64_t *number)
{
    for (uint32_t i = 0; i < n; i++)
        if (text_is (items[i].name, name))
            return text_to_u64 (items[i].value, number);
    return false;
}

/* The smaller of the machine's memory and the limit of the worker's cgroup ("max": none). */
static bool memory_of (const struct var *facts, uint32_t n, uint64_t *bytes)
{
    uint64_t limit;
    if (!number_of (facts, n, "memory.total_bytes", bytes))
        return false;
    if (number_of (facts, n, "memory.cgroup_max", &limit) && limit < *bytes)
        *bytes = limit;
    return true;
}

bool premapped_fits (const struct profile *profile, const struct var *facts, uint32_t facts_n, struct arena *arena,
                     struct text *why)
{
    uint64_t asked, has;
    if (!number_of (profile->env.items, profile->env.n, PREMAPPED_VAR, &asked) || !memory_of (facts, facts_n, &has))
        return true;
    uint64_t left = has / 4 > PREMAPPED_LEAST_LEFT_BYTES ? has / 4 : PREMAPPED_LEAST_LEFT_BYTES;
    if (asked <= has && has - asked >= left)
        return true;
    *why = text_format (arena,
                        "a premapped buffer of %.1f GiB would leave %.1f of this host's %.1f GiB of memory, but data "
                        "loaders and the system need at least %.1f",
                        (double) asked / 0x1p30, asked <= has ? (double) (has - asked) / 0x1p30 : 0.0,
                        (double) has / 0x1p30, (double) left / 0x1p30);
    return false;
}
