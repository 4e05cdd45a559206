#include "common/frontend/frontend.h"

#include <math.h>
#include <string.h>

/* ---- rows of reports, each name once ---- */

struct xla_report_rows {
    struct xla_report_row *items;
    uint32_t n, dropped; /* dropped: more than XLA_ROWS_MAX names */
};

static struct xla_report_row *xla_report_rows_find (const struct xla_report_rows *rows,
                                                    const struct xla_report_row *like)
{
    for (uint32_t i = 0; i < rows->n; i++)
        if (rows->items[i].is_metric == like->is_metric && text_equal (rows->items[i].name, like->name))
            return &rows->items[i];
    return NULL;
}

static void xla_report_rows_append (struct xla_report_rows *rows, const struct xla_report_row *row, struct arena *arena)
{
    if (!rows->items) /* once for all: the bound is small, and grown ones would stay in the arena */
        rows->items = arena_array (arena, XLA_ROWS_MAX, sizeof *rows->items);
    if (rows->n == XLA_ROWS_MAX)
        rows->dropped++;
    else
        rows->items[rows->n++] = *row;
}

/* Numbers are added up. */
static void xla_report_rows_add_up (struct xla_report_rows *rows, const struct xla_report_row *row, struct arena *arena)
{
    struct xla_report_row *known = xla_report_rows_find (rows, row);
    if (!known) {
        xla_report_rows_append (rows, row, arena);
        return;
    }
    known->count = known->count > UINT64_MAX - row->count ? UINT64_MAX : known->count + row->count;
    if (known->unit == row->unit && isfinite (known->total + row->total))
        known->total += row->total;
}

/* The later value wins. */
static void xla_report_rows_set (struct xla_report_rows *rows, const struct xla_report_row *row, struct arena *arena)
{
    struct xla_report_row *known = xla_report_rows_find (rows, row);
    if (known)
        *known = *row;
    else
        xla_report_rows_append (rows, row, arena);
}

/* ---- xla report line ---- */

/* One line of a program's output, as far as it belongs to a torch_xla report. Pure; any thread. */
enum xla_line_kind {
    XLA_LINE_OTHER = 0,
    XLA_LINE_HEADER,      /* "[MetricsData; step=7]" */
    XLA_LINE_METRIC,      /* "Metric: <name>"; `rest` is the name, empty: no name that we take */
    XLA_LINE_COUNTER,     /* "Counter: <name>" */
    XLA_LINE_SAMPLES,     /* "  TotalSamples: <integer>" */
    XLA_LINE_TOTAL,       /* "  Accumulator: <value>", in old reports and the manual "  Counter: " */
    XLA_LINE_RATE,        /* "  ValueRate: " and "  Rate: "; left out when all samples have one time */
    XLA_LINE_PERCENTILES, /* "  Percentiles: ", the last line of a metric */
    XLA_LINE_VALUE,       /* "  Value: <integer>" of a counter */
};

struct xla_report_line {
    enum xla_line_kind kind;
    bool is_glued;   /* METRIC, COUNTER: no space before it; the next line shows whether it is one */
    struct text tag; /* prefix of a launcher ("[3]: "); the same for all that hold a time of day */
    struct text rest;
};

enum { LOOK_MAX_BYTES = 1024 }; /* a keyword is within this much of the line's start */

static const struct {
    const char *word;
    enum xla_line_kind kind;
} keywords[] = { { "Metric", XLA_LINE_METRIC },           { "Counter", XLA_LINE_COUNTER },
                 { "TotalSamples", XLA_LINE_SAMPLES },    { "Accumulator", XLA_LINE_TOTAL },
                 { "ValueRate", XLA_LINE_RATE },          { "Rate", XLA_LINE_RATE },
                 { "Percentiles", XLA_LINE_PERCENTILES }, { "Value", XLA_LINE_VALUE } };
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

/* Is the text valid as a counter's name, which is shown and compared? */
static bool xla_metrics_is_name (struct text text)
{
    if (!text.len || text.len > XLA_NAME_MAX_BYTES || text.ptr[0] == ' ' || text.ptr[text.len - 1] == ' ')
        return false;
    for (uint32_t i = 0; i < text.len; i++)
        if (text.ptr[i] < ' ' || text.ptr[i] > '~')
            return false;
    return true;
}

/* spaces only */
static bool xla_is_blank (struct text text)
{
    return without_end (text, ' ').len == 0;
}

/* "  Counter: 04s589ms" tells the total of a metric, "Counter: MarkStep" begins a row. */
static bool is_total (struct text prefix, struct text rest)
{
    enum xla_unit unit;
    double value;
    return text_ends (prefix, indent) && xla_value_read (rest, &unit, &value);
}

