#include "coordinator/terminal/draw.h"

#include <inttypes.h>
#include <stdio.h>

#include "coordinator/view/status.h"

enum { ROWS_FOR_ALL = 8 };

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

static void draw_header (const struct drawing *drawing)
{
    const struct scene *scene = drawing->scene;
    const struct board *board = scene->board;
    char joined[NUMBER_BYTES], hosts[NUMBER_BYTES];
    struct line line = cells_line (drawing->cells, 0, 0, drawing->cells->columns);
    line_painted (&line, PAINT_STRONG, board->plan.slice);
    line_printf (&line, "  %u/%u rungs  %s  %s/%s hosts", grid_rungs_passed (board), scene->rungs_n,
                 DURATION_TEXT (scene->now_ms + board->away_ms), number_print (board->joined_n, joined),
                 number_print (scene->hosts_n, hosts));
    if (scene->left_ms && !board->ended)
        line_printf (&line, "  about %s left", DURATION_TEXT (scene->left_ms));
    if (scene->silent_n)
        line_painted (&line, PAINT_WARN, text_format (drawing->arena, "  %u silent", scene->silent_n));
    if (scene->lost_n)
        line_painted (&line, PAINT_BAD, text_format (drawing->arena, "  %u lost", scene->lost_n));
    if (board->ended)
        line_painted (&line, board->outcome == OUTCOME_PASSED ? PAINT_GOOD : PAINT_BAD, TEXT_LIT ("  ended"));
    else if (board->cancel_level)
        line_painted (&line, PAINT_WARN, TEXT_LIT ("  stopping"));
    line_puts (&line, "  run ");
    line_text (&line, text_clip (board->run, RUN_SHOWN_BYTES));
}

/* What is hidden is said whenever something is, before all else. */
static void draw_choice (const struct drawing *drawing)
{
    static const char *const orders[] = { "by rank", "worst first", "slowest first" };
    const struct terminal_state *state = drawing->state;
    const struct scene *scene = drawing->scene;
    char hidden[NUMBER_BYTES], hosts[NUMBER_BYTES];
    struct line line = cells_line (drawing->cells, 1, 0, drawing->cells->columns);
    if (state->filter.line[0] || scene->hidden_n) {
        line.paint = PAINT_WARN;
        line_printf (&line, "%s of %s hidden", number_print (scene->hidden_n, hidden),
                     number_print (scene->hosts_n, hosts));
        line_printf (&line, " by /%s", state->filter.line);
        line.paint = PAINT_NONE;
        line_puts (&line, "  ");
    }
    line_puts (&line, orders[state->order]);
    if (scene->board->plan.mesh.n) {
        line_puts (&line, "  mesh ");
        line_text (&line, scene_mesh (scene));
    }
    if (state->marked_n)
        line_printf (&line, "  %u marked", state->marked_n);
    if (scene->host_set_error.len) {
        line_puts (&line, "  ");
        line_painted (&line, PAINT_BAD, scene->host_set_error);
    }
}

static void draw_help (struct drawing *drawing, uint32_t row, uint32_t end)
{
    struct sheet sheet = { .arena = drawing->arena };
    const char *label, *help;
    for (uint32_t i = 0; terminal_key_help (i, &label, &help); i++)
        sheet_printf (&sheet, PAINT_NONE, "  %-12s %s", label, help);
    sheet_add (&sheet, PAINT_NONE, (struct text){ 0 });
    for (uint32_t mark = 0; mark < MARK_N; mark++)
        sheet_printf (&sheet, terminal_mark_paint (mark), "  %c            %s", scene_mark_letter (mark),
                      scene_mark_word (mark));
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
    line.paint = state->said_is_bad ? PAINT_BAD : PAINT_FAINT;
    line_puts (&line, state->said);
}

/* ---- draw host ---- */

enum { SPANS_BYTES = 4096, LOG_ROWS_LEAST = 3 };

/* ---- the end of its log, below all else ---- */

