#include "coordinator/view/size.h"

#include <inttypes.h>
#include <stdio.h>

const char *size_print (uint64_t bytes, char out[SIZE_TEXT_BYTES])
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    uint64_t whole = bytes, rest = 0;
    uint32_t unit = 0;
    for (; whole >= 1024; unit++) {
        rest = whole % 1024;
        whole /= 1024;
    }
    if (unit == 0 || whole >= 100)
        snprintf (out, SIZE_TEXT_BYTES, "%" PRIu64 " %s", whole, units[unit]);
    else
        snprintf (out, SIZE_TEXT_BYTES, "%" PRIu64 ".%" PRIu64 " %s", whole, rest * 10 / 1024, units[unit]);
    return out;
}
