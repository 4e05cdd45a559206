#include "coordinator/terminal/draw.h"

#include <string.h>

#include "coordinator/view/plain.h"
#include "coordinator/view/status.h"

enum {
    LEAD_COLUMNS = 2, /* cursor and mark */
    NAME_LEAST = 4,
    WORDS_COLUMNS = 34, /* left for phase, gate or cause */
    CELL_MOST = 10,
    CELL_NAMED = 5, /* from here on a cell has room for the rung's id */
    HOST_LINES_LEAST = 3,
    BESIDE_COLUMNS = 140, /* from here on a host's detail has room beside the list */
    WAITING_LEAST = 2,
    NAME_BYTES = 1 << 16,
    COLORS_MOST = 700 /* changes of colour among tiles: each takes five bytes, and a frame 8 KiB at most */
};

/* ---- one line ---- */

static struct text row_name (const struct scene *scene, const struct list_rows *rows, uint32_t at, uint32_t columns)
{
    const struct list_row *row = &rows->items[at];
    uint32_t *ranks = arena_array (scene->arena, row->n, sizeof (*ranks)), n = 0;
    struct buf name = { .max = NAME_BYTES };
    for (uint32_t i = row->first; i < scene->tiles_n && n < row->n; i++)
        if (rows->of_tile[i] == at)
            ranks[n++] = scene->tiles[i].rank;
    group_text_set (scene->board, ranks, n, columns, &name);
    struct text all = buf_finish (&name, scene->arena);
    if (all.len > columns && columns > 2 * NAME_LEAST) { /* hosts differ at the end of their names, which are ASCII */
        text_skip (&all, all.len - columns + 2);
        all = text_format (scene->arena, "..%.*s", TEXT_ARG (all));
    }
    return all;
}

struct list_layout {
    uint32_t name, cell, rung_first, rungs;
    struct text *names; /* of the rows that are shown */
};

/* Of the rows from `top` to before `end`. */
static struct list_layout lay_out (const struct scene *scene, const struct list_rows *rows, uint32_t columns,
                                   uint32_t top, uint32_t end)
{
    uint32_t widest = NAME_LEAST, words = least_u64 (WORDS_COLUMNS, columns / 3);
    struct list_layout out = { .names = arena_array (scene->arena, rows->n, sizeof (struct text)) };
    for (uint32_t i = top; i < end; i++) {
        out.names[i] = row_name (scene, rows, i, columns / 3);
        uint32_t wide = text_columns (out.names[i]);
        widest = wide > widest ? wide : widest;
    }
    out.name = least_u64 (widest, columns / 3);
    uint32_t taken = LEAD_COLUMNS + out.name + 4 + words, room = columns > taken ? columns - taken : 1;
    out.rungs = least_u64 (scene->rungs_n, room);
    out.cell = out.rungs ? least_u64 (room / out.rungs, CELL_MOST) : 1;
    out.cell = out.cell < CELL_NAMED ? 1 : out.cell;
    uint32_t now = scene->frontier, half = out.rungs / 2, last = scene->rungs_n - out.rungs;
    out.rung_first = least_u64 (now > half ? now - half : 0, last);
    return out;
}

/* There may be thousands, each other than its neighbours, and a change of the colour alone costs least. */
static void put_letter (struct line *line, enum paint paint, char letter)
{
    line->color_alone = true;
    line_painted (line, paint, (struct text){ &letter, 1 });
    line->color_alone = false;
}

static enum paint tile_paint (const struct scene_tile *tile)
{
    return tile->trouble ? PAINT_WARN : terminal_mark_paint (tile->now);
}

static char tile_letter (const struct scene_tile *tile)
{
    return tile->trouble ? terminal_trouble_letters[tile->trouble] : scene_mark_letter (tile->now);
}

/* What a group says in one line; of a tile without a group nothing. */
static struct text draw_list_line_of (const struct scene *scene, uint32_t group)
{
    if (group >= scene->groups_n)
        return (struct text){ 0 };
    const struct board_verdict_group *says = &scene->groups[group].says;
    return says->line.len ? says->line : says->cause;
}

