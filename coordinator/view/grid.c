#include "coordinator/view/grid.h"

#include "common/base/duration.h"
#include "coordinator/view/group_text.h"
#include "coordinator/view/plain.h"
#include "coordinator/view/waiting.h"

enum {
    WAITING_BYTES = 1 << 20,
    NOTABLE_LINES = 6,
    FAILURE_LINES = 6,
    RUNGS_LEAST = 3,
    BESIDE_RUNGS = 4,
    WORDS_COLUMNS = 48
};

/* How many lines each part gets. Rungs first, but never so many that nothing of the waiting shows. */
struct layout {
    uint32_t hosts, rungs, violations, failures, waiting, notable;
};

static uint32_t least (uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t take (uint32_t *left, uint32_t wanted)
{
    uint32_t taken = least (*left, wanted);
    *left -= taken;
    return taken;
}

static uint32_t rungs_wanted (uint32_t rungs, uint32_t left)
{
    uint32_t most = left > RUNGS_LEAST + BESIDE_RUNGS ? left - BESIDE_RUNGS : RUNGS_LEAST;
    return least (rungs, most);
}

static struct layout lay_out (const struct style *style, struct layout wanted)
{
    uint32_t left = style->rows > 2 ? style->rows - 2 : 0; /* header, and the last row */
    if (style->rows == 0)
        left = UINT32_MAX;
    struct layout layout = { 0 };
    layout.rungs = take (&left, rungs_wanted (wanted.rungs, left));
    layout.hosts = take (&left, wanted.hosts);
    layout.violations = take (&left, wanted.violations);
    layout.failures = take (&left, least (wanted.failures, left - (wanted.waiting && left)));
    layout.waiting = take (&left, wanted.waiting);
    layout.notable = take (&left, least (wanted.notable, NOTABLE_LINES));
    return layout;
}

/* ---- header and hosts ---- */

static uint32_t rungs_passed (const struct board *board)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < board->plan.rungs.n; i++)
        n += board_rung_outcome (board, i) == OUTCOME_PASSED;
    return n;
}

static void draw_header (const struct board *board, uint64_t now_ms, const struct style *style, struct buf *out)
{
    char span[DURATION_TEXT_BYTES];
    struct line line = line_begin (out, style);
    line_paint (&line, PAINT_STRONG);
    line_text (&line, board->plan.slice);
    line_paint (&line, PAINT_NONE);
    line_printf (&line, "  %u/%u rungs  %s  %u/%u hosts", rungs_passed (board), board->plan.rungs.n,
                 duration_print (now_ms, span), board->joined_n, board->plan.hosts.n);
    line_puts (&line, "  run ");
    line_text (&line, (struct text){ board->run.ptr, least (board->run.len, 8) });
    if (board->cancel_level && !board->ended)
        line_puts (&line, "  stopping");
    line_end (&line);
}

enum host_shown { SHOWN_NOT = 0, SHOWN_SILENT, SHOWN_LOST, SHOWN_N };

static enum host_shown host_shown (const struct board_host *host)
{
    if (host->life == BOARD_LOST)
        return SHOWN_LOST;
    return host->life == BOARD_JOINED && host->suspected ? SHOWN_SILENT : SHOWN_NOT;
}

static uint32_t hosts_shown (const struct board *board, enum host_shown shown, uint32_t *hosts)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        if (host_shown (&board->hosts[i]) == shown)
            hosts[n++] = i;
    return n;
}

/* One line for each state that calls for attention: how many, and who. */
static uint32_t draw_hosts (const struct board *board, const struct style *style, uint32_t most, struct buf *out)
{
    static const char *const words[] = { [SHOWN_SILENT] = "silent", [SHOWN_LOST] = "lost" };
    uint32_t *hosts = mem_array (board->plan.hosts.n, sizeof (*hosts)), drawn = 0;
    for (uint32_t shown = SHOWN_LOST; shown > SHOWN_NOT; shown--) {
        uint32_t n = hosts_shown (board, shown, hosts);
        if (n == 0 || drawn == most)
            continue;
        struct buf names;
        buf_init (&names, WAITING_BYTES);
        board_print_hosts (board, hosts, n, &names);
        struct line line = line_begin (out, style);
        line_paint (&line, shown == SHOWN_LOST ? PAINT_BAD : PAINT_WARN);
        line_printf (&line, "%u %s: ", n, words[shown]);
        line_text (&line, buf_as_text (&names));
        line_end (&line);
        buf_release (&names);
        drawn++;
    }
    mem_free (hosts);
    return drawn;
}

