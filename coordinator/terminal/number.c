#include "coordinator/terminal/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *number_print (uint64_t number, char out[NUMBER_BYTES])
{
    char digits[24];
    size_t len = (size_t) snprintf (digits, sizeof (digits), "%" PRIu64, number), at = 0;
    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}
