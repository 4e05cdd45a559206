/* fuzz_metrics.c - no output of a program crashes the reader of torch_xla reports or passes its bounds, and what it
 * reads is sound: names that may be shown, each once a kind, and counters within their list. A text that goes on has no
 * more whole reports than one that ends. Seeds: tests/unit/reports. */
#include <assert.h>
#include <math.h>

#include "common/base/buf.h"
#include "common/frontend/frontend.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

enum { INPUT_MAX_BYTES = 16 * 1024, COUNTERS_MAX = 64, ARENA_MAX_BYTES = 4 << 20 };

static struct arena arena;

static void check_row (const struct xla_metrics *metrics, const struct xla_report_row *row)
{
    char name[XLA_NAME_MAX_BYTES + 1];
    assert (row->name.len > 0 && text_to_c (row->name, name, sizeof name));
    assert (xla_metrics_find (metrics, row->is_metric, name) == row);
    assert (row->is_metric == (row->unit != XLA_UNIT_NONE) && isfinite (row->total));
    for (uint32_t i = 0; i < row->name.len; i++)
        assert (row->name.ptr[i] >= ' ' && row->name.ptr[i] <= '~');
}

static void check_sound (const struct xla_metrics *metrics)
{
    number_list counters;
    uint32_t left_out;
    assert (metrics->n <= XLA_ROWS_MAX && (metrics->n == 0 || metrics->reports > 0));
    for (uint32_t i = 0; i < metrics->n; i++)
        check_row (metrics, &metrics->rows[i]);
    xla_metrics_to_counters (metrics, COUNTERS_MAX, &arena, &counters, &left_out);
    assert (counters.n <= COUNTERS_MAX && (counters.n == 0 || metrics->reports > 0));
    for (uint32_t i = 0; i < counters.n; i++) {
        assert (counters.items[i].name.len > 0 && counters.items[i].value <= INT64_MAX);
        if (metrics->is_partial && text_is (counters.items[i].name, "compile_ms"))
            assert (xla_metrics_find (metrics, true, "CompileTime"));
    }
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    struct xla_metrics metrics, piece;
    if (len > INPUT_MAX_BYTES)
        return 0;
    struct xla_text_piece text = { .text = { (const char *) bytes, (uint32_t) len } };
    xla_metrics_read (&text, &arena, &metrics);
    check_sound (&metrics);
    text.ends_short = true;
    xla_metrics_read (&text, &arena, &piece);
    check_sound (&piece);
    assert (piece.reports <= metrics.reports);
    text.starts_late = true;
    xla_metrics_read (&text, &arena, &piece);
    check_sound (&piece);
    xla_metrics_add_process (&metrics, &piece, &arena);
    check_sound (&metrics);
    assert (arena.used_bytes < ARENA_MAX_BYTES);
    arena_reset (&arena);
    return 0;
}
