#include "coordinator/verdict/retry.h"

enum { WHAT_BYTES = 120 };

static bool is_cause (const struct verdict *verdict)
{
    return verdict->outcome != OUTCOME_PASSED && verdict->outcome != OUTCOME_CASCADE &&
           verdict->outcome != OUTCOME_CANCELLED;
}

static const struct verdict *first_cause (const struct verdict *verdicts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (is_cause (&verdicts[i]))
            return &verdicts[i];
    return NULL;
}

bool retry_all_transient (const struct verdict *verdicts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (is_cause (&verdicts[i]) && !verdicts[i].transient)
            return false;
    return first_cause (verdicts, n) != NULL;
}

struct text retry_first_signature (const struct verdict *verdicts, uint32_t n)
{
    const struct verdict *first = first_cause (verdicts, n);
    return first ? first->signature : (struct text){ 0 };
}

static struct text what_of (const struct verdict *verdict)
{
    return verdict->signature.len ? verdict->signature : text_clip (verdict->cause, WHAT_BYTES);
}

struct text retry_why (const struct plan *plan, const struct verdict *verdicts, uint32_t n, struct arena *arena)
{
    const struct verdict *first = first_cause (verdicts, n);
    if (first == NULL)
        return (struct text){ 0 };
    struct text *names = arena_array (arena, n, sizeof (*names));
    uint32_t named = 0;
    for (uint32_t i = 0; i < n; i++)
        if (is_cause (&verdicts[i]) && verdicts[i].host < plan->hosts.n)
            names[named++] = plan->hosts.items[verdicts[i].host].name;
    struct text hosts = hostset_folded (names, named, NAME_MAX_BYTES, arena);
    return text_format (arena, "%.*s on %.*s", TEXT_ARG (what_of (first)), TEXT_ARG (hosts));
}

uint64_t retry_wait_ms (const struct limits *limits, uint32_t nth)
{
    uint32_t doublings = nth > 1 ? nth - 1 : 0;
    return limits->retry_wait_ms << (doublings < RETRIES_MAX ? doublings : RETRIES_MAX);
}