static bool make_line (uint32_t keyword, struct text prefix, struct text rest, struct xla_report_line *out)
{
    enum xla_line_kind kind = keywords[keyword].kind;
    if (kind == XLA_LINE_COUNTER && is_total (prefix, rest))
        kind = XLA_LINE_TOTAL;
    bool is_head = kind == XLA_LINE_METRIC || kind == XLA_LINE_COUNTER;
    bool is_glued = prefix.len && prefix.ptr[prefix.len - 1] > ' ';
    if (!is_head && !text_ends (prefix, indent)) /* such as "Rate" of "ValueRate" */
        return false;
    if (!is_head)
        prefix.len -= sizeof indent - 1;
    if (is_head && !xla_metrics_is_name (rest))
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

/* The part that a terminal would show, since a progress bar overwrites itself. */
static struct text xla_metrics_shown (struct text line)
{
    line = without_end (line, '\r');
    uint32_t at = line.len;
    while (at > 0 && line.ptr[at - 1] != '\r')
        at--;
    return from (line, at);
}

/* `line` without its end. */
static struct xla_report_line xla_report_line_read (struct text line)
{
    struct xla_report_line out = { 0 };
    line = xla_metrics_shown (line);
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

/* Could this unfinished line become a line of a report? */
static bool xla_report_line_is_prefix (struct text begun)
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

/* Is the line empty, or only a tag? */
static bool xla_report_line_is_empty (struct text line, struct text tag)
{
    line = without_end (without_end (line, '\r'), ' ');
    return text_equal (line, without_end (tag, ' '));
}

/* ---- xla stream ---- */

/* The reports of one process, line after line; private to common/frontend. Not thread-safe.
 *
 * A report is two halves in a row, the framework's and the runtime's, each its metrics and then its counters; either
 * may lack some, and a name may stand in both. In its own file each report has a header and a final empty line; printed
 * ones mostly have the empty line. Nothing else marks the beginning of a half or a report. So a half ends where a
 * metric follows a counter or a name repeats; a third half, or one with all names of a report's first half, begins the
 * next report. A foreign empty line splits a report in two; the second is merged over the first. A printed report may
 * lack its beginning, unless both its halves have metrics and counters. */
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

/* A short report has only a few counters: merging it over the whole one before loses nothing. If a number fell, the
 * program cleared its counters, and only its later reports count. */
static void keep_report (struct xla_stream *stream)
{
    if (stream->report.n == 0)
        return;
    bool is_whole = stream->is_block || stream->full_halves == 2;
    stream->was_reset |= is_whole && !stream->has_hole && !stream->is_partial &&
                         (takes_back (&stream->report, &stream->last) || !has_all (&stream->report, &stream->last));
    if (stream->is_block || takes_back (&stream->report, &stream->last))
        stream->last.n = 0;
    if (stream->has_hole || is_whole || stream->last.n == 0)
        stream->is_partial = stream->has_hole || !is_whole;
    for (uint32_t i = 0; i < stream->report.n; i++)
        xla_report_rows_set (&stream->last, &stream->report.items[i], stream->arena);
    stream->reports++;
}

static void begin_report (struct xla_stream *stream, bool is_block)
{
    stream->first.n = stream->report.n = 0;
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
    stream->half.n = 0;
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
    if (line->kind == XLA_LINE_HEADER) { /* a program writes this report only after the one before */
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
    bool is_next = !stream->is_block && stream->halves == 2; /* the next report is cut, not this one */
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

/* A logger prefixes only the first line of a message, and a progress bar may precede it on the line: so only the head
 * of that row has a prefix. */
static bool begins_message (struct xla_report_line *line, struct text rest)
{
    struct text next;
    if (!text_cut (&rest, '\n', &next))
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

static void xla_metrics_take_line (struct reading *reading, struct text text, struct text rest)
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
    LOCAL_ARENA scratch = { 0 };
    struct reading reading = { .arena = &scratch, .skips = text->starts_late };
    struct text rest = text->text, line;
    *out = (struct xla_metrics){ 0 };
    while (text_cut (&rest, '\n', &line))
        xla_metrics_take_line (&reading, line, rest);
    bool breaks_off = rest.len && xla_report_line_is_prefix (rest);
    for (uint32_t i = 0; i < reading.n; i++) {
        struct xla_stream *stream = reading.streams[i];
        bool is_short = breaks_off || (text->ends_short && stream == reading.latest);
        if (!xla_stream_end (stream, is_short))
            out->is_cut = true;
        add_stream (out, stream, arena);
    }
    out->dropped += reading.dropped;
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
