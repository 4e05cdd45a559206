#include "coordinator/view/status.h"

#include "coordinator/view/plain.h"

enum { WAITING_BYTES = 1 << 20, FAILURE_LINES = 6, WORDS_COLUMNS = 48 };

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
    struct line line = line_begin (out, style);
    line_paint (&line, PAINT_STRONG);
    line_text (&line, board->plan.slice);
    line_paint (&line, PAINT_NONE);
    line_printf (&line, "  %u/%u rungs  %s  %u/%u hosts", rungs_passed (board), board->plan.rungs.n,
                 DURATION_TEXT (now_ms), board->joined_n, board->plan.hosts.n);
    line_puts (&line, "  run ");
    line_text (&line, text_clip (board->run, RUN_SHOWN_BYTES));
    if (board->cancel_level && !board->ended)
        line_puts (&line, "  stopping");
    line_end (&line);
}

/* One line for each state that calls for attention: how many, and who. */
static void draw_hosts (const struct board *board, bool lost, struct doc *doc)
{
    uint32_t *hosts = mem_array (board->plan.hosts.n, sizeof (*hosts)), n = 0;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        const struct board_host *host = &board->hosts[i];
        if (lost ? host->life == BOARD_LOST : host->life == BOARD_JOINED && host->suspected)
            hosts[n++] = i;
    }
    buf_printf (&doc->line, "%u %s: ", n, lost ? "lost" : "silent");
    board_print_whom (board, hosts, n, &doc->line);
    doc->paint = lost ? PAINT_BAD : PAINT_WARN;
    doc_put (doc, n ? "" : NULL, NULL);
    mem_free (hosts);
}

/* A set of hosts leaves room for the words around it: " at gate rendezvous, waiting for ... (12 s of 1 min)". */
static uint32_t set_columns (const struct style *style)
{
    if (style->columns == 0)
        return 0;
    return style->columns > 3 * WORDS_COLUMNS / 2 ? style->columns - WORDS_COLUMNS : WORDS_COLUMNS / 2;
}

/* Violations are always shown: they change the exit status of the run. Failures are of the running pass, before its
 * verdicts; one line an error, uncut: it is worth wrapping. */
static void draw_failures (const struct board *board, struct doc *doc)
{
    const struct board_pass *pass = board_running_pass (board);
    uint32_t columns = doc->style.columns;
    doc->paint = PAINT_BAD;
    if (board->violations_n) {
        buf_printf (&doc->line, "cache violated: %u finding%s", board->violations_n, plural (board->violations_n));
        doc_put (doc, "", NULL);
    }
    doc->style.columns = 0;
    for (uint32_t i = 0; pass && i < pass->groups.n && i < FAILURE_LINES; i++) {
        group_text (board, &pass->groups.items[i], &doc->line);
        doc_put (doc, "", NULL);
    }
    doc->style.columns = columns;
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
        LOCAL_BUF id = { .max = ROW_BYTES };
        style_print_text (style, board->plan.rungs.items[i].id, &id);
        uint32_t wide = text_columns (buf_as_text (&id));
        widest = wide > widest ? wide : widest;
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
    LOCAL_BUF counts = { .max = ROW_BYTES };
    if (pass->skipped)
        buf_puts (&counts, "skipped");
    else
        plain_counts (pass, &counts);
    line_cell (line, buf_as_text (&counts), room, room);
}

static void grid_add_time (struct line *line, uint64_t ms, uint32_t column)
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
        grid_add_time (line, board_rung_ms (board, rung, now_ms), width - time);
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

static void draw_waiting (const struct board *board, uint64_t now_ms, struct doc *doc)
{
    LOCAL_BUF lines = { .max = WAITING_BYTES };
    waiting_append_lines (board, now_ms, WAITING_LINES, set_columns (&doc->style), &lines);
    struct text rest = buf_as_text (&lines), line;
    doc->paint = PAINT_WARN;
    while (text_cut (&rest, '\n', &line))
        doc_say (doc, "", NULL, line);
}

void grid_draw (const struct board *board, uint64_t now_ms, const struct style *style, struct buf *out)
{
    if (!board->opened)
        return;
    struct doc doc = doc_begin (out, false);
    doc.style = *style;
    draw_header (board, now_ms, style, out);
    for (uint32_t i = 0; i < board->plan.rungs.n; i++)
        grid_row (board, i, now_ms, style, out);
    draw_hosts (board, true, &doc);
    draw_hosts (board, false, &doc);
    draw_failures (board, &doc);
    draw_waiting (board, now_ms, &doc);
    doc_end (&doc);
}
