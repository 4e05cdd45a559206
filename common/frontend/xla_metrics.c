#include "common/frontend/xla_metrics.h"

#include "common/frontend/xla_report_line.h"
#include "common/frontend/xla_report_rows.h"

/* ---- xla stream ---- */

/* The reports of one process, line after line; private to common/frontend. Not thread-safe.
 *
 * A report is two halves in a row, the framework's and the runtime's, each its metrics and then its counters; either
 * may lack some, and a name may stand in both. In its own file each report has a header and a final empty line; printed
 * ones mostly have the empty line. Nothing else marks where a half or a report begins, so: a half ends where a metric
 * follows a counter or a name comes again, and a half that has all the names of a report's first one, or is a third,
 * begins the next report. Somebody else's empty line splits a report in two; the second is laid over the first. A
 * printed report may lack its beginning, unless both its halves have metrics and counters. */
struct xla_stream {
    struct text tag;
    struct arena *arena;
    struct xla_report_row row; /* the one being read */
    bool is_open, has_count, has_total;
    struct xla_report_rows half, first, report; /* being read; the report's first; all halves of the report so far */
    bool half_has_counters;
    uint32_t halves, full_halves; /* full: with metrics and with counters */
    bool is_block, is_over;       /* the report has a header; its empty line has come */
    bool has_hole;                /* a row of it was not whole */
    struct xla_report_rows last;  /* what whole reports have said */
    bool is_partial;              /* that may lack rows */
    bool was_reset;               /* a number fell, or a row vanished, from one whole report to the next */
    uint32_t reports, bad_names;
};

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

static void xla_stream_add_line (struct xla_stream *stream, const struct xla_report_line *line)
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

static void xla_stream_add_empty_line (struct xla_stream *stream)
{
    if (!stream->is_open && stream->half.n + stream->report.n > 0)
        stream->is_over = true;
}

/* After the last line. `is_short`: the text may break off in this report. False: the last report was not whole. */
static bool xla_stream_end (struct xla_stream *stream, bool is_short)
{
    bool is_whole = !stream->is_open && (stream->is_over || (!is_short && !stream->is_block));
    bool is_next = !stream->is_block && stream->halves == 2; /* what broke off is the report behind this one */
    if (is_whole)
        end_half (stream);
    if (is_whole || is_next)
        keep_report (stream);
    return is_whole && !is_short;
}

/* ---- xla metrics ---- */

struct reading {
    struct xla_stream *streams[XLA_STREAMS_MAX];
    uint32_t n, dropped;
    struct arena *arena;
    bool skips;                /* still in what began before the text */
    struct xla_stream *latest; /* the line read last was one of its reports */
};

static bool next_line (struct text *text, struct text *line)
{
    uint32_t at;
    if (!text_find (*text, TEXT_LIT ("\n"), &at))
        return false;
    *line = (struct text){ text->ptr, at };
    *text = (struct text){ text->ptr + at + 1, text->len - at - 1 };
    return true;
}

/* A logger puts its prefix before the first line of what it was given only, and a progress bar stands there without an
 * end of its line: that row's head has it, the rest not. */
static bool begins_message (struct xla_report_line *line, struct text rest)
{
    struct text next;
    if (!next_line (&rest, &next))
        return false;
    struct xla_report_line detail = xla_report_line_read (next);
    if (text_equal (line->tag, detail.tag) || !xla_is_blank (detail.tag) ||
        detail.kind != (line->kind == XLA_LINE_METRIC ? XLA_LINE_SAMPLES : XLA_LINE_VALUE))
        return false;
    line->tag = detail.tag;
    return true;
}

static struct xla_stream *stream_of (struct reading *reading, struct text tag)
{
    for (uint32_t i = 0; i < reading->n; i++)
        if (text_equal (reading->streams[i]->tag, tag))
            return reading->streams[i];
    if (reading->n == XLA_STREAMS_MAX) {
        reading->dropped++;
        return NULL;
    }
    struct xla_stream *stream = arena_alloc (reading->arena, sizeof *stream);
    stream->tag = tag;
    stream->arena = reading->arena;
    reading->streams[reading->n++] = stream;
    return stream;
}

