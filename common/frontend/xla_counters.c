/* xla_counters.c - translates a torch_xla report into the counters of the canary protocol (docs/spec/canary.md). */
#include <math.h>
#include <stdlib.h>

#include "common/frontend/frontend.h"

static const char *const words[] = { "compile_requests", "cache_hits", "cache_misses", "executions", "compile_ms",
                                     "retrieval_ms",     "steps",      "fallbacks",    "reads" };
enum { WORDS = sizeof words / sizeof words[0] };

struct word {
    uint64_t value;
    bool is_known;
};

/* Reports omit rows of 0. With several processes a row may be another one's. */
static struct word count_of (const struct xla_metrics *metrics, bool is_metric, const char *name)
{
    const struct xla_report_row *row = xla_metrics_find (metrics, is_metric, name);
    bool is_known = !metrics->is_partial || (row && metrics->processes == 1);
    return (struct word){ row ? row->count : 0, is_known };
}

/* A time of counted events is not zero, so an absent row is unknown. */
static struct word ms_of (const struct xla_metrics *metrics, const char *name, struct word counted)
{
    const struct xla_report_row *row = xla_metrics_find (metrics, true, name);
    struct word word = count_of (metrics, true, name);
    bool is_time = row && row->unit == XLA_UNIT_TIME && row->total > 0 && row->total < 0x1p63;
    word.value = is_time ? (uint64_t) llround (row->total / 1e6) : 0;
    word.is_known = word.is_known && (row || counted.value == 0);
    return word;
}

/* Values stay within what a receipt holds as a JSON integer. */
static uint64_t bounded (uint64_t value)
{
    return value < INT64_MAX ? value : INT64_MAX;
}

static void xla_counters_add (number_list *out, uint32_t max, uint32_t *left_out, struct text name, uint64_t value)
{
    if (out->n == max)
        ++*left_out;
    else
        out->items[out->n++] = (struct named_number){ name, bounded (value) };
}

static struct word sum (struct word a, struct word b)
{
    return (struct word){ bounded (a.value) + bounded (b.value), a.is_known && b.is_known };
}

/* Operations that ran on the host's processor. Reading a value is one that needs no lowering
 * (pytorch/xla:docs/source/learn/troubleshoot.md). */
static struct word fallbacks_of (const struct xla_metrics *metrics)
{
    struct word all = { 0, !metrics->is_partial };
    for (uint32_t i = 0; i < metrics->n; i++) {
        const struct xla_report_row *row = &metrics->rows[i];
        if (!row->is_metric && text_starts (row->name, "aten::") && !text_is (row->name, "aten::nonzero") &&
            !text_is (row->name, "aten::_local_scalar_dense"))
            all.value = bounded (all.value) + bounded (row->count);
    }
    return all;
}

/* Requests that reached the disk, or would have: one in memory says nothing of the cache. A program under SPMD has its
 * executions under the other name. */
static void add_words (const struct xla_metrics *metrics, uint32_t max, number_list *out, uint32_t *left_out)
{
    struct word hits = count_of (metrics, false, "PersistentCacheHit");
    struct word misses = count_of (metrics, false, "UncachedCompile");
    const struct word values[WORDS] = {
        sum (hits, misses),
        hits,
        misses,
        sum (count_of (metrics, true, "ExecuteTime"), count_of (metrics, true, "ExecuteReplicatedTime")),
        ms_of (metrics, "CompileTime", misses),
        ms_of (metrics, "PersistentCacheLoad", hits),
        count_of (metrics, false, "MarkStep"),
        fallbacks_of (metrics),
        count_of (metrics, true, "TransferFromDeviceTime"),
    };
    for (size_t i = 0; i < WORDS; i++)
        if (values[i].is_known)
            xla_counters_add (out, max, left_out, text_of (words[i]), values[i].value);
}

static const char *const proofs[] = { "CachedCompile",
                                      "CompileTime",
                                      "ExecuteReplicatedTime",
                                      "ExecuteTime",
                                      "MarkStep",
                                      "PersistentCacheDeserializeFailure",
                                      "PersistentCacheHit",
                                      "PersistentCacheLoad",
                                      "PersistentCacheMiss",
                                      "UncachedCompile" };

static int rank (const struct xla_report_row *row)
{
    if (text_is_word (row->name, proofs, sizeof proofs / sizeof proofs[0]))
        return 0;
    return text_starts (row->name, "aten::") ? 1 : 2;
}

static int by_weight (const void *a, const void *b)
{
    const struct xla_report_row *left = a, *right = b;
    if (rank (left) != rank (right))
        return rank (left) - rank (right);
    int order = text_compare (left->name, right->name);
    return order ? order : left->is_metric - right->is_metric;
}

/* Is the name taken by a word, known or not, or by a row? */
static bool is_taken (const number_list *list, struct text name)
{
    return text_is_word (name, words, WORDS) || number_find (list, name) != NULL;
}

void xla_metrics_to_counters (const struct xla_metrics *metrics, uint32_t max, struct arena *arena, number_list *out,
                              uint32_t *left_out)
{
    *out = (number_list){ 0 };
    *left_out = 0;
    if (metrics->reports == 0)
        return;
    out->items = arena_array (arena, max, sizeof *out->items);
    add_words (metrics, max, out, left_out);
    struct xla_report_row *rows = arena_copy (arena, metrics->rows, metrics->n * sizeof *rows);
    sort_items (rows, metrics->n, sizeof *rows, by_weight);
    for (uint32_t i = 0; i < metrics->n; i++)
        if (!is_taken (out, rows[i].name)) /* the counter replaces a metric of the same name */
            xla_counters_add (out, max, left_out, text_copy (arena, rows[i].name), rows[i].count);
}

/* ---- xla value ---- */

enum { NUMBER_MAX_BYTES = 40, EXPONENT_MAX_DIGITS = 3 };

/* Length of "-1.5e-07", as a C++ stream prints it, at the start of the text; 0: none is there. */
static uint32_t number_len (struct text text)
{
    uint32_t at = text.len && text.ptr[0] == '-', end = text_digits_end (text, at);
    if (end == at)
        return 0;
    if (end < text.len && text.ptr[end] == '.' && end + 1 < text.len && text_is_digit (text.ptr[end + 1]))
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
    text_skip (text, len);
    return isfinite (*number);
}

static bool xla_value_take_word (struct text *text, const char *word)
{
    if (!text_starts (*text, word))
        return false;
    text_skip (text, text_of (word).len);
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
