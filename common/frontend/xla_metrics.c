#include "common/frontend/xla_metrics.h"

#include "common/frontend/xla_stream.h"

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
