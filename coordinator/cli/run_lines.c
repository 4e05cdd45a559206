#include "coordinator/cli/run_lines.h"

#include <inttypes.h>

#include "coordinator/view/event_json.h"
#include "coordinator/view/line.h"
#include "coordinator/view/plain.h"

enum { QUIET_MS = 10000, QUIET_AGAIN_MS = 30000, LINES_BYTES = 4 << 20 };

struct run_lines {
    struct run_lines_options options;
    struct style style;
    struct buf bytes; /* being made */
    uint64_t sent_ms; /* boot clock: of the last line; 0: time was not told yet */
    bool remarked;    /* what is waited for was said since */
};

static void on_note (void *owner, uint64_t at_ms, struct text text)
{
    struct run_lines *lines = owner;
    buf_printf (&lines->bytes, "[%6" PRIu64 ".%" PRIu64 " s] ", at_ms / 1000, at_ms % 1000 / 100);
    style_print_text (&lines->style, text, &lines->bytes);
    buf_byte (&lines->bytes, '\n');
}

struct run_lines *run_lines_open (const struct run_lines_options *options)
{
    struct run_lines *lines = mem_alloc (sizeof (*lines));
    lines->options = *options;
    lines->style = (struct style){ .unicode = options->unicode };
    buf_init (&lines->bytes, LINES_BYTES);
    feed_listen (options->feed, options->json ? NULL : on_note, lines);
    return lines;
}

/* A stream that is gone has no reader: its errors are ignored. */
static void print (struct run_lines *lines, uint64_t boot_ms)
{
    FILE *out = lines->options.out;
    if (lines->bytes.len == 0)
        return;
    if (fwrite (lines->bytes.ptr, 1, lines->bytes.len, out) == lines->bytes.len)
        (void) fflush (out);
    buf_clear (&lines->bytes);
    lines->sent_ms = boot_ms;
    lines->remarked = false;
}

void run_lines_fact (struct run_lines *lines, const struct fact *fact, uint64_t boot_ms)
{
    if (lines->options.json)
        event_json (feed_board (lines->options.feed), fact, &lines->bytes);
    print (lines, boot_ms);
}

void run_lines_remark (struct run_lines *lines, const char *remark, uint64_t boot_ms)
{
    if (lines->options.json)
        event_json_remark (text_of (remark), &lines->bytes);
    else
        line_print_painted (&lines->bytes, &lines->style, PAINT_NONE, text_of (remark));
    print (lines, boot_ms);
}

/* A file that nothing is added to looks like a run that hangs: say what is waited for, seldom. */
static void remark_waiting (struct run_lines *lines, uint64_t boot_ms)
{
    if (boot_ms < lines->sent_ms + (lines->remarked ? QUIET_AGAIN_MS : QUIET_MS))
        return;
    plain_waiting (feed_board (lines->options.feed), feed_now_ms (lines->options.feed, boot_ms), &lines->style,
                   &lines->bytes);
    print (lines, boot_ms);
    lines->sent_ms = boot_ms;
    lines->remarked = true;
}

void run_lines_tick (struct run_lines *lines, uint64_t boot_ms, bool frozen)
{
    if (lines->sent_ms == 0)
        lines->sent_ms = boot_ms; /* nothing was quiet before */
    print (lines, boot_ms);
    if (!frozen && !lines->options.json)
        remark_waiting (lines, boot_ms);
}

void run_lines_close (struct run_lines *lines)
{
    if (lines == NULL)
        return;
    feed_tick (lines->options.feed, UINT64_MAX);
    print (lines, lines->sent_ms);
    feed_listen (lines->options.feed, NULL, NULL);
    buf_release (&lines->bytes);
    mem_free (lines);
}
