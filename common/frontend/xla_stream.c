#include "common/frontend/xla_stream.h"

static void forget (struct xla_report_rows *rows)
{
    rows->n = 0;
}

/* ---- reports ---- */

static bool takes_back (const struct xla_report_rows *report, const struct xla_report_rows *last)
{
    for (uint32_t i = 0; i < report->n; i++) {
        const struct xla_report_row *before = xla_report_rows_find (last, &report->items[i]);
        if (before && before->count > report->items[i].count)
            return true;
    }
    return false;
}

static bool has_all (const struct xla_report_rows *rows, const struct xla_report_rows *names)
{
    for (uint32_t i = 0; i < names->n; i++)
        if (!xla_report_rows_find (rows, &names->items[i]))
            return false;
    return true;
}

/* A short report names a few counters only: laid over a whole one before it, nothing is lost. Where a number fell, the
 * program has cleared its counters, and what it says since is all that holds. */
static void keep_report (struct xla_stream *stream)
{
    if (stream->report.n == 0)
        return;
    bool is_whole = stream->is_block || stream->full_halves == 2;
    stream->was_reset |= is_whole && !stream->has_hole && !stream->is_partial &&
                         (takes_back (&stream->report, &stream->last) || !has_all (&stream->report, &stream->last));
    if (stream->is_block || takes_back (&stream->report, &stream->last))
        forget (&stream->last);
    if (stream->has_hole || is_whole || stream->last.n == 0)
        stream->is_partial = stream->has_hole || !is_whole;
    for (uint32_t i = 0; i < stream->report.n; i++)
        xla_report_rows_set (&stream->last, &stream->report.items[i], stream->arena);
    stream->reports++;
}

static void begin_report (struct xla_stream *stream, bool is_block)
{
    forget (&stream->first);
    forget (&stream->report);
    stream->halves = stream->full_halves = 0;
    stream->has_hole = false;
    stream->is_block = is_block;
    stream->is_over = false;
}

/* ---- halves ---- */

static void end_half (struct xla_stream *stream)
{
    if (stream->half.n == 0)
        return;
    if (stream->halves == 2 || (stream->halves == 1 && has_all (&stream->half, &stream->first))) {
        keep_report (stream);
        begin_report (stream, false);
    }
    for (uint32_t i = 0; i < stream->half.n; i++) {
        xla_report_rows_add_up (&stream->report, &stream->half.items[i], stream->arena);
        if (stream->halves == 0)
            xla_report_rows_add_up (&stream->first, &stream->half.items[i], stream->arena);
    }
    stream->halves++;
    stream->full_halves += stream->half_has_counters && stream->half.items[0].is_metric;
    forget (&stream->half);
    stream->half_has_counters = false;
}

static void end_report (struct xla_stream *stream, bool next_is_block)
{
    end_half (stream);
    keep_report (stream);
    begin_report (stream, next_is_block);
}

/* ---- rows ---- */

static void close_row (struct xla_stream *stream)
{
    if (stream->is_open && stream->has_count && (stream->has_total || !stream->row.is_metric)) {
        xla_report_rows_add_up (&stream->half, &stream->row, stream->arena);
        stream->half_has_counters = !stream->row.is_metric;
    } else if (stream->is_open) {
        stream->has_hole = true;
    }
    stream->is_open = false;
}

static void open_row (struct xla_stream *stream, const struct xla_report_line *line)
{
    struct xla_report_row row = { .name = line->rest, .is_metric = line->kind == XLA_LINE_METRIC };
    close_row (stream);
    if (!row.name.len) {
        stream->bad_names++;
        return;
    }
    if (stream->is_over)
        end_report (stream, false);
    if ((row.is_metric && stream->half_has_counters) || xla_report_rows_find (&stream->half, &row))
        end_half (stream);
    stream->row = row;
    stream->is_open = true;
    stream->has_count = stream->has_total = false;
}

static void take_count (struct xla_stream *stream, struct text text)
{
    if (!stream->has_count)
        stream->has_count = text_to_u64 (text, &stream->row.count);
    if (stream->has_count && !stream->row.is_metric)
        close_row (stream);
}

static void take_total (struct xla_stream *stream, struct text text)
{
    if (!stream->has_total)
        stream->has_total = xla_value_read (text, &stream->row.unit, &stream->row.total);
}

static void take_detail (struct xla_stream *stream, const struct xla_report_line *line)
{
    if (!stream->is_open)
        return;
    if (line->kind == (stream->row.is_metric ? XLA_LINE_SAMPLES : XLA_LINE_VALUE))
        take_count (stream, line->rest);
    else if (stream->row.is_metric && line->kind == XLA_LINE_TOTAL)
        take_total (stream, line->rest);
    else if (stream->row.is_metric && line->kind == XLA_LINE_PERCENTILES && stream->has_count && stream->has_total)
        close_row (stream);
}

void xla_stream_add_line (struct xla_stream *stream, const struct xla_report_line *line)
{
    if (line->kind == XLA_LINE_HEADER) { /* only a program that has written the report before comes to write this one */
        close_row (stream);
        end_report (stream, true);
    } else if (line->kind == XLA_LINE_METRIC || line->kind == XLA_LINE_COUNTER) {
        open_row (stream, line);
    } else {
        take_detail (stream, line);
    }
}

void xla_stream_add_empty_line (struct xla_stream *stream)
{
    if (!stream->is_open && stream->half.n + stream->report.n > 0)
        stream->is_over = true;
}

bool xla_stream_end (struct xla_stream *stream, bool is_short)
{
    bool is_whole = !stream->is_open && (stream->is_over || (!is_short && !stream->is_block));
    bool is_next = !stream->is_block && stream->halves == 2; /* what broke off is the report behind this one */
    if (is_whole)
        end_half (stream);
    if (is_whole || is_next)
        keep_report (stream);
    return is_whole && !is_short;
}
