#include "coordinator/terminal/draw.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/duration.h"
#include "coordinator/terminal/sheet.h"

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

static uint32_t rungs_passed (const struct scene *scene)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < scene->rungs_n; i++)
        n += scene->rungs[i].outcome == OUTCOME_PASSED;
    return n;
}

static void draw_header (const struct drawing *drawing)
{
    const struct scene *scene = drawing->scene;
    char span[DURATION_TEXT_BYTES], joined[NUMBER_BYTES], hosts[NUMBER_BYTES];
    struct pen pen = pen_at (drawing->cells, 0, 0, drawing->cells->columns);
    pen_painted (&pen, PAINT_STRONG, scene->slice);
    pen_printf (&pen, "  %u/%u rungs  %s  %s/%s hosts", rungs_passed (scene), scene->rungs_n,
                duration_print (scene->now_ms + scene->away_ms, span), number_print (scene->joined_n, joined),
                number_print (scene->hosts_n, hosts));
    if (scene->left_ms && !scene->ended)
        pen_printf (&pen, "  about %s left", duration_print (scene->left_ms, span));
    if (scene->silent_n)
        pen_painted (&pen, PAINT_WARN, text_format (drawing->arena, "  %u silent", scene->silent_n));
    if (scene->lost_n)
        pen_painted (&pen, PAINT_BAD, text_format (drawing->arena, "  %u lost", scene->lost_n));
    if (scene->ended)
        pen_painted (&pen, scene->outcome == OUTCOME_PASSED ? PAINT_GOOD : PAINT_BAD, TEXT_LIT ("  ended"));
    else if (scene->cancelling)
        pen_painted (&pen, PAINT_WARN, TEXT_LIT ("  stopping"));
    pen_puts (&pen, "  run ");
    pen_text (&pen, text_clip (scene->run, RUN_SHOWN_BYTES));
}

/* What is hidden is said whenever something is, before all else. */
static void draw_choice (const struct drawing *drawing)
{
    static const char *const orders[] = { "by rank", "worst first", "slowest first" };
    const struct terminal_state *state = drawing->state;
    const struct scene *scene = drawing->scene;
    char hidden[NUMBER_BYTES], hosts[NUMBER_BYTES];
    struct pen pen = pen_at (drawing->cells, 1, 0, drawing->cells->columns);
    if (state->filter.line[0] || scene->hidden_n) {
        pen.paint = PAINT_WARN;
        pen_printf (&pen, "%s of %s hidden", number_print (scene->hidden_n, hidden),
                    number_print (scene->hosts_n, hosts));
        pen_printf (&pen, " by /%s", state->filter.line);
        pen.paint = PAINT_NONE;
        pen_puts (&pen, "  ");
    }
    pen_puts (&pen, orders[state->order]);
    if (scene->mesh.len) {
        pen_puts (&pen, "  mesh ");
        pen_text (&pen, scene->mesh);
    }
    if (state->marked_n)
        pen_printf (&pen, "  %u marked", state->marked_n);
    if (scene->host_set_error.len) {
        pen_puts (&pen, "  ");
        pen_painted (&pen, PAINT_BAD, scene->host_set_error);
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
    struct pen pen = pen_at (drawing->cells, row, 0, drawing->cells->columns);
    if (state->prompt == PROMPT_FILTER) {
        size_t len = text_of (state->edit).len, room = drawing->cells->columns > 2 ? drawing->cells->columns - 2 : 1;
        pen.paint = PAINT_STRONG;
        pen_printf (&pen, "/%s", state->edit + (len > room ? len - room : 0)); /* its end is what is written at */
        drawing->cursor_row = row;
        drawing->cursor_column = pen.column < pen.end ? pen.column : pen.end - 1;
        return;
    }
    if (state->prompt == PROMPT_CANCEL) {
        pen.paint = PAINT_BAD;
        pen_printf (&pen, "Cancel run %.8s, as Ctrl-C in its own terminal would? y/N ", state->run);
        return;
    }
    pen.paint = state->said_is_bad ? PAINT_BAD : PAINT_FAINT;
    pen_puts (&pen, state->said);
}

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
    if (!drawing->scene->opened) {
        cells_put_line (drawing->cells, 0, PAINT_FAINT, TEXT_LIT ("nothing is known of the run yet"));
    } else if (rows > head) {
        draw_header (drawing);
        if (head > 1)
            draw_choice (drawing);
        draw_mode (drawing, head, rows - 1);
    }
    draw_prompt (drawing, rows - 1);
}
