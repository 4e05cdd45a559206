#include "coordinator/view/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "coordinator/view/burst.h"
#include "coordinator/view/event_json.h"
#include "coordinator/view/grid.h"
#include "coordinator/view/plain.h"

enum {
    REDRAW_LEAST_MS = 100,
    QUIET_MS = 10000,
    QUIET_AGAIN_MS = 30000,
    NOTABLE_KEPT = 8,
    SCREEN_BYTES = 4 << 20,
    COLUMNS_USUAL = 80,
    ROWS_USUAL = 24,
    ROWS_LEAST = 4
};

struct live {
    struct live_options options;
    struct style style;
    struct board *board;
    struct burst *burst;
    struct buf lines;                  /* being made */
    struct buf screen, shown;          /* the grid being drawn, and the one that is on the screen */
    struct text notable[NOTABLE_KEPT]; /* the newest last; owned */
    uint32_t notable_n;
    uint64_t now_ms;              /* boot clock, as last told; 0: it was not */
    uint64_t received_ms, lag_ms; /* of the newest fact: when it was heard, and how old it was then */
    uint64_t frozen_ms;           /* run clock; UINT64_MAX: it runs */
    uint64_t sent_ms;             /* plain: when the last line was */
    bool remarked;                /* plain: what is waited for was said since */
    bool drawn;
    uint64_t drawn_ms; /* when it was redrawn last */
};

/* A stream that is gone has no reader: its errors are ignored. */
static void print (struct live *live, const struct buf *bytes)
{
    if (fwrite (bytes->ptr, 1, bytes->len, live->options.out) == bytes->len)
        (void) fflush (live->options.out);
}

static void print_heading (struct live *live)
{
    if (live->options.heading == NULL)
        return;
    buf_printf (&live->lines, "%s\n", live->options.heading);
    print (live, &live->lines);
}

struct live *live_open (const struct live_options *options)
{
    struct live *live = mem_alloc (sizeof (*live));
    live->options = *options;
    live->style = (struct style){
        .color = options->color && !options->plain,
        .unicode = style_locale_is_utf8 (getenv ("LC_ALL"), getenv ("LC_CTYPE"), getenv ("LANG")),
    };
    live->board = board_create ();
    live->burst = burst_create (options->plain);
    live->frozen_ms = UINT64_MAX;
    buf_init (&live->lines, SCREEN_BYTES);
    buf_init (&live->screen, SCREEN_BYTES);
    buf_init (&live->shown, SCREEN_BYTES);
    print_heading (live);
    return live;
}

const struct board *live_board (const struct live *live)
{
    return live->board;
}

static uint64_t run_now_ms (const struct live *live)
{
    if (live->frozen_ms != UINT64_MAX)
        return live->frozen_ms;
    return live->board->clock_ms + (live->board->ended ? 0 : live->lag_ms + (live->now_ms - live->received_ms));
}

/* Before it is told for the first time, nothing was quiet. */
static void take_time (struct live *live, uint64_t boot_ms)
{
    if (live->now_ms == 0)
        live->sent_ms = live->received_ms = boot_ms;
    if (boot_ms > live->now_ms)
        live->now_ms = boot_ms;
}

/* ---- lines ---- */

static void keep_notable (struct live *live, struct text line)
{
    if (live->notable_n == NOTABLE_KEPT) {
        mem_free ((void *) live->notable[0].ptr);
        memmove (live->notable, live->notable + 1, --live->notable_n * sizeof (live->notable[0]));
    }
    char *copy = mem_alloc (line.len + 1);
    memcpy (copy, line.ptr, line.len);
    live->notable[live->notable_n++] = (struct text){ copy, line.len };
}

static void keep_lines (struct live *live)
{
    const struct buf *lines = &live->lines;
    for (size_t from = 0, at = 0; at < lines->len; at++) {
        if (lines->ptr[at] != '\n')
            continue;
        keep_notable (live, (struct text){ (const char *) lines->ptr + from, (uint32_t) (at - from) });
        from = at + 1;
    }
}

static void tell_lines (struct live *live)
{
    if (live->lines.len == 0)
        return;
    if (live->options.plain)
        print (live, &live->lines);
    else
        keep_lines (live);
    live->sent_ms = live->now_ms;
    live->remarked = false;
}

/* How old it is, only the wall clocks of two processes tell; how time goes on from there is not for them to say. */
static void take_age (struct live *live, const struct fact *fact, uint64_t wall_ms)
{
    if (fact->at_ms < live->board->clock_ms)
        return;
    live->received_ms = live->now_ms;
    live->lag_ms = wall_ms > fact->wall_ms ? wall_ms - fact->wall_ms : 0;
}

void live_fact (struct live *live, const struct fact *fact, struct live_time now)
{
    struct style uncut = { .unicode = live->style.unicode };
    take_time (live, now.boot_ms);
    take_age (live, fact, now.wall_ms);
    board_apply (live->board, fact);
    buf_clear (&live->lines);
    if (live->options.json)
        event_json (live->board, fact, &live->lines);
    else
        burst_fact (live->burst, live->board, fact, live->now_ms, &uncut, &live->lines);
    tell_lines (live);
}

