/* draw_host.c - what is known of one host, and the end of its log. */
#include <stdio.h>

#include "coordinator/terminal/draw.h"
#include "coordinator/view/plain.h"

enum { SAME_COLUMNS = 60, SPANS_BYTES = 4096, LOG_ROWS_LEAST = 3 };

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
    struct sheet sheet = { .arena = drawing->arena, .columns = drawing->cells->columns };
    while (n-- > 0)
        sheet_add (&sheet, PAINT_NONE, text_take_until (&rest, '\n'));
    uint32_t last = UINT32_MAX;
    sheet_draw (&sheet, drawing->cells, row, end, &last);
}

/* Is the error line all that it printed? It stands above already. */
static bool repeats_error (const struct drawing *drawing, struct text body)
{
    uint32_t at = terminal_tile_of (drawing->scene, drawing->logs[0].rank);
    uint32_t group = at < drawing->scene->tiles_n ? drawing->scene->tiles[at].group : SCENE_NOBODY;
    struct text line = text_take_until (&body, '\n');
    return group < drawing->scene->groups_n && body.len == 0 &&
           text_equal (line, drawing->scene->groups[group].says.line);
}

/* Before `end`, from row `from` on where it fits, else in `most` rows; returns where it begins. */
static uint32_t draw_tail (const struct drawing *drawing, uint32_t from, uint32_t most, uint32_t end)
{
    uint32_t n = 0;
    if (drawing->logs_n == 0 || most < LOG_ROWS_LEAST || repeats_error (drawing, drawing->logs[0].body))
        return end;
    (void) draw_last_lines (drawing->logs[0].body, most - 1, &n);
    uint32_t row = end - (n + 1 < LOG_ROWS_LEAST ? LOG_ROWS_LEAST : n + 1);
    row = from < row ? from : row;
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

/* Its own words first, then ours. */
static void draw_add_cause (const struct drawing *drawing, uint32_t at, struct sheet *sheet)
{
    const struct scene *scene = drawing->scene;
    if (at >= scene->groups_n)
        return;
    const struct scene_group *group = &scene->groups[at];
    const struct board_verdict_group *says = &group->says;
    char whose[OWNERS_TEXT_BYTES], name[64];
    if (says->line.len)
        sheet_printf (sheet, PAINT_BAD, "    %.*s", TEXT_ARG (says->line));
    sheet_printf (sheet, says->line.len ? PAINT_NONE : PAINT_BAD, "    %.*s%swhose: %s%s%s", TEXT_ARG (says->cause),
                  says->cause.len ? "; " : "", owners_print (says->owner, says->else_owner, whose),
                  says->likely || says->else_owner ? " (likely)" : "", says->preliminary ? " so far" : "");
    if (says->next.len)
        sheet_printf (sheet, PAINT_STRONG, "    next: %.*s", TEXT_ARG (says->next));
    LOCAL_BUF same = { .max = SPANS_BYTES };
    group_text_set (scene->board, says->hosts.items, says->hosts.n, SAME_COLUMNS, &same);
    if (says->hosts.n > 1)
        sheet_printf (sheet, PAINT_FAINT, "    the same on %.*s", TEXT_ARG (buf_as_text (&same)));
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
        if (i == host->attempts_n)
            sheet->first_n = sheet->lines.n;
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

struct sheet draw_host_sheet (const struct drawing *drawing, const struct scene_host *host, uint32_t columns,
                              bool facts)
{
    struct sheet sheet = { .arena = drawing->arena, .columns = columns };
    uint32_t at = terminal_tile_of (drawing->scene, host->rank);
    const struct scene_tile *tile = at < drawing->scene->tiles_n ? &drawing->scene->tiles[at] : NULL;
    sheet_printf (&sheet, tile && (tile->trouble || tile->now == MARK_SILENT) ? PAINT_WARN : PAINT_STRONG,
                  "%.*s  rank %u  %s%s%s%s%.*s", TEXT_ARG (host->name), host->rank,
                  tile ? terminal_tile_word (tile) : "hidden by the filter", tile && tile->since_ms ? " for " : "",
                  tile && tile->since_ms ? DURATION_TEXT (tile->since_ms) : "", host->why.len ? "; lost: " : "",
                  TEXT_ARG (host->why));
    add_stand (drawing->scene->board, host->rank, &sheet);
    add_attempts (drawing, host, &sheet);
    if (host->attempts_n == 0 && filter_has_range (&drawing->state->filter))
        sheet_add (&sheet, PAINT_FAINT, TEXT_LIT ("  it did nothing in the time that the filter names"));
    for (uint32_t i = 0; facts && i < host->facts_n; i++)
        sheet_printf (&sheet, PAINT_NONE, "  %.*s  %.*s", TEXT_ARG (host->facts[i].name),
                      TEXT_ARG (host->facts[i].value));
    return sheet;
}

void draw_host_part (const struct drawing *drawing, struct sheet *sheet, const struct cells *cells, uint32_t row,
                     uint32_t end, uint32_t *scroll)
{
    struct drawing part = *drawing;
    part.cells = cells;
    uint32_t room = end - row, behind = row + sheet->lines.n + 1, half = room / 2;
    uint32_t most = end > behind + half ? end - behind : half, left = room > sheet->first_n ? room - sheet->first_n : 0;
    end = draw_tail (&part, behind, most < left ? most : left, end);
    sheet_draw (sheet, cells, row, end, scroll);
}
