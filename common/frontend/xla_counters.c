/* xla_counters.c - what a torch_xla report says in the words of the canary protocol (docs/spec/canary.md). */
#include <math.h>
#include <stdlib.h>

#include "common/frontend/xla_report_rows.h"

static const char *const words[] = { "compile_requests", "cache_hits", "cache_misses", "executions", "compile_ms",
                                     "retrieval_ms",     "steps",      "fallbacks",    "reads" };
enum { WORDS = sizeof words / sizeof words[0] };

struct word {
    uint64_t value;
    bool is_known;
};

/* Rows of 0 are left out of reports. Of several processes a row may be that of another one. */
static struct word count_of (const struct xla_metrics *metrics, bool is_metric, const char *name)
{
    const struct xla_report_row *row = xla_metrics_find (metrics, is_metric, name);
    bool is_known = !metrics->is_partial || (row && metrics->processes == 1);
    return (struct word){ row ? row->count : 0, is_known };
}

/* What was counted took its time: then an absent row is no zero. */
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
    for (size_t i = 0; i < sizeof proofs / sizeof proofs[0]; i++)
        if (text_is (row->name, proofs[i]))
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

/* By a word, known or not, or by a row. */
static bool is_taken (const number_list *list, struct text name)
{
    for (size_t i = 0; i < WORDS; i++)
        if (text_is (name, words[i]))
            return true;
    for (uint32_t i = 0; i < list->n; i++)
        if (text_equal (list->items[i].name, name))
            return true;
    return false;
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
    if (rows)
        qsort (rows, metrics->n, sizeof *rows, by_weight);
    for (uint32_t i = 0; i < metrics->n; i++)
        if (!is_taken (out, rows[i].name)) /* a metric of a counter's name is told by the counter */
            xla_counters_add (out, max, left_out, text_copy (arena, rows[i].name), rows[i].count);
}
