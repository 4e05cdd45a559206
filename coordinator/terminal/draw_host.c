#include "coordinator/terminal/draw.h"

#include <stdio.h>
#include <string.h>

#include "common/base/duration.h"
#include "coordinator/terminal/mark_paint.h"
#include "coordinator/terminal/sheet.h"

enum { SPANS_BYTES = 4096, LOG_ROWS_LEAST = 3 };

/* ---- the ends of logs, below all else ---- */

/* The last `most` lines. */
static struct text last_lines (struct text body, uint32_t most, uint32_t *n)
{
    uint32_t from = body.len;
    for (*n = 0; from > 0 && *n < most; (*n)++) {
        from--;
        while (from > 0 && body.ptr[from - 1] != '\n')
            from--;
    }
    return from ? (struct text){ body.ptr + from, body.len - from } : body;
}

static void draw_log (const struct drawing *drawing, const struct terminal_log *log, uint32_t row, uint32_t end,
                      uint32_t column, uint32_t columns)
{
    uint32_t n = 0;
    struct pen pen = pen_at (drawing->cells, row++, column, columns);
    struct text rest = last_lines (log->body, end - row, &n);
    pen.paint = PAINT_STRONG;
    pen_text (&pen, log->name);
    pen_puts (&pen, ": ");
    pen_text (&pen, log->head);
    for (; n > 0 && row < end; n--) {
        pen = pen_at (drawing->cells, row++, column, columns);
        pen_text (&pen, text_take_until (&rest, '\n'));
    }
}

/* How many rows the longest of them takes, with the line above it. */
static uint32_t tail_rows (const struct drawing *drawing, uint32_t most)
{
    uint32_t rows = LOG_ROWS_LEAST, n = 0;
    for (uint32_t i = 0; i < drawing->logs_n; i++) {
        (void) last_lines (drawing->logs[i].body, most, &n);
        rows = n + 1 > rows ? n + 1 : rows;
    }
    return rows < most ? rows : most;
}

/* Side by side; returns the row where they begin. */
static uint32_t draw_tails (const struct drawing *drawing, uint32_t row, uint32_t end)
{
    uint32_t rows = tail_rows (drawing, (end - row) / 2);
    uint32_t columns = drawing->cells->columns / (drawing->logs_n ? drawing->logs_n : 1);
    if (drawing->logs_n == 0 || rows < LOG_ROWS_LEAST)
        return end;
    for (uint32_t i = 0; i < drawing->logs_n; i++)
        draw_log (drawing, &drawing->logs[i], end - rows, end, i * columns, columns - (i + 1 < drawing->logs_n));
    return end - rows;
}

/* ---- one host ---- */

/* What nobody knows is left out: the number of what was never begun, and how long it took. */
static struct text attempt_name (const struct drawing *drawing, const struct scene_attempt *attempt)
{
    const struct scene *scene = drawing->scene;
    struct text id = attempt->rung < scene->rungs_n ? scene->rungs[attempt->rung].id : TEXT_LIT ("?");
    char number[16] = "";
    if (attempt->attempt)
        snprintf (number, sizeof (number), " %u", attempt->attempt);
    return text_format (drawing->arena, "%.*s %s%s%s", TEXT_ARG (id), enum_name_of (&pass_names, attempt->pass), number,
                        attempt->purpose == PURPOSE_ISOLATION ? " (a part by itself)" : "");
}

static struct text attempt_words (const struct drawing *drawing, const struct scene_attempt *attempt)
{
    char span[DURATION_TEXT_BYTES];
    return text_format (drawing->arena, "%c %s%s%s", scene_mark_letter (attempt->mark), scene_mark_word (attempt->mark),
                        attempt->ms_known ? "  " : "", attempt->ms_known ? duration_print (attempt->ms, span) : "");
}

static struct text span_words (const struct drawing *drawing, const struct scene_span *span)
{
    char ms[DURATION_TEXT_BYTES], name[64];
    if (span->awaited == SCENE_NOBODY)
        return text_format (drawing->arena, "%s", duration_print (span->ms, ms));
    return text_format (drawing->arena, "%s, %s came last", duration_print (span->ms, ms),
                        scene_host_name (drawing->scene, drawing->state->feed, span->awaited, name));
}

