#include "common/base/duration.h"

#include <inttypes.h>
#include <stdio.h>

enum { FRACTION_DIGITS_MAX = 9 };

static const uint64_t second_ms = 1000, minute_ms = 60 * 1000, hour_ms = 60 * 60 * 1000, day_ms = 24 * 60 * 60 * 1000;
static const uint64_t longest_ms = UINT64_C (365) * 24 * 60 * 60 * 1000;

static uint64_t unit_ms (struct text unit)
{
    if (text_is (unit, "ms"))
        return 1;
    if (text_is (unit, "s"))
        return second_ms;
    if (text_is (unit, "m") || text_is (unit, "min"))
        return minute_ms;
    if (text_is (unit, "h"))
        return hour_ms;
    return text_is (unit, "d") ? day_ms : 0;
}

static struct text slice (struct text text, uint32_t from, uint32_t to)
{
    return (struct text){ .ptr = text.ptr + from, .len = to - from };
}

/* ".5" of a unit in ms; refuses fractions of a millisecond instead of rounding. */
static bool fraction_ms (struct text digits, uint64_t unit, uint64_t *ms)
{
    uint64_t value, scale = 1;
    if (digits.len > FRACTION_DIGITS_MAX || !text_to_u64 (digits, &value))
        return false;
    for (uint32_t i = 0; i < digits.len; i++)
        scale *= 10;
    if (value * unit % scale != 0)
        return false;
    *ms = value * unit / scale;
    return true;
}

bool duration_parse (struct text text, uint64_t *ms)
{
    uint32_t whole_end = text_digits_end (text, 0);
    uint32_t number_end = whole_end;
    bool has_fraction = whole_end < text.len && text.ptr[whole_end] == '.';
    if (has_fraction)
        number_end = text_digits_end (text, whole_end + 1);
    uint64_t unit = unit_ms (slice (text, number_end, text.len));
    uint64_t whole, part = 0;
    if (unit == 0 || !text_to_u64 (slice (text, 0, whole_end), &whole) || whole > longest_ms / unit)
        return false;
    if (has_fraction && !fraction_ms (slice (text, whole_end + 1, number_end), unit, &part))
        return false;
    if (whole * unit + part > longest_ms)
        return false;
    *ms = whole * unit + part;
    return true;
}

static void print_pair (char *out, uint64_t big, const char *big_unit, unsigned small, const char *small_unit)
{
    if (small)
        snprintf (out, DURATION_TEXT_BYTES, "%" PRIu64 " %s %u %s", big, big_unit, small, small_unit);
    else
        snprintf (out, DURATION_TEXT_BYTES, "%" PRIu64 " %s", big, big_unit);
}

const char *duration_print (uint64_t ms, char out[DURATION_TEXT_BYTES])
{
    /* Never rounded up: "60 s" of a limit of 60 s is shown when they have passed. */
    uint64_t tenths = ms / 100 % 10;
    if (ms < second_ms)
        snprintf (out, DURATION_TEXT_BYTES, "%" PRIu64 " ms", ms);
    else if (ms < 10 * second_ms && tenths)
        snprintf (out, DURATION_TEXT_BYTES, "%" PRIu64 ".%" PRIu64 " s", ms / second_ms, tenths);
    else if (ms < minute_ms)
        snprintf (out, DURATION_TEXT_BYTES, "%" PRIu64 " s", ms / second_ms);
    else if (ms < hour_ms)
        print_pair (out, ms / minute_ms, "min", (unsigned) (ms % minute_ms / second_ms), "s");
    else if (ms < day_ms)
        print_pair (out, ms / hour_ms, "h", (unsigned) (ms % hour_ms / minute_ms), "min");
    else
        print_pair (out, ms / day_ms, "d", (unsigned) (ms % day_ms / hour_ms), "h");
    return out;
}

const char *offset_print (int64_t ms, char out[OFFSET_TEXT_BYTES])
{
    char span[DURATION_TEXT_BYTES];
    uint64_t off_ms = ms < 0 ? -(uint64_t) ms : (uint64_t) ms, step_ms = off_ms < 10 * second_ms ? 100 : second_ms;
    duration_print ((off_ms + step_ms / 2) / step_ms * step_ms, span);
    snprintf (out, OFFSET_TEXT_BYTES, "%s %s", span, ms < 0 ? "behind" : "ahead");
    return out;
}

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