/* Violations are always shown: they change the exit status of the run. */
static void draw_violations (const struct board *board, const struct style *style, struct buf *out)
{
    struct line line = line_begin (out, style);
    line_paint (&line, PAINT_BAD);
    line_printf (&line, "cache violated: %u finding%s", board->violations_n, board->violations_n == 1 ? "" : "s");
    line_end (&line);
}

/* A set of hosts leaves room for the words around it: " at gate rendezvous, waiting for ... (12 s of 1 min)". */
static uint32_t set_columns (const struct style *style)
{
    if (style->columns == 0)
        return 0;
    return style->columns > 3 * WORDS_COLUMNS / 2 ? style->columns - WORDS_COLUMNS : WORDS_COLUMNS / 2;
}

/* Of the running pass, before its verdicts; one line an error. */
static uint32_t failures_wanted (const struct board *board)
{
    const struct board_pass *pass = board_running_pass (board);
    return pass ? least (pass->groups.n, FAILURE_LINES) : 0;
}

/* Who, and whose fault, are never what gets cut. */
static void draw_failure (const struct board *board, const struct board_verdict_group *group, const struct style *style,
                          struct buf *out)
{
    struct buf words, owner;
    buf_init (&words, WAITING_BYTES);
    buf_init (&owner, WAITING_BYTES);
    struct line line = line_begin (out, style);
    line_paint (&line, PAINT_BAD);
    if (style->columns) {
        group_text_set (board, group->hosts.items, group->hosts.n, set_columns (style), &words);
        buf_printf (&words, " %s: ", enum_name_of (&outcome_names, group->outcome));
        line_text (&line, buf_as_text (&words));
        group_text_owner (group, &owner);
        uint32_t taken = line.columns + text_columns (buf_as_text (&owner));
        line_cell (&line, group->line.len ? group->line : group->cause,
                   style->columns > taken ? style->columns - taken : 1, 0);
    } else { /* where there is room for all of it, it is worth wrapping */
        group_text (board, group, &owner);
    }
    line_text (&line, buf_as_text (&owner));
    line_end (&line);
    buf_release (&owner);
    buf_release (&words);
}

static void draw_failures (const struct board *board, const struct style *style, uint32_t most, struct buf *out)
{
    struct style wide = *style;
    wide.columns = style->rows ? style->columns : 0;
    for (uint32_t i = 0; i < most; i++)
        draw_failure (board, &board_running_pass (board)->groups.items[i], &wide, out);
}

static uint32_t hosts_wanted (const struct board *board)
{
    bool any[SHOWN_N] = { false };
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        any[host_shown (&board->hosts[i])] = true;
    return any[SHOWN_SILENT] + any[SHOWN_LOST];
}

/* ---- the row of one rung: mark, id, pass, progress, time ---- */

enum {
    MARK_COLUMNS = 2,
    PASS_COLUMNS = 10,
    TIME_COLUMNS = 11,
    BAR_LEAST = 6,
    BAR_MOST = 24,
    COUNT_COLUMNS = 24,
    NARROW = 32,
    MIDDLING = 56,
    ROW_BYTES = 4096
};

static const char *grid_mark (enum outcome outcome, bool running, bool unicode)
{
    static const char *const fine[] = {
        [OUTCOME_NONE] = "\xC2\xB7",       [OUTCOME_PASSED] = "\xE2\x9C\x93", [OUTCOME_NOT_REACHED] = "\xC2\xB7",
        [OUTCOME_CASCADE] = "~",           [OUTCOME_BLOCKED] = "!",           [OUTCOME_LOST] = "?",
        [OUTCOME_FAILED] = "\xE2\x9C\x97", [OUTCOME_TIMED_OUT] = "T",         [OUTCOME_CANCELLED] = "-",
    };
    static const char *const ascii[] = {
        [OUTCOME_NONE] = ".",    [OUTCOME_PASSED] = "+",    [OUTCOME_NOT_REACHED] = ".",
        [OUTCOME_CASCADE] = "~", [OUTCOME_BLOCKED] = "!",   [OUTCOME_LOST] = "?",
        [OUTCOME_FAILED] = "x",  [OUTCOME_TIMED_OUT] = "T", [OUTCOME_CANCELLED] = "-",
    };
    if (running)
        return unicode ? "\xE2\x96\xB8" : ">";
    return outcome >= OUTCOME_N ? "?" : unicode ? fine[outcome] : ascii[outcome];
}