/* "failed: RuntimeError: ...", "at a gate rendezvous 12 s", "61 slow compile 3 s" */
static void put_words (struct line *line, const struct scene *scene, const struct list_row *row)
{
    const struct scene_tile *tile = &scene->tiles[row->first];
    char number[NUMBER_BYTES];
    const char *word = terminal_tile_word (tile);
    struct text said = tile->owner != OWNER_NONE ? draw_list_line_of (scene, tile->group) : (struct text){ 0 };
    struct text phase = progress_phase_tells (tile->phase) ? tile->phase : (struct text){ 0 };
    struct text where = said.len ? said : tile->now == MARK_AT_GATE ? tile->gate : phase;
    line_paint (line, line->chosen ? PAINT_STRONG : tile_paint (tile));
    if (row->n > 1)
        line_printf (line, "%s ", number_print (row->n, number));
    line_puts (line, word);
    line_paint (line, line->chosen ? PAINT_STRONG : PAINT_NONE);
    line_puts (line, said.len ? ": " : where.len ? " " : "");
    line_text (line, where);
    if (scene->query.order == SCENE_SLOWEST_FIRST)
        line_printf (line, ", %s in all", DURATION_TEXT (tile->spent_ms));
    else if (row->since_ms && said.len == 0)
        line_printf (line, " %s", DURATION_TEXT (row->since_ms));
}

static void draw_row (struct drawing *drawing, const struct cells *cells, const struct list_layout *layout,
                      const struct list_rows *rows, uint32_t at, uint32_t down)
{
    const struct list_row *row = &rows->items[at];
    const struct scene_tile *tile = &drawing->scene->tiles[row->first];
    struct line line = cells_line (cells, down, 0, cells->columns);
    line.chosen = rows->of_tile[terminal_tile_of (drawing->scene, drawing->state->cursor)] == at;
    if (line.chosen)
        drawing->cursor_row = down;
    line_puts (&line, line.chosen ? ">" : " ");
    line_puts (&line, terminal_state_is_marked (drawing->state, tile->rank) ? "*" : " ");
    cells_field (&line, layout->names[at], layout->name);
    line_puts (&line, " ");
    put_letter (&line, line.chosen ? PAINT_NONE : tile_paint (tile), tile_letter (tile));
    line_puts (&line, " ");
    for (uint32_t i = 0; i < layout->rungs; i++) {
        enum scene_mark mark = tile->cells[layout->rung_first + i];
        put_letter (&line, line.chosen ? PAINT_NONE : terminal_mark_paint (mark), scene_mark_letter (mark));
        line_pad (&line, LEAD_COLUMNS + layout->name + 3 + (i + 1) * layout->cell);
    }
    line_puts (&line, " ");
    put_words (&line, drawing->scene, row);
    line_pad (&line, line.chosen ? line.room : 0);
}

/* Digits of the rungs, or their ids where there is room. */
static void draw_headings (const struct drawing *drawing, const struct cells *cells, const struct list_layout *layout,
                           uint32_t row)
{
    struct line line = cells_line (cells, row, 0, cells->columns);
    line.paint = PAINT_FAINT;
    line_pad (&line, LEAD_COLUMNS);
    cells_field (&line, TEXT_LIT ("host"), layout->name);
    line_puts (&line, "   ");
    for (uint32_t i = layout->rung_first; i < layout->rung_first + layout->rungs; i++) {
        if (layout->cell >= CELL_NAMED)
            cells_field (&line, board_rung_id (drawing->scene->board, i), layout->cell - 1);
        else
            line_printf (&line, "%u", (i + 1) % 10);
        line_pad (&line, LEAD_COLUMNS + layout->name + 3 + (i - layout->rung_first + 1) * layout->cell);
    }
    line_puts (&line, " now");
}

/* ---- hosts ---- */

