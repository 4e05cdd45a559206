/* names.c - enums and their words. */
#include "common/model/record.h"

const char *names_of (const struct names *names, uint32_t value)
{
    if (value == 0)
        return "none";
    return value < names->n ? names->of[value] : "?";
}

bool names_find (const struct names *names, struct text name, uint32_t *value)
{
    for (uint32_t i = 1; i < names->n; i++) {
        if (text_is (name, names->of[i])) {
            *value = i;
            return true;
        }
    }
    return false;
}
