#include "coordinator/courier/way.h"

#include <string.h>

struct text way_last_line (struct text heard)
{
    while (heard.len > 0 && heard.ptr[heard.len - 1] == '\n')
        heard.len--;
    const char *newline = heard.len ? memrchr (heard.ptr, '\n', heard.len) : NULL;
    uint32_t skipped = newline ? (uint32_t) (newline + 1 - heard.ptr) : 0;
    return (struct text) { heard.ptr + skipped, heard.len - skipped };
}