/* What has waited for other hosts to share it. */
static void tell_shared (struct live *live, uint64_t now_ms)
{
    struct style uncut = { .unicode = live->style.unicode };
    buf_clear (&live->lines);
    burst_tell (live->burst, live->board, now_ms, &uncut, &live->lines);
    tell_lines (live);
}

void live_print_remark (struct live *live, const char *remark)
{
    struct style uncut = { .unicode = live->style.unicode };
    buf_clear (&live->lines);
    if (live->options.json)
        event_json_remark (text_of (remark), &live->lines);
    else
        line_print_painted (&live->lines, &uncut, PAINT_NONE, text_of (remark));
    tell_lines (live);
}

void live_freeze_clock (struct live *live, bool frozen)
{
    if (frozen && live->frozen_ms == UINT64_MAX)
        live->frozen_ms = run_now_ms (live);
    else if (!frozen)
        live->frozen_ms = UINT64_MAX;
}

/* ---- the terminal ---- */

static void measure (struct live *live)
{
    struct winsize size = { 0 };
    bool known = ioctl (fileno (live->options.out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    live->style.columns = known ? size.ws_col : COLUMNS_USUAL;
    live->style.rows = known ? size.ws_row : ROWS_USUAL;
    if (live->style.rows < ROWS_LEAST)
        live->style.rows = ROWS_LEAST;
}

/* The lines of the grid, each erased to its end, and how many there are. */
static uint32_t add_lines (const struct buf *grid, struct buf *out)
{
    uint32_t n = 0;
    for (size_t i = 0; i < grid->len; i++) {
        if (grid->ptr[i] == '\n') {
            buf_puts (out, "\x1b[K\r");
            n++;
        }
        buf_byte (out, grid->ptr[i]);
    }
    return n;
}

/* One system call, where stdio would make several of a drawing: a death between them would leave the cursor hidden. */
static void paint_screen (struct live *live, const struct buf *bytes)
{
    if (fflush (live->options.out) != 0)
        return; /* as in print */
    for (size_t at = 0; at < bytes->len;) {
        struct iovec rest = { bytes->ptr + at, bytes->len - at };
        ssize_t written = writev (fileno (live->options.out), &rest, 1);
        if (written < 0 && errno != EINTR)
            return;
        at += written > 0 ? (size_t) written : 0;
    }
}

/* Below an empty line, on which the cursor rests; below all of it nothing of before is left. */
static void draw (struct live *live)
{
    buf_clear (&live->lines);
    buf_puts (&live->lines, "\x1b[?25l\r\x1b[K\r\n");
    uint32_t n = 1 + add_lines (&live->screen, &live->lines);
    buf_printf (&live->lines, "\x1b[J\x1b[%uA\x1b[?25h", n);
    paint_screen (live, &live->lines);
    live->drawn = true;
}

static void redraw (struct live *live)
{
    measure (live);
    live->style.rows--; /* the empty line */
    buf_clear (&live->screen);
    grid_draw (live->board, run_now_ms (live), &live->style, live->notable, live->notable_n, &live->screen);
    if (live->screen.len == 0 || text_equal (buf_as_text (&live->screen), buf_as_text (&live->shown)))
        return;
    draw (live);
    buf_clear (&live->shown);
    buf_add (&live->shown, live->screen.ptr, live->screen.len);
}

/* A file that nothing is added to looks like a run that hangs: say what is waited for, seldom. */
static void remark_waiting (struct live *live)
{
    struct style uncut = { .unicode = live->style.unicode };
    if (live->now_ms < live->sent_ms + (live->remarked ? QUIET_AGAIN_MS : QUIET_MS) || live->frozen_ms != UINT64_MAX)
        return;
    buf_clear (&live->lines);
    plain_waiting (live->board, run_now_ms (live), &uncut, &live->lines);
    tell_lines (live);
    live->sent_ms = live->now_ms;
    live->remarked = true;
}

void live_tick (struct live *live, uint64_t boot_ms)
{
    take_time (live, boot_ms);
    if (live->options.json)
        return; /* what is waited for is no event */
    tell_shared (live, live->now_ms);
    if (live->options.plain) {
        remark_waiting (live);
    } else if (live->now_ms >= live->drawn_ms + REDRAW_LEAST_MS) {
        /* whoever ticks with every fact must not draw with every heartbeat */
        redraw (live);
        live->drawn_ms = live->now_ms;
    }
}

/* The end of it goes into the scrollback: every rung, however many lines that takes. */
static void draw_last (struct live *live)
{
    measure (live);
    live->style.rows = 0;
    buf_clear (&live->screen);
    grid_draw (live->board, run_now_ms (live), &live->style, live->notable, live->board->ended ? 0 : live->notable_n,
               &live->screen);
    buf_clear (&live->lines);
    buf_puts (&live->lines, live->drawn ? "\r\x1b[J" : "");
    add_lines (&live->screen, &live->lines);
    print (live, &live->lines);
}

void live_close (struct live *live)
{
    if (live == NULL)
        return;
    tell_shared (live, UINT64_MAX);
    if (!live->options.plain && live->board->opened)
        draw_last (live);
    for (uint32_t i = 0; i < live->notable_n; i++)
        mem_free ((void *) live->notable[i].ptr);
    burst_destroy (live->burst);
    board_destroy (live->board);
    buf_release (&live->lines);
    buf_release (&live->screen);
    buf_release (&live->shown);
    mem_free (live);
}