/* The line of the cursor stays in sight. */
static void scroll_to (struct terminal_state *state, uint32_t line, uint32_t lines, uint32_t room)
{
    uint32_t most = lines > room ? lines - room : 0;
    if (line < state->top)
        state->top = line;
    if (room && line >= state->top + room)
        state->top = line - room + 1;
    state->top = least_u64 (state->top, most);
}

/* Returns the row behind the last one. */
static uint32_t draw_lines (struct drawing *drawing, const struct cells *cells, const struct list_rows *rows,
                            uint32_t row, uint32_t end)
{
    const struct scene *scene = drawing->scene;
    struct terminal_state *state = drawing->state;
    uint32_t heading = end - row > 1, room = end - row - heading;
    state->stride = 1;
    state->page = room;
    if (scene->tiles_n == 0)
        return row;
    scroll_to (state, state->moved ? rows->of_tile[terminal_tile_of (scene, state->cursor)] : 0, rows->n, room);
    uint32_t last = least_u64 (rows->n, state->top + room);
    struct list_layout layout = lay_out (scene, rows, cells->columns, state->top, last);
    if (heading)
        draw_headings (drawing, cells, &layout, row++);
    for (uint32_t at = state->top; at < last; at++, row++) {
        draw_row (drawing, cells, &layout, rows, at, row);
        state->shown += rows->items[at].n;
    }
    return row;
}

/* ---- a letter a host ---- */

/* Where rows of the mesh are more than there is room for, several stand side by side. */
struct map_layout {
    uint32_t label, columns, beside; /* columns: hosts in a row of the mesh */
};

static struct map_layout lay_out_map (const struct scene *scene, uint32_t columns, uint32_t rows)
{
    enum { LABEL = 7 };
    bool whole = scene->hidden_n == 0; /* else a rank in front says nothing of those behind it */
    struct map_layout out = { whole && columns > LABEL + 1 ? LABEL : 0, scene->columns ? scene->columns : 1, 1 };
    uint32_t room = columns - out.label;
    out.columns = least_u64 (out.columns, room);
    uint32_t lines = (scene->tiles_n + out.columns - 1) / out.columns;
    uint32_t most = (room + 1) / (out.columns + 1), needed = rows ? (lines + rows - 1) / rows : 1;
    out.beside = least_u64 (needed, most) + (least_u64 (needed, most) == 0);
    return out;
}

/* Each tile may have a colour of its own, which costs more than the tile: where too many change none has one. */
static bool map_has_colors (const struct scene *scene, uint32_t first, uint32_t end)
{
    uint32_t changes = 0;
    for (uint32_t i = first + 1; i < end && i < scene->tiles_n; i++)
        changes += tile_paint (&scene->tiles[i]) != tile_paint (&scene->tiles[i - 1]);
    return changes < COLORS_MOST;
}

/* In the order of ranks, and with none hidden, `columns` of them are a row of the mesh or a part of it. */
static uint32_t draw_map (struct drawing *drawing, uint32_t row, uint32_t end)
{
    const struct scene *scene = drawing->scene;
    struct terminal_state *state = drawing->state;
    struct map_layout layout = lay_out_map (scene, drawing->cells->columns, end - row);
    uint32_t at = terminal_tile_of (scene, state->cursor), last = row;
    state->stride = layout.columns * layout.beside;
    state->page = end - row;
    scroll_to (state, at / state->stride, (scene->tiles_n + state->stride - 1) / state->stride, end - row);
    uint32_t first = state->top * state->stride;
    bool colors = map_has_colors (scene, first, first + state->stride * (end - row));
    for (uint32_t i = first; i < scene->tiles_n; i++) {
        uint32_t down = row + (i - first) / state->stride, right = i % state->stride;
        uint32_t column = layout.label + right + right / layout.columns;
        if (down >= end)
            break;
        last = down + 1;
        state->shown++;
        struct line line = cells_line (drawing->cells, down, 0, layout.label);
        if (right == 0 && layout.label)
            line_printf (&line, "%6u", scene->tiles[i].rank);
        line = cells_line (drawing->cells, down, column, 1);
        line.chosen = i == at || terminal_state_is_marked (state, scene->tiles[i].rank);
        put_letter (&line, colors ? tile_paint (&scene->tiles[i]) : PAINT_NONE, tile_letter (&scene->tiles[i]));
        if (i == at) {
            drawing->cursor_row = down;
            drawing->cursor_column = column;
        }
    }
    return last;
}