static enum paint grid_paint (enum outcome outcome, bool running)
{
    if (running)
        return PAINT_STRONG;
    if (outcome == OUTCOME_PASSED)
        return PAINT_GOOD;
    return outcome == OUTCOME_NONE || outcome == OUTCOME_NOT_REACHED ? PAINT_FAINT : PAINT_BAD;
}

/* How wide the column of ids is: the longest, but never more than a third of the line. */
static uint32_t id_columns (const struct board *board, const struct style *style)
{
    uint32_t widest = 0, most = style->columns ? style->columns / 3 : ID_MAX_BYTES;
    for (uint32_t i = 0; i < board->plan.rungs.n; i++) {
        struct buf id;
        buf_init (&id, ROW_BYTES);
        style_print_text (style, board->plan.rungs.items[i].id, &id);
        uint32_t wide = text_columns (buf_as_text (&id));
        widest = wide > widest ? wide : widest;
        buf_release (&id);
    }
    return widest < most ? widest : most;
}

static void add_bar (struct line *line, const struct board_pass *pass, uint32_t columns)
{
    uint32_t done = pass->hosts_n ? (uint32_t) ((uint64_t) pass->ended_n * columns / pass->hosts_n) : 0;
    for (uint32_t i = 0; i < columns; i++)
        if (line->style->unicode)
            line_puts (line, i < done ? "\xE2\x96\x88" : "\xE2\x96\x91");
        else
            line_puts (line, i < done ? "#" : "-");
    line_puts (line, " ");
}

static void add_running (struct line *line, const struct board_pass *pass, uint32_t room)
{
    uint32_t bar = room > COUNT_COLUMNS ? room - COUNT_COLUMNS : 0;
    if (bar >= BAR_LEAST)
        add_bar (line, pass, bar < BAR_MOST ? bar : BAR_MOST);
    line_printf (line, "%u/%u", pass->ended_n, pass->hosts_n);
    if (pass->failed_n)
        line_printf (line, " (%u failed)", pass->failed_n);
}

static void add_ended (struct line *line, const struct board_pass *pass, uint32_t room)
{
    struct buf counts;
    buf_init (&counts, ROW_BYTES);
    if (pass->skipped)
        buf_puts (&counts, "skipped");
    else
        plain_counts (pass, &counts);
    line_cell (line, buf_as_text (&counts), room, room);
    buf_release (&counts);
}

static void add_time (struct line *line, uint64_t ms, uint32_t column)
{
    char span[DURATION_TEXT_BYTES];
    duration_print (ms, span);
    line_pad (line, column);
    line_printf (line, "%*s", TIME_COLUMNS - 1, span);
}

static void add_state (struct line *line, const struct board *board, uint32_t rung, uint64_t now_ms)
{
    const struct board_rung *state = &board->rungs[rung];
    const struct board_pass *part = state->part.running && board->running ? &state->part : NULL;
    const struct board_pass *pass = part ? part : &state->passes[state->last];
    uint32_t width = line->style->columns ? line->style->columns : 100;
    uint32_t time = width >= NARROW ? TIME_COLUMNS : 0;
    if (width >= MIDDLING)
        line_cell (line, part ? TEXT_LIT ("in parts") : text_of (enum_name_of (&pass_names, state->last)), PASS_COLUMNS,
                   PASS_COLUMNS);
    uint32_t room = width > line->columns + time ? width - line->columns - time : 0;
    if (pass->running && board->running)
        add_running (line, pass, room);
    else if (room >= STYLE_COLUMNS_MIN)
        add_ended (line, pass, room);
    if (time)
        add_time (line, board_rung_ms (board, rung, now_ms), width - time);
}