static void add_spans (const struct drawing *drawing, const struct scene_attempt *attempt, struct sheet *sheet)
{
    struct buf line;
    buf_init (&line, SPANS_BYTES);
    for (uint32_t i = 0; i < attempt->spans_n; i++) {
        struct text words = span_words (drawing, &attempt->spans[i]);
        buf_printf (&line, "%s%.*s %.*s", i ? "; " : "    ", TEXT_ARG (attempt->spans[i].name), TEXT_ARG (words));
    }
    struct text all = buf_finish (&line, drawing->arena);
    if (all.len)
        sheet_add (sheet, PAINT_FAINT, all);
}

static void add_cause (const struct drawing *drawing, uint32_t at, struct sheet *sheet)
{
    const struct scene *scene = drawing->scene;
    if (at >= scene->groups_n)
        return;
    const struct scene_group *group = &scene->groups[at];
    sheet_printf (sheet, PAINT_BAD, "    %s%s, owner %s%s: %.*s", enum_name_of (&outcome_names, group->outcome),
                  group->preliminary ? " so far" : "", enum_name_of (&owner_names, group->owner),
                  group->likely ? " (likely)" : "", TEXT_ARG (group->cause));
    if (group->line.len)
        sheet_printf (sheet, PAINT_NONE, "    said: %.*s", TEXT_ARG (group->line));
    if (group->next.len)
        sheet_printf (sheet, PAINT_NONE, "    next: %.*s", TEXT_ARG (group->next));
    if (group->n > 1)
        sheet_printf (sheet, PAINT_FAINT, "    the same on %.*s", TEXT_ARG (group->names));
    char name[64];
    if (group->cause_host != SCENE_NOBODY)
        sheet_printf (sheet, PAINT_FAINT, "    follows the failure of %s",
                      scene_host_name (scene, drawing->state->feed, group->cause_host, name));
}

/* The newest first: it is what one opens a host for. */
static void add_attempts (const struct drawing *drawing, const struct scene_host *host, struct sheet *sheet)
{
    for (uint32_t i = host->attempts_n; i > 0; i--) {
        const struct scene_attempt *attempt = &host->attempts[i - 1];
        struct text name = attempt_name (drawing, attempt), words = attempt_words (drawing, attempt);
        sheet_printf (sheet, terminal_mark_paint (attempt->mark), "  %.*s  %.*s", TEXT_ARG (name), TEXT_ARG (words));
        add_cause (drawing, attempt->group, sheet);
        add_spans (drawing, attempt, sheet);
    }
    if (host->attempts_left_out)
        sheet_printf (sheet, PAINT_FAINT, "  and %u earlier, which are not kept here: see the receipt",
                      host->attempts_left_out);
}

void draw_host (struct drawing *drawing, uint32_t row, uint32_t end)
{
    const struct scene_host *host = drawing->scene->hosts[0];
    struct sheet sheet = { .arena = drawing->arena };
    if (host == NULL)
        return;
    end = draw_tails (drawing, row, end);
    sheet_printf (&sheet, PAINT_STRONG, "%.*s  rank %u  %.*s%s%.*s", TEXT_ARG (host->name), host->rank,
                  TEXT_ARG (host->life), host->why.len ? ": " : "", TEXT_ARG (host->why));
    add_attempts (drawing, host, &sheet);
    if (host->attempts_n == 0 && filter_has_range (&drawing->state->filter))
        sheet_add (&sheet, PAINT_FAINT, TEXT_LIT ("  it did nothing in the time that the filter names"));
    for (uint32_t i = 0; i < host->facts_n; i++)
        sheet_printf (&sheet, PAINT_NONE, "  %.*s  %.*s", TEXT_ARG (host->facts[i].name),
                      TEXT_ARG (host->facts[i].value));
    sheet_draw (&sheet, drawing->cells, row, end, &drawing->state->scroll);
}

/* ---- two hosts ---- */