/* Which letters are shown, and how many of each. */
static void draw_legend (const struct drawing *drawing, uint32_t row)
{
    const struct scene *scene = drawing->scene;
    const struct scene_tile *like[128] = { NULL };
    uint32_t counts[128] = { 0 };
    struct line line = cells_line (drawing->cells, row, 0, drawing->cells->columns);
    for (uint32_t i = 0; i < scene->tiles_n; i++) {
        like[(int) tile_letter (&scene->tiles[i])] = &scene->tiles[i];
        counts[(int) tile_letter (&scene->tiles[i])]++;
    }
    line_printf (&line, "%6s ", scene->hidden_n ? "" : "rank");
    for (int letter = 0; letter < 128; letter++)
        if (counts[letter]) {
            char number[NUMBER_BYTES];
            put_letter (&line, tile_paint (like[letter]), (char) letter);
            line_printf (&line, " %s %s  ", terminal_tile_word (like[letter]), number_print (counts[letter], number));
        }
}

/* ---- below the hosts ---- */

static struct text gate_words (const struct drawing *drawing, const struct gate_wait *gate)
{
    const struct scene *scene = drawing->scene;
    char last[64];
    struct text name = scene_text (scene->arena, gate_wait_name (scene->board, gate), SCENE_WORD_COLUMNS);
    struct text id = scene_text (scene->arena, board_rung_id (scene->board, gate->key.rung), SCENE_WORD_COLUMNS);
    return text_format (drawing->arena, "gate %.*s of %.*s %s: %s came last, the others waited %s, %s at most",
                        TEXT_ARG (name), TEXT_ARG (id), enum_name_of (&pass_names, gate->key.pass),
                        scene_host_name (scene, gate->last, last), DURATION_TEXT (gate->median_ms),
                        DURATION_TEXT (gate->longest_ms));
}

/* The gate that cost most. */
static void add_gate (const struct drawing *drawing, struct sheet *sheet)
{
    const struct scene *scene = drawing->scene;
    const struct gate_wait *longest = NULL;
    for (uint32_t i = 0; i < scene->gates_n; i++)
        if (longest == NULL || scene->gates[i]->longest_ms > longest->longest_ms)
            longest = scene->gates[i];
    if (longest && longest->longest_ms)
        sheet_add (sheet, PAINT_FAINT, gate_words (drawing, longest));
}

/* Notes from before the running rung are old news; remarks, such as the address of the page, are not. */
static bool note_is_news (const struct scene *scene, const struct feed_note *note)
{
    const struct board *board = scene->board;
    return note->remark || !board->running || note->at_ms >= board_running_pass (board)->began_ms;
}

static void add_notes (const struct scene *scene, uint32_t room, uint32_t columns, struct sheet *sheet)
{
    uint32_t n = 0, first = scene->notes_n;
    while (first > 0 && n < room)
        n += note_is_news (scene, scene->notes[--first]);
    for (uint32_t i = first; i < scene->notes_n; i++)
        if (note_is_news (scene, scene->notes[i])) {
            sheet->columns = scene->notes[i]->remark ? columns : 0; /* a remark has a command in it */
            sheet_add (sheet, PAINT_FAINT, scene->notes[i]->text);
        }
}