static void grid_row (const struct board *board, uint32_t rung, uint64_t now_ms, const struct style *style,
                      struct buf *out)
{
    const struct board_rung *state = &board->rungs[rung];
    enum outcome outcome = board_rung_outcome (board, rung);
    bool begun = state->last != PASS_NONE, running = begun && !board->ended && outcome == OUTCOME_NONE;
    struct line line = line_begin (out, style);
    line_paint (&line, grid_paint (outcome, running));
    line_puts (&line, grid_mark (outcome, running, style->unicode));
    line_pad (&line, MARK_COLUMNS);
    if (begun) {
        uint32_t id = id_columns (board, style);
        line_cell (&line, board_rung_id (board, rung), id, id);
        line_paint (&line, PAINT_NONE);
        line_puts (&line, " ");
        add_state (&line, board, rung, now_ms);
    } else {
        line_text (&line, board_rung_id (board, rung));
    }
    line_end (&line);
}

/* ---- rungs ---- */

/* The rung that matters now: the first that has not passed. */
static uint32_t rung_now (const struct board *board)
{
    for (uint32_t i = 0; i < board->plan.rungs.n; i++)
        if (board_rung_outcome (board, i) != OUTCOME_PASSED)
            return i;
    return board->plan.rungs.n ? board->plan.rungs.n - 1 : 0;
}

static void draw_folded (const struct style *style, uint32_t n, const char *what, struct buf *out)
{
    struct line line = line_begin (out, style);
    line_paint (&line, PAINT_FAINT);
    line_printf (&line, "  %u rung%s %s", n, n == 1 ? "" : "s", what);
    line_end (&line);
}

static void draw_rungs (const struct board *board, uint64_t now_ms, const struct style *style, uint32_t lines,
                        struct buf *out)
{
    uint32_t n = board->plan.rungs.n, now = rung_now (board), from = 0, to = n;
    if (lines < n) { /* one line each for what is folded above and below, unless there is no room even for that */
        uint32_t shown = lines > 2 ? lines - 2 : lines;
        from = now > shown / 2 ? now - shown / 2 : 0;
        from = from + shown > n ? n - shown : from;
        to = from + shown;
    }
    if (lines > 2 && from > 0)
        draw_folded (style, from, "passed", out);
    for (uint32_t i = from; i < to; i++)
        grid_row (board, i, now_ms, style, out);
    if (lines > 2 && to < n)
        draw_folded (style, n - to, "to go", out);
}

/* ---- below the rungs ---- */

static void draw_waiting (const struct style *style, const struct buf *lines, uint32_t most, struct buf *out)
{
    for (size_t from = 0, at = 0; at < lines->len && most > 0; at++) {
        if (lines->ptr[at] != '\n')
            continue;
        line_print_painted (out, style, PAINT_WARN,
                            (struct text){ (const char *) lines->ptr + from, (uint32_t) (at - from) });
        from = at + 1;
        most--;
    }
}

static void draw_notable (const struct style *style, const struct text *notable, uint32_t n, uint32_t most,
                          struct buf *out)
{
    for (uint32_t i = n - least (n, most); i < n; i++) {
        line_print_painted (out, style, PAINT_FAINT, notable[i]);
    }
}

void grid_draw (const struct board *board, uint64_t now_ms, const struct style *style, const struct text *notable,
                uint32_t notable_n, struct buf *out)
{
    struct buf waiting;
    if (!board->opened || style->rows == 1)
        return;
    buf_init (&waiting, WAITING_BYTES);
    struct layout layout = { .rungs = board->plan.rungs.n,
                             .hosts = hosts_wanted (board),
                             .violations = board->violations_n > 0,
                             .failures = failures_wanted (board),
                             .notable = notable_n };
    layout.waiting = waiting_append_lines (board, now_ms, WAITING_LINES, set_columns (style), &waiting);
    layout = lay_out (style, layout);
    draw_header (board, now_ms, style, out);
    draw_rungs (board, now_ms, style, layout.rungs, out);
    draw_hosts (board, style, layout.hosts, out);
    if (layout.violations)
        draw_violations (board, style, out);
    draw_failures (board, style, layout.failures, out);
    draw_waiting (style, &waiting, layout.waiting, out);
    draw_notable (style, notable, notable_n, layout.notable, out);
    buf_release (&waiting);
}
