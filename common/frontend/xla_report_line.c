#include "common/frontend/xla_report_line.h"

#include <string.h>

#include "common/frontend/xla_metrics.h"

enum { LOOK_MAX_BYTES = 1024 }; /* a keyword stands within this much of the line's start, whatever is in front of it */

static const struct {
    const char *word;
    bool is_indented;
    enum xla_line_kind kind;
} keywords[] = { { "Metric", false, XLA_LINE_METRIC },          { "Counter", false, XLA_LINE_COUNTER },
                 { "TotalSamples", true, XLA_LINE_SAMPLES },    { "Accumulator", true, XLA_LINE_TOTAL },
                 { "ValueRate", true, XLA_LINE_RATE },          { "Rate", true, XLA_LINE_RATE },
                 { "Percentiles", true, XLA_LINE_PERCENTILES }, { "Value", true, XLA_LINE_VALUE } };
enum { KEYWORDS = sizeof keywords / sizeof keywords[0] };
static const char header[] = "[MetricsData; step=", indent[] = "  ";

static struct text from (struct text text, uint32_t at)
{
    return (struct text){ text.ptr + at, text.len - at };
}

static struct text without_end (struct text text, char c)
{
    while (text.len && text.ptr[text.len - 1] == c)
        text.len--;
    return text;
}

static bool holds_time (struct text prefix)
{
    for (uint32_t i = 0; i + 5 <= prefix.len; i++) {
        const char *c = prefix.ptr + i;
        if (text_is_digit (c[0]) && text_is_digit (c[1]) && c[2] == ':' && text_is_digit (c[3]) && text_is_digit (c[4]))
            return true;
    }
    return false;
}

static struct text tag_of (struct text prefix)
{
    if (prefix.len > XLA_PREFIX_MAX_BYTES || holds_time (prefix))
        return TEXT_LIT ("time");
    return prefix;
}

/* What will be shown and compared as the name of a counter. */
static bool is_name (struct text text)
{
    if (!text.len || text.len > XLA_NAME_MAX_BYTES || text.ptr[0] == ' ' || text.ptr[text.len - 1] == ' ')
        return false;
    for (uint32_t i = 0; i < text.len; i++)
        if (text.ptr[i] < ' ' || text.ptr[i] > '~')
            return false;
    return true;
}

static bool ends_with (struct text text, const char *end)
{
    uint32_t len = text_of (end).len;
    return text.len >= len && text_is (from (text, text.len - len), end);
}

bool xla_is_blank (struct text text)
{
    return without_end (text, ' ').len == 0;
}

/* "  Counter: 04s589ms" tells the total of a metric, "Counter: MarkStep" begins a row. */
static bool is_total (struct text prefix, struct text rest)
{
    enum xla_unit unit;
    double value;
    return ends_with (prefix, indent) && xla_value_read (rest, &unit, &value);
}

static bool make_line (uint32_t keyword, struct text prefix, struct text rest, struct xla_report_line *out)
{
    enum xla_line_kind kind = keywords[keyword].kind;
    if (kind == XLA_LINE_COUNTER && is_total (prefix, rest))
        kind = XLA_LINE_TOTAL;
    bool is_head = kind == XLA_LINE_METRIC || kind == XLA_LINE_COUNTER;
    bool is_glued = prefix.len && prefix.ptr[prefix.len - 1] > ' ';
    if (!is_head && !ends_with (prefix, indent)) /* such as "Rate" of "ValueRate" */
        return false;
    if (!is_head)
        prefix.len -= sizeof indent - 1;
    if (is_head && !is_name (rest))
        rest.len = 0;
    *out = (struct xla_report_line){ kind, is_glued, tag_of (prefix), rest };
    return true;
}

/* The keyword that ends before `colon`. */
static bool read_keyword (struct text line, uint32_t colon, struct xla_report_line *out)
{
    for (uint32_t i = 0; i < KEYWORDS; i++) {
        uint32_t len = text_of (keywords[i].word).len;
        if (len > colon || memcmp (line.ptr + colon - len, keywords[i].word, len) != 0)
            continue;
        if (make_line (i, (struct text){ line.ptr, colon - len }, from (line, colon + 2), out))
            return true;
    }
    return false;
}

/* What a terminal would show: a progress bar writes over itself. */
static struct text shown (struct text line)
{
    line = without_end (line, '\r');
    uint32_t at = line.len;
    while (at > 0 && line.ptr[at - 1] != '\r')
        at--;
    return from (line, at);
}

struct xla_report_line xla_report_line_read (struct text line)
{
    struct xla_report_line out = { 0 };
    line = shown (line);
    uint32_t at = 0, look = line.len < LOOK_MAX_BYTES ? line.len : LOOK_MAX_BYTES;
    if (text_find ((struct text){ line.ptr, look }, text_of (header), &at))
        return (struct xla_report_line){ XLA_LINE_HEADER, false, tag_of ((struct text){ line.ptr, at }),
                                         from (line, at) };
    for (at = 0; at + 1 < look && at + 1 < line.len; at++)
        if (line.ptr[at] == ':' && line.ptr[at + 1] == ' ' && read_keyword (line, at, &out))
            return out;
    return (struct xla_report_line){ XLA_LINE_OTHER, false, { 0 }, line };
}

static bool is_beginning_of (struct text begun, const char *word)
{
    return begun.len <= text_of (word).len && memcmp (begun.ptr, word, begun.len) == 0;
}

bool xla_report_line_is_prefix (struct text begun)
{
    if (xla_report_line_read (begun).kind != XLA_LINE_OTHER || is_beginning_of (begun, header))
        return true;
    uint32_t at = begun.len;
    while (at > 0 && begun.ptr[at - 1] != ' ')
        at--;
    struct text word = without_end (from (begun, at), ':');
    for (uint32_t i = 0; i < KEYWORDS; i++)
        if (is_beginning_of (word, keywords[i].word))
            return word.len > 0 || xla_is_blank (begun);
    return false;
}

bool xla_report_line_is_empty (struct text line, struct text tag)
{
    line = without_end (without_end (line, '\r'), ' ');
    return text_equal (line, without_end (tag, ' '));
}
