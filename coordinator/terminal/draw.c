#include "coordinator/terminal/draw.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

enum { ROWS_FOR_ALL = 8 };
#define KEYS_LINE "? keys  n next failure  q leave"
enum { KEYS_LEAST = 6, HELP_BYTES = 4096 };

const char *number_print (uint64_t number, char out[NUMBER_BYTES])
{
    char digits[24];
    size_t len = (size_t) snprintf (digits, sizeof (digits), "%" PRIu64, number), at = 0;
    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

/* "RUNNING", or how it ended; with what is bad about it. */
static void draw_state (const struct drawing *drawing, struct line *line)
{
    const struct scene *scene = drawing->scene;
    const struct board *board = scene->board;
    char state[32];
    snprintf (state, sizeof (state), "%s",
              board->ended          ? enum_name_of (&outcome_names, board->outcome)
              : board->interrupted  ? "interrupted"
              : board->cancel_level ? "stopping"
                                    : "running");
    for (char *at = state; *at; at++)
        *at = (char) toupper ((unsigned char) *at);
    bool good = board->ended && board->outcome == OUTCOME_PASSED, bad = board->ended && !good;
    line_painted (line,
                  good                                        ? PAINT_GOOD
                  : bad                                       ? PAINT_BAD
                  : board->interrupted || board->cancel_level ? PAINT_WARN
                                                              : PAINT_STRONG,
                  text_of (state));
}

static void draw_count (struct line *line, enum paint paint, uint32_t n, const char *what, struct arena *arena)
{
    if (n)
        line_painted (line, paint, text_format (arena, "  %u %s", n, what));
}

/* How far it is. */
static void draw_progress (const struct drawing *drawing, struct line *line)
{
    const struct scene *scene = drawing->scene;
    const struct board *board = scene->board;
    uint32_t now = scene->frontier < scene->rungs_n ? scene->frontier : scene->rungs_n - 1;
    const struct board_pass *pass = scene_rung_pass (board, now);
    enum pass last = board->rungs[now].last;
    line_printf (line, "rung %u of %u: ", now + 1, scene->rungs_n);
    line_text (line, scene_text (scene->arena, board_rung_id (board, now), SCENE_WORD_COLUMNS));
    if (last == PASS_NONE)
        line_puts (line, " is to come");
    else
        line_printf (line, "%s%s, %u/%u ended, %s of it", last == PASS_ONCE ? "" : " ",
                     last == PASS_ONCE ? "" : enum_name_of (&pass_names, last), pass->ended_n, pass->hosts_n,
                     DURATION_TEXT (board_rung_ms (board, now, scene->now_ms)));
    if (scene->left_ms)
        line_printf (line, ", about %s left", DURATION_TEXT (scene->left_ms));
}

static void draw_header (const struct drawing *drawing)
{
    const struct scene *scene = drawing->scene;
    const struct board *board = scene->board;
    const uint32_t *marks = scene->marks;
    char joined[NUMBER_BYTES], hosts[NUMBER_BYTES];
    struct line line = cells_line (drawing->cells, 0, 0, drawing->cells->columns);
    line_painted (&line, PAINT_STRONG, board->plan.slice);
    line_puts (&line, "  run ");
    line_text (&line, text_clip (board->run, RUN_SHOWN_BYTES));
    line_puts (&line, "  ");
    draw_state (drawing, &line);
    draw_count (&line, PAINT_BAD, marks[MARK_FAILED] + marks[MARK_SO_FAR], "failed", drawing->arena);
    draw_count (&line, PAINT_BAD, marks[MARK_TIMED_OUT], "timed out", drawing->arena);
    draw_count (&line, PAINT_BAD, marks[MARK_BLOCKED], "blocked", drawing->arena);
    draw_count (&line, PAINT_BAD, scene->lost_n, "lost", drawing->arena);
    draw_count (&line, PAINT_WARN, scene->silent_n, "silent", drawing->arena);
    line_printf (&line, "  %s  ", DURATION_TEXT (scene->now_ms + board->away_ms));
    if (board->joined_n < scene->hosts_n && !board->ended)
        line_printf (&line, "%s/%s hosts joined  ", number_print (board->joined_n, joined),
                     number_print (scene->hosts_n, hosts));
    struct text sentence = scene_text (scene->arena, board->sentence, SCENE_LINE_COLUMNS);
    if (text_starts (sentence, "slice ")) /* it stands in front already */
        text_take_until (&sentence, ' '), text_take_until (&sentence, ' ');
    if (board->ended)
        line_text (&line, sentence);
    else if (scene->rungs_n)
        draw_progress (drawing, &line);
}

/* By what hosts are hidden, and how many of all have a place on the screen. */
static void draw_choice (const struct drawing *drawing)
{
    static const char *const orders[] = { "by rank", "worst first", "slowest first" };
    const struct terminal_state *state = drawing->state;
    const struct scene *scene = drawing->scene;
    char shown[NUMBER_BYTES], hidden[NUMBER_BYTES], hosts[NUMBER_BYTES];
    struct line line = cells_line (drawing->cells, 1, 0, drawing->cells->columns);
    if (scene->host_set_error.len) {
        line_painted (&line, PAINT_BAD, scene->host_set_error);
        return;
    }
    if (state->filter.line[0] || scene->hidden_n) {
        line.paint = PAINT_WARN;
        line_printf (&line, "%s of %s hidden", number_print (scene->hidden_n, hidden),
                     number_print (scene->hosts_n, hosts));
        line_printf (&line, " by /%s", state->filter.line);
        line.paint = PAINT_NONE;
        line_puts (&line, "  ");
    }
    if (state->mode == MODE_LIST)
        line_printf (&line, "%s of %s shown  ", number_print (state->shown, shown),
                     number_print (scene->hosts_n, hosts));
    line_puts (&line, state->map ? "by rank" : orders[state->order]);
    struct text mesh = scene_mesh (scene);
    line_puts (&line, mesh.len ? "  mesh " : "");
    line_text (&line, mesh);
    if (state->marked_n)
        line_printf (&line, "  %u marked", state->marked_n);
}

static void draw_help (struct drawing *drawing, uint32_t row, uint32_t end)
{
    struct sheet sheet = { .arena = drawing->arena };
    const char *label, *help;
    for (uint32_t i = 0; terminal_key_help (i, &label, &help); i++)
        sheet_printf (&sheet, PAINT_NONE, "  %-12s %s", label, help);
    struct buf letters = { .max = HELP_BYTES };
    for (uint32_t mark = 0; mark < MARK_N; mark++)
        buf_printf (&letters, "%s%c %s", mark ? ", " : "  letters: ", scene_mark_letter (mark), scene_mark_word (mark));
    buf_puts (&letters, "; of who runs: h others wait for it, s slow, q quiet");
    sheet.columns = drawing->cells->columns;
    sheet_add (&sheet, PAINT_NONE, buf_finish (&letters, drawing->arena));
    sheet_draw (&sheet, drawing->cells, row, end, &drawing->state->scroll);
}

static void draw_prompt (struct drawing *drawing, uint32_t row)
{
    const struct terminal_state *state = drawing->state;
    struct line line = cells_line (drawing->cells, row, 0, drawing->cells->columns);
    if (state->prompt == PROMPT_FILTER) {
        size_t len = text_of (state->edit).len, room = drawing->cells->columns > 2 ? drawing->cells->columns - 2 : 1;
        line.paint = PAINT_STRONG;
        line_printf (&line, "/%s", state->edit + (len > room ? len - room : 0)); /* its end is what is written at */
        drawing->cursor_row = row;
        drawing->cursor_column = line.columns < line.room ? line.columns : line.room - 1;
        return;
    }
    if (state->prompt == PROMPT_CANCEL) {
        line.paint = PAINT_BAD;
        line_printf (&line, "Cancel run %.8s, as Ctrl-C in its own terminal would? y/N ", state->run);
        return;
    }
    struct text said = scene_text (drawing->arena, text_of (state->said), SAID_BYTES), keys = TEXT_LIT (KEYS_LINE);
    uint32_t columns = drawing->cells->columns;
    if (text_columns (said) + 3 + keys.len > columns)
        keys.len = text_columns (said) + 3 + KEYS_LEAST > columns ? 0 : KEYS_LEAST; /* what is said stays whole */
    line.room = keys.len ? columns - keys.len - 2 : columns;
    line.paint = state->said_is_bad ? PAINT_BAD : PAINT_FAINT;
    line_text (&line, said);
    line = cells_line (drawing->cells, row, columns - keys.len - 1, keys.len);
    line.paint = PAINT_FAINT;
    line_text (&line, keys);
}

/* ---- a host, logs ---- */

static void draw_host (struct drawing *drawing, uint32_t row, uint32_t end)
{
    if (drawing->scene->host == NULL)
        return;
    struct sheet sheet = draw_host_sheet (drawing, drawing->scene->host, drawing->cells->columns, true);
    draw_host_part (drawing, &sheet, drawing->cells, row, end, &drawing->state->scroll);
}

/* "h[0-2]: rung tiny, restored, attempt 1" */
static void draw_add_head (const struct drawing *drawing, uint32_t first, bool *drawn, struct sheet *sheet)
{
    struct text names[MARKED_MAX];
    uint32_t n = 0;
    struct buf line = { .max = 1 << 16 };
    for (uint32_t i = first; i < drawing->logs_n; i++)
        if (!drawn[i] && text_equal (drawing->logs[i].head, drawing->logs[first].head) &&
            text_equal (drawing->logs[i].body, drawing->logs[first].body)) {
            names[n++] = drawing->logs[i].name;
            drawn[i] = true;
        }
    hostset_fold (names, n, &line);
    buf_puts (&line, ": ");
    buf_add_text (&line, drawing->logs[first].head);
    sheet_add (sheet, PAINT_STRONG, buf_finish (&line, drawing->arena));
}

/* What the marked printed, equal logs once. */
static void draw_logs (struct drawing *drawing, uint32_t row, uint32_t end)
{
    struct sheet sheet = { .arena = drawing->arena };
    bool drawn[MARKED_MAX] = { false };
    for (uint32_t i = 0; i < drawing->logs_n; i++) {
        struct text rest = drawing->logs[i].body;
        if (drawn[i])
            continue;
        draw_add_head (drawing, i, drawn, &sheet);
        while (rest.len)
            sheet_add (&sheet, PAINT_NONE, text_take_until (&rest, '\n'));
    }
    sheet_draw (&sheet, drawing->cells, row, end, &drawing->state->scroll);
}

/* ---- a frame ---- */

static void draw_mode (struct drawing *drawing, uint32_t row, uint32_t end)
{
    static void (*const modes[]) (struct drawing * drawing, uint32_t row, uint32_t end) = {
        [MODE_LIST] = draw_list,
        [MODE_HOST] = draw_host,
        [MODE_LOGS] = draw_logs,
        [MODE_HELP] = draw_help,
    };
    drawing->state->page = end > row ? end - row : 1;
    modes[drawing->state->mode](drawing, row, end);
}

void terminal_draw (struct drawing *drawing)
{
    uint32_t rows = drawing->cells->rows, head = rows >= ROWS_FOR_ALL || drawing->scene->hidden_n ? 2 : 1;
    terminal_state_settle (drawing->state, drawing->scene);
    drawing->cursor_row = rows - 1;
    drawing->cursor_column = 0;
    if (!drawing->scene->board->opened) {
        cells_put_line (drawing->cells, 0, PAINT_FAINT, TEXT_LIT ("nothing is known of the run yet"));
    } else if (rows > head) {
        draw_header (drawing);
        draw_mode (drawing, head, rows - 1);
        if (head > 1)
            draw_choice (drawing);
    }
    draw_prompt (drawing, rows - 1);
}