/* The last `most` lines. */
static struct text draw_last_lines (struct text body, uint32_t most, uint32_t *n)
{
    uint32_t from = body.len;
    for (*n = 0; from > 0 && *n < most; (*n)++) {
        from--;
        while (from > 0 && body.ptr[from - 1] != '\n')
            from--;
    }
    return from ? (struct text){ body.ptr + from, body.len - from } : body;
}

static void draw_log (const struct drawing *drawing, const struct terminal_log *log, uint32_t row, uint32_t end)
{
    uint32_t n = 0;
    struct line line = cells_line (drawing->cells, row++, 0, drawing->cells->columns);
    struct text rest = draw_last_lines (log->body, end - row, &n);
    line.paint = PAINT_STRONG;
    line_text (&line, log->name);
    line_puts (&line, ": ");
    line_text (&line, log->head);
    for (; n > 0 && row < end; n--) {
        line = cells_line (drawing->cells, row++, 0, drawing->cells->columns);
        line_text (&line, text_take_until (&rest, '\n'));
    }
}

/* Returns the row where it begins. */
static uint32_t draw_tail (const struct drawing *drawing, uint32_t row, uint32_t end)
{
    uint32_t most = (end - row) / 2, n = 0;
    if (drawing->logs_n == 0 || most < LOG_ROWS_LEAST)
        return end;
    (void) draw_last_lines (drawing->logs[0].body, most, &n);
    row = end - (n + 1 < LOG_ROWS_LEAST ? LOG_ROWS_LEAST : n + 1 < most ? n + 1 : most);
    draw_log (drawing, &drawing->logs[0], row, end);
    return row;
}

/* ---- one host ---- */

/* What nobody knows is left out: the number of what was never begun, and how long it took. */
static struct text attempt_name (const struct drawing *drawing, const struct scene_attempt *attempt)
{
    const struct scene *scene = drawing->scene;
    struct text id = scene_text (scene->arena, board_rung_id (scene->board, attempt->key.rung), SCENE_WORD_COLUMNS);
    char number[16] = "";
    if (attempt->key.attempt)
        snprintf (number, sizeof (number), " %u", attempt->key.attempt);
    return text_format (drawing->arena, "%.*s %s%s%s", TEXT_ARG (id), enum_name_of (&pass_names, attempt->key.pass),
                        number, attempt->purpose == PURPOSE_ISOLATION ? " (a part by itself)" : "");
}

static struct text attempt_words (const struct drawing *drawing, const struct scene_attempt *attempt)
{
    return text_format (drawing->arena, "%c %s%s%s", scene_mark_letter (attempt->mark), scene_mark_word (attempt->mark),
                        attempt->ms_known ? "  " : "", attempt->ms_known ? DURATION_TEXT (attempt->ms) : "");
}

static struct text span_words (const struct drawing *drawing, const struct scene_span *span)
{
    char ms[DURATION_TEXT_BYTES], name[64];
    if (span->awaited == SCENE_NOBODY)
        return text_format (drawing->arena, "%s", duration_print (span->ms, ms));
    return text_format (drawing->arena, "%s, %s came last", duration_print (span->ms, ms),
                        scene_host_name (drawing->scene, span->awaited, name));
}

static void add_spans (const struct drawing *drawing, const struct scene_attempt *attempt, struct sheet *sheet)
{
    struct buf line = { .max = SPANS_BYTES };
    for (uint32_t i = 0; i < attempt->spans_n; i++) {
        struct text words = span_words (drawing, &attempt->spans[i]);
        buf_printf (&line, "%s%.*s %.*s", i ? "; " : "    ", TEXT_ARG (attempt->spans[i].name), TEXT_ARG (words));
    }
    struct text all = buf_finish (&line, drawing->arena);
    if (all.len)
        sheet_add (sheet, PAINT_FAINT, all);
}