/* Both lists are in the order of names. */
static uint32_t add_facts (const struct scene_host *a, const struct scene_host *b, bool alike, struct sheet *sheet)
{
    uint32_t n = 0;
    for (uint32_t i = 0, k = 0; i < a->facts_n || k < b->facts_n; n++) {
        int order = i == a->facts_n ? 1 : k == b->facts_n ? -1 : text_compare (a->facts[i].name, b->facts[k].name);
        struct text left = order <= 0 ? a->facts[i].value : TEXT_LIT ("-");
        struct text right = order >= 0 ? b->facts[k].value : TEXT_LIT ("-");
        struct text name = order <= 0 ? a->facts[i].name : b->facts[k].name;
        i += order <= 0;
        k += order >= 0;
        if (text_equal (left, right) == alike)
            sheet_add_halves (sheet, alike ? PAINT_FAINT : PAINT_WARN, name, left, right);
        else
            n--;
    }
    return n;
}

static const struct scene_attempt *same_attempt (const struct scene_host *host, const struct scene_attempt *as)
{
    for (uint32_t i = 0; i < host->attempts_n; i++) {
        const struct scene_attempt *attempt = &host->attempts[i];
        if (attempt->rung == as->rung && attempt->pass == as->pass && attempt->attempt == as->attempt)
            return attempt;
    }
    return NULL;
}

static struct text same_span (const struct drawing *drawing, const struct scene_attempt *of, struct text name)
{
    for (uint32_t i = 0; of && i < of->spans_n; i++)
        if (text_equal (of->spans[i].name, name))
            return span_words (drawing, &of->spans[i]);
    return TEXT_LIT ("-");
}

static void add_attempt_of_both (const struct drawing *drawing, const struct scene_attempt *a,
                                 const struct scene_attempt *b, struct sheet *sheet)
{
    const struct scene_attempt *one = a ? a : b, *other = a ? b : NULL;
    sheet_add_halves (sheet, a && b && a->mark == b->mark ? PAINT_NONE : PAINT_WARN, attempt_name (drawing, one),
                      a ? attempt_words (drawing, a) : TEXT_LIT ("-"), b ? attempt_words (drawing, b) : TEXT_LIT ("-"));
    for (uint32_t i = 0; i < one->spans_n; i++)
        sheet_add_halves (sheet, PAINT_FAINT, one->spans[i].name, same_span (drawing, a, one->spans[i].name),
                          same_span (drawing, b, one->spans[i].name));
    for (uint32_t i = 0; other && i < other->spans_n; i++)
        if (text_is (same_span (drawing, one, other->spans[i].name), "-"))
            sheet_add_halves (sheet, PAINT_FAINT, other->spans[i].name, TEXT_LIT ("-"),
                              same_span (drawing, other, other->spans[i].name));
}

static void add_both (const struct drawing *drawing, const struct scene_host *a, const struct scene_host *b,
                      struct sheet *sheet)
{
    for (uint32_t i = a->attempts_n; i > 0; i--)
        add_attempt_of_both (drawing, &a->attempts[i - 1], same_attempt (b, &a->attempts[i - 1]), sheet);
    for (uint32_t i = b->attempts_n; i > 0; i--)
        if (same_attempt (a, &b->attempts[i - 1]) == NULL)
            add_attempt_of_both (drawing, NULL, &b->attempts[i - 1], sheet);
}

void draw_compare (struct drawing *drawing, uint32_t row, uint32_t end)
{
    const struct scene_host *a = drawing->scene->hosts[0], *b = drawing->scene->hosts[1];
    struct sheet sheet = { .arena = drawing->arena };
    if (a == NULL || b == NULL)
        return;
    end = draw_tails (drawing, row, end);
    sheet_add_halves (&sheet, PAINT_STRONG, (struct text){ 0 }, a->name, b->name);
    if (add_facts (a, b, false, &sheet) == 0)
        sheet_add (&sheet, PAINT_FAINT, TEXT_LIT ("no fact of theirs differs"));
    add_both (drawing, a, b, &sheet);
    add_facts (a, b, true, &sheet);
    sheet_draw (&sheet, drawing->cells, row, end, &drawing->state->scroll);
}