/* What is waited for, and in what rows are left the newest notes. */
static struct sheet below_hosts (const struct drawing *drawing, uint32_t most, uint32_t spare)
{
    const struct scene *scene = drawing->scene;
    struct sheet sheet = { .arena = drawing->arena };
    for (uint32_t i = 0; i < scene->waiting_n && sheet.lines.n < (most > WAITING_LEAST ? most : WAITING_LEAST); i++)
        sheet_add (&sheet, PAINT_WARN, scene->waiting[i]);
    if (sheet.lines.n < spare)
        add_gate (drawing, &sheet);
    uint32_t before = sheet.lines.n;
    if (before < spare)
        add_notes (scene, spare - before, drawing->cells->columns, &sheet);
    if (sheet.lines.n > spare && before < spare) { /* remarks are broken into lines: the newest stay */
        uint32_t room = spare - before, from = sheet.lines.n - room;
        memmove (sheet.lines.items + before, sheet.lines.items + from, room * sizeof (*sheet.lines.items));
        sheet.lines.n = spare;
    }
    return sheet;
}

/* ---- all of it ---- */

/* What is known of the host under the cursor, or of nobody. */
static struct sheet detail_of (const struct drawing *drawing, uint32_t columns)
{
    struct scene_host *host = arena_alloc (drawing->arena, sizeof (*host));
    struct sheet none = { .arena = drawing->arena };
    if (drawing->state->cursor == SCENE_NOBODY)
        return none;
    scene_open_host (drawing->scene, drawing->state->cursor, host);
    return draw_host_sheet (drawing, host, columns, false);
}

static void draw_beside (struct drawing *drawing, const struct list_rows *rows, uint32_t row, uint32_t end)
{
    uint32_t left = drawing->cells->columns / 2 - 1, scroll = 0;
    struct cells list = *drawing->cells, right = cells_right_of (drawing->cells, left + 2);
    list.columns = left;
    struct sheet detail = detail_of (drawing, right.columns);
    draw_lines (drawing, &list, rows, row, end);
    draw_host_part (drawing, &detail, &right, row, end, &scroll);
}

/* The list gets what it needs of two fifths at least; what the detail leaves free is the list's as well. */
static void draw_above (struct drawing *drawing, const struct list_rows *rows, uint32_t row, uint32_t end)
{
    bool map = drawing->state->map;
    struct sheet detail = detail_of (drawing, drawing->cells->columns);
    uint32_t room = end - row, least = 2 * room / 5 > HOST_LINES_LEAST ? 2 * room / 5 : HOST_LINES_LEAST, scroll = 0;
    uint32_t lines = map ? room : rows->n + 1, most = room > detail.lines.n + 1 ? room - detail.lines.n - 1 : 0;
    most = most > least ? most : least;
    uint32_t until = row + (lines < most ? lines : most);
    until = until < end ? until : end;
    row = map ? draw_map (drawing, row, until) : draw_lines (drawing, drawing->cells, rows, row, until);
    if (map && row < end)
        draw_legend (drawing, row++);
    if (row + 1 < end)
        draw_host_part (drawing, &detail, drawing->cells, row + 1, end, &scroll);
    else
        mem_free (detail.lines.items);
}

void draw_list (struct drawing *drawing, uint32_t row, uint32_t end)
{
    const struct terminal_state *state = drawing->state;
    struct list_rows rows = terminal_rows (drawing->scene, state, drawing->arena);
    bool beside = drawing->cells->columns >= BESIDE_COLUMNS && !state->map;
    uint32_t room = end - row, lines = state->map ? room / 2 : rows.n + 1, scroll = 0;
    uint32_t taken = beside ? lines : lines + room / 2, spare = room > taken ? room - taken : 0;
    struct sheet below = below_hosts (drawing, room / 6, least_u64 (spare, room / (beside ? 4 : 3)));
    uint32_t least = room > HOST_LINES_LEAST ? room - HOST_LINES_LEAST : 0,
             until = end - least_u64 (below.lines.n, least);
    drawing->state->shown = 0;
    (beside ? draw_beside : draw_above) (drawing, &rows, row, until);
    sheet_draw (&below, drawing->cells, until, end, &scroll);
}
