/* frontend_cache.c - what is known against the persistent cache of a release. */

#include "common/frontend/frontend_row.h"

/* The next number of a release such as "2.9.0+cpu"; past its end, or where a word begins, it is 0 (PEP 440). */
static uint64_t next_number (struct text *version)
{
    uint64_t number = 0;
    while (version->len && text_is_digit (version->ptr[0])) {
        if (number < UINT32_MAX)
            number = 10 * number + (uint64_t) (version->ptr[0] - '0');
        *version = (struct text){ version->ptr + 1, version->len - 1 };
    }
    if (version->len && version->ptr[0] == '.')
        *version = (struct text){ version->ptr + 1, version->len - 1 };
    else
        version->len = 0;
    return number;
}

static int compare_releases (struct text a, struct text b)
{
    while (a.len || b.len) {
        uint64_t left = next_number (&a), right = next_number (&b);
        if (left != right)
            return left < right ? -1 : 1;
    }
    return 0;
}

static bool is_between (struct text version, const char *from, const char *until)
{
    if (!version.len || version.ptr[0] < '0' || version.ptr[0] > '9')
        return false;
    return (!from || compare_releases (version, text_of (from)) >= 0) &&
           (!until || compare_releases (version, text_of (until)) < 0);
}

const char *frontend_cache_defect (const struct frontend *frontend, struct text backend, const var_list *bundle,
                                   struct arena *arena)
{
    const struct broken_release *known = frontend->broken, *end = known + BROKEN_MAX;
    for (; known < end && known->what; known++) {
        struct text version = var_value (bundle, known->package);
        if (known->backend && !text_is (backend, known->backend))
            continue;
        if (is_between (version, known->from, known->until))
            return text_format (arena, "%s %.*s %s: %s", known->package, TEXT_ARG (version), known->what, known->next)
                .ptr;
    }
    return NULL;
}