static void draw_add_cause (const struct drawing *drawing, uint32_t at, struct sheet *sheet)
{
    const struct scene *scene = drawing->scene;
    if (at >= scene->groups_n)
        return;
    const struct scene_group *group = &scene->groups[at];
    const struct board_verdict_group *says = &group->says;
    char whose[OWNERS_TEXT_BYTES];
    sheet_printf (sheet, PAINT_BAD, "    %s%s; whose: %s%s: %.*s", enum_name_of (&outcome_names, says->outcome),
                  says->preliminary ? " so far" : "", owners_print (says->owner, says->else_owner, whose),
                  says->likely || says->else_owner ? " (likely)" : "", TEXT_ARG (says->cause));
    if (says->line.len)
        sheet_printf (sheet, PAINT_NONE, "    said: %.*s", TEXT_ARG (says->line));
    if (says->next.len)
        sheet_printf (sheet, PAINT_NONE, "    next: %.*s", TEXT_ARG (says->next));
    if (says->hosts.n > 1)
        sheet_printf (sheet, PAINT_FAINT, "    the same on %.*s", TEXT_ARG (group->names));
    char name[64];
    if (group->cause_host != SCENE_NOBODY)
        sheet_printf (sheet, PAINT_FAINT, "    follows the failure of %s",
                      scene_host_name (scene, group->cause_host, name));
}

/* The newest first: it is what one opens a host for. */
static void add_attempts (const struct drawing *drawing, const struct scene_host *host, struct sheet *sheet)
{
    for (uint32_t i = host->attempts_n; i > 0; i--) {
        const struct scene_attempt *attempt = &host->attempts[i - 1];
        struct text name = attempt_name (drawing, attempt), words = attempt_words (drawing, attempt);
        sheet_printf (sheet, terminal_mark_paint (attempt->mark), "  %.*s  %.*s", TEXT_ARG (name), TEXT_ARG (words));
        draw_add_cause (drawing, attempt->group, sheet);
        add_spans (drawing, attempt, sheet);
    }
    if (host->attempts_left_out)
        sheet_printf (sheet, PAINT_FAINT, "  and %u earlier, which are not kept here: see the receipt",
                      host->attempts_left_out);
}

/* Where its program stood when it was last asked. */
static void add_stand (const struct board *board, uint32_t rank, struct sheet *sheet)
{
    const struct board_host *host = &board->hosts[rank];
    for (struct text lines = host->in_pass && !host->ended ? host->stand : (struct text){ 0 }; lines.len;) {
        struct text line = text_take_until (&lines, '\n');
        sheet_printf (sheet, PAINT_NONE, "  stands: %.*s", TEXT_ARG (line));
    }
}

static void draw_host (struct drawing *drawing, uint32_t row, uint32_t end)
{
    const struct scene_host *host = drawing->scene->host;
    struct sheet sheet = { .arena = drawing->arena };
    if (host == NULL)
        return;
    end = draw_tail (drawing, row, end);
    sheet_printf (&sheet, PAINT_STRONG, "%.*s  rank %u  %.*s%s%.*s", TEXT_ARG (host->name), host->rank,
                  TEXT_ARG (host->life), host->why.len ? ": " : "", TEXT_ARG (host->why));
    add_stand (drawing->scene->board, host->rank, &sheet);
    add_attempts (drawing, host, &sheet);
    if (host->attempts_n == 0 && filter_has_range (&drawing->state->filter))
        sheet_add (&sheet, PAINT_FAINT, TEXT_LIT ("  it did nothing in the time that the filter names"));
    for (uint32_t i = 0; i < host->facts_n; i++)
        sheet_printf (&sheet, PAINT_NONE, "  %.*s  %.*s", TEXT_ARG (host->facts[i].name),
                      TEXT_ARG (host->facts[i].value));
    sheet_draw (&sheet, drawing->cells, row, end, &drawing->state->scroll);
}

/* ---- draw logs ---- */

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
        if (head > 1)
            draw_choice (drawing);
        draw_mode (drawing, head, rows - 1);
    }
    draw_prompt (drawing, rows - 1);
}
