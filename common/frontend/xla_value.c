#include "common/frontend/xla_metrics.h"

#include <math.h>
#include <stdlib.h>

enum { NUMBER_MAX_BYTES = 40, EXPONENT_MAX_DIGITS = 3 };

static struct text xla_value_after (struct text text, uint32_t n)
{
    return (struct text){ text.ptr + n, text.len - n };
}

static bool digit_at (struct text text, uint32_t at)
{
    return at < text.len && text_is_digit (text.ptr[at]);
}

/* Length of "-1.5e-07", as a C++ stream prints it, at the start of the text; 0: none is there. */
static uint32_t number_len (struct text text)
{
    uint32_t at = text.len && text.ptr[0] == '-', end = text_digits_end (text, at);
    if (end == at)
        return 0;
    if (end < text.len && text.ptr[end] == '.' && digit_at (text, end + 1))
        end = text_digits_end (text, end + 1);
    if (end < text.len && (text.ptr[end] == 'e' || text.ptr[end] == 'E')) {
        uint32_t power = end + 1 + (end + 1 < text.len && (text.ptr[end + 1] == '-' || text.ptr[end + 1] == '+'));
        uint32_t stop = text_digits_end (text, power);
        if (stop > power && stop - power <= EXPONENT_MAX_DIGITS)
            end = stop;
    }
    return end <= NUMBER_MAX_BYTES ? end : 0;
}

static bool xla_value_take_number (struct text *text, double *number)
{
    char copy[NUMBER_MAX_BYTES + 1];
    uint32_t len = number_len (*text);
    if (len == 0 || !text_to_c ((struct text){ text->ptr, len }, copy, sizeof copy))
        return false;
    *number = strtod (copy, NULL);
    *text = xla_value_after (*text, len);
    return isfinite (*number);
}

static bool xla_value_take_word (struct text *text, const char *word)
{
    if (!text_starts (*text, word))
        return false;
    *text = xla_value_after (*text, text_of (word).len);
    return true;
}

struct unit {
    const char *word;
    double factor;
};

/* Greatest first, each at most once; leading ones that are zero are left out. "ms" before "m": both begin alike. */
static bool read_time (struct text text, double *ns)
{
    static const struct unit units[] = { { "d", 86400e9 }, { "h", 3600e9 }, { "ms", 1e6 },
                                         { "m", 60e9 },    { "s", 1e9 },    { "us", 1e3 } };
    static const int ranks[] = { 0, 1, 4, 2, 3, 5 };
    int last = -1;
    *ns = 0;
    while (text.len) {
        double number;
        size_t i = 0;
        if (!xla_value_take_number (&text, &number))
            return false;
        while (i < sizeof units / sizeof units[0] && !xla_value_take_word (&text, units[i].word))
            i++;
        if (i == sizeof units / sizeof units[0] || ranks[i] <= last)
            return false;
        last = ranks[i];
        *ns += number * units[i].factor;
    }
    *ns = nearbyint (*ns); /* three decimals of microseconds are whole nanoseconds */
    return last >= 0;
}

static bool xla_value_read_bytes (struct text text, double *bytes)
{
    static const struct unit units[] = { { "B", 1 },       { "KB", 0x1p10 }, { "MB", 0x1p20 },
                                         { "GB", 0x1p30 }, { "TB", 0x1p40 }, { "PB", 0x1p50 } };
    double number;
    if (!xla_value_take_number (&text, &number))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (!text_is (text, units[i].word))
            continue;
        *bytes = number * units[i].factor;
        return isfinite (*bytes);
    }
    return false;
}

bool xla_value_read (struct text text, enum xla_unit *unit, double *value)
{
    struct text rest = text;
    if (xla_value_take_number (&rest, value) && rest.len == 0) {
        *unit = XLA_UNIT_PLAIN;
        return true;
    }
    if (xla_value_read_bytes (text, value)) {
        *unit = XLA_UNIT_BYTES;
        return true;
    }
    if (!read_time (text, value))
        return false;
    *unit = XLA_UNIT_TIME;
    return isfinite (*value);
}
