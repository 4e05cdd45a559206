#include "coordinator/view/grid_row.h"

#include "common/base/duration.h"
#include "coordinator/view/plain.h"

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

const char *grid_mark (enum outcome outcome, bool running, bool unicode)
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
    if (outcome >= OUTCOME_N)
        return "?";
    return unicode ? fine[outcome] : ascii[outcome];
}

enum paint grid_paint (enum outcome outcome, bool running)
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
        style_text (style, board->plan.rungs.items[i].id, &id);
        uint32_t wide = text_columns (buf_as_text (&id));
        widest = wide > widest ? wide : widest;
        buf_release (&id);
    }
    return widest < most ? widest : most;
}

/* A text in a column of its own: cut where the column ends. */
static void add_cell (struct line *line, struct text text, uint32_t columns)
{
    struct style cell_style = { .unicode = line->style->unicode, .columns = columns };
    struct buf cell;
    uint32_t to = line->columns + columns;
    buf_init (&cell, ROW_BYTES);
    struct line inner = line_begin (&cell, &cell_style);
    line_text (&inner, text);
    line_text (line, buf_as_text (&cell));
    line_pad (line, to);
    buf_release (&cell);
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
    add_cell (line, buf_as_text (&counts), room);
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
        add_cell (line, part ? TEXT_LIT ("in parts") : text_of (names_of (&pass_names, state->last)), PASS_COLUMNS);
    uint32_t room = width > line->columns + time ? width - line->columns - time : 0;
    if (pass->running && board->running)
        add_running (line, pass, room);
    else if (room >= STYLE_COLUMNS_MIN)
        add_ended (line, pass, room);
    if (time)
        add_time (line, board_rung_ms (board, rung, now_ms), width - time);
}

void grid_row (const struct board *board, uint32_t rung, uint64_t now_ms, const struct style *style, struct buf *out)
{
    const struct board_rung *state = &board->rungs[rung];
    enum outcome outcome = board_rung_outcome (board, rung);
    bool begun = state->last != PASS_NONE;
    bool running = begun && !board->ended && outcome == OUTCOME_NONE;
    struct line line = line_begin (out, style);
    line_paint (&line, grid_paint (outcome, running));
    line_puts (&line, grid_mark (outcome, running, style->unicode));
    line_pad (&line, MARK_COLUMNS);
    if (begun) {
        add_cell (&line, board_rung_id (board, rung), id_columns (board, style));
        line_paint (&line, PAINT_NONE);
        line_puts (&line, " ");
        add_state (&line, board, rung, now_ms);
    } else {
        line_text (&line, board_rung_id (board, rung));
    }
    line_end (&line);
}