static void take_other (struct reading *reading, struct text line)
{
    enum { EMPTY_MAX_BYTES = XLA_PREFIX_MAX_BYTES + 8 };
    reading->skips = false;
    reading->latest = NULL;
    for (uint32_t i = 0; i < reading->n && line.len <= EMPTY_MAX_BYTES; i++)
        if (xla_report_line_is_empty (line, reading->streams[i]->tag))
            xla_stream_add_empty_line (reading->streams[i]);
}

static void take_line (struct reading *reading, struct text text, struct text rest)
{
    struct xla_report_line line = xla_report_line_read (text);
    bool is_head = line.kind == XLA_LINE_METRIC || line.kind == XLA_LINE_COUNTER;
    bool is_message = is_head && begins_message (&line, rest);
    if (line.kind == XLA_LINE_OTHER || (line.is_glued && !is_message)) {
        take_other (reading, text);
        return;
    }
    if (line.kind == XLA_LINE_HEADER)
        reading->skips = false;
    if (reading->skips)
        return;
    struct xla_stream *stream = stream_of (reading, line.tag);
    if (stream && is_message)
        xla_stream_add_empty_line (stream);
    if (stream)
        xla_stream_add_line (stream, &line);
    reading->latest = stream;
}

static void add_rows (struct xla_metrics *to, const struct xla_report_row *rows, uint32_t n, struct arena *arena)
{
    struct xla_report_rows all = { .items = to->rows, .n = to->n };
    for (uint32_t i = 0; i < n; i++)
        xla_report_rows_add_up (&all, &rows[i], arena);
    to->rows = all.items;
    to->n = all.n;
    to->dropped += all.dropped;
}

static void add_stream (struct xla_metrics *to, const struct xla_stream *stream, struct arena *arena)
{
    add_rows (to, stream->last.items, stream->last.n, arena);
    to->reports += stream->reports;
    to->processes += stream->reports > 0;
    to->is_partial = to->is_partial || stream->is_partial;
    to->was_reset = to->was_reset || stream->was_reset;
    to->dropped += stream->half.dropped + stream->report.dropped + stream->last.dropped + stream->bad_names;
}

void xla_metrics_read (const struct xla_text_piece *text, struct arena *arena, struct xla_metrics *out)
{
    struct arena scratch = { 0 };
    struct reading reading = { .arena = &scratch, .skips = text->starts_late };
    struct text rest = text->text, line;
    *out = (struct xla_metrics){ 0 };
    while (next_line (&rest, &line))
        take_line (&reading, line, rest);
    bool breaks_off = rest.len && xla_report_line_is_prefix (rest);
    for (uint32_t i = 0; i < reading.n; i++) {
        struct xla_stream *stream = reading.streams[i];
        bool is_short = breaks_off || (text->ends_short && stream == reading.latest);
        if (!xla_stream_end (stream, is_short))
            out->is_cut = true;
        add_stream (out, stream, arena);
    }
    out->dropped += reading.dropped;
    arena_release (&scratch);
}

void xla_metrics_add_process (struct xla_metrics *to, const struct xla_metrics *from, struct arena *arena)
{
    add_rows (to, from->rows, from->n, arena);
    to->reports += from->reports;
    to->processes += from->processes;
    to->is_partial = to->is_partial || from->is_partial;
    to->was_reset = to->was_reset || from->was_reset;
    to->is_cut = to->is_cut || from->is_cut;
    to->dropped += from->dropped;
}

const struct xla_report_row *xla_metrics_find (const struct xla_metrics *metrics, bool is_metric, const char *name)
{
    const struct xla_report_rows rows = { .items = metrics->rows, .n = metrics->n };
    const struct xla_report_row like = { .name = text_of (name), .is_metric = is_metric };
    return xla_report_rows_find (&rows, &like);
}
