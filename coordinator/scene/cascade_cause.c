#include "coordinator/scene/cascade_cause.h"

/* 2: its failure is its own; 1: it was told to stop; 0: it did not fail, or followed somebody. */
static uint32_t may_be_cause (enum scene_mark mark)
{
    switch (mark) {
    case MARK_BLOCKED:
    case MARK_TIMED_OUT:
    case MARK_LOST:
    case MARK_FAILED: return 2;
    case MARK_CANCELLED: return 1;
    default: return 0;
    }
}

/* As a word of its own, that others stand around. */
static bool is_named (struct text sentence, struct text name)
{
    struct text rest = sentence;
    for (uint32_t at; name.len && text_find (rest, name, &at);) {
        const char *found = rest.ptr + at, *behind = found + name.len, *end = sentence.ptr + sentence.len;
        if (found > sentence.ptr && found[-1] == ' ' && behind < end && *behind == ' ')
            return true;
        rest = (struct text){ found + 1, (uint32_t) (end - found - 1) };
    }
    return false;
}

uint32_t cascade_cause_find (const struct pass_host *hosts, uint32_t n, struct text sentence)
{
    uint32_t first = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t may = may_be_cause (hosts[i].mark), before = first < n ? may_be_cause (hosts[first].mark) : 0;
        if (may && is_named (sentence, hosts[i].name))
            return i;
        if (may > before || (may && may == before && hosts[i].ended_ms < hosts[first].ended_ms))
            first = i;
    }
    return first;
}
