#include "coordinator/terminal/draw.h"

#include "common/base/duration.h"

enum {
    LEAD_COLUMNS = 2, /* cursor and mark */
    NAME_LEAST = 4,
    WORDS_COLUMNS = 34, /* left for phase, gate or cause */
    CELL_MOST = 10,
    CELL_NAMED = 5, /* from here on a cell has room for the rung's id */
    GROUPS_SHOWN = 4,
    GATES_SHOWN = 2,
    HOST_LINES_LEAST = 3,
    NOTES_LEAST = 3
};

/* ---- one host ---- */

struct list_layout {
    uint32_t name, cell, rung_first, rungs;
};

static uint32_t rung_now (const struct scene *scene)
{
    uint32_t now = 0;
    while (now + 1 < scene->rungs_n && board_rung_outcome (scene->board, now) == OUTCOME_PASSED)
        now++;
    return now;
}

static struct list_layout lay_out (const struct drawing *drawing)
{
    const struct scene *scene = drawing->scene;
    uint32_t columns = drawing->cells->columns, widest = NAME_LEAST, words = least_u64 (WORDS_COLUMNS, columns / 3);
    for (uint32_t i = 0; i < scene->tiles_n; i++) {
        uint32_t len = board_host_name (scene->board, scene->tiles[i].rank).len;
        widest = len > widest ? len : widest;
    }
    struct list_layout out = { .name = least_u64 (widest, columns / 3) };
    uint32_t taken = LEAD_COLUMNS + out.name + 4 + words, room = columns > taken ? columns - taken : 1;
    out.rungs = least_u64 (scene->rungs_n, room);
    out.cell = out.rungs ? least_u64 (room / out.rungs, CELL_MOST) : 1;
    out.cell = out.cell < CELL_NAMED ? 1 : out.cell;
    uint32_t now = rung_now (scene), half = out.rungs / 2, last = scene->rungs_n - out.rungs;
    out.rung_first = least_u64 (now > half ? now - half : 0, last);
    return out;
}

/* There may be thousands, each other than its neighbours, and a change of the colour alone costs least. */
static void put_letter (struct line *line, enum scene_mark mark)
{
    char letter[2] = { scene_mark_letter (mark), 0 };
    line->color_alone = true;
    line_painted (line, terminal_mark_paint (mark), text_of (letter));
    line->color_alone = false;
}

/* What a group says in one line; of a tile without a group nothing. */
static struct text draw_list_line_of (const struct scene *scene, uint32_t group)
{
    if (group >= scene->groups_n)
        return (struct text){ 0 };
    const struct board_verdict_group *says = &scene->groups[group].says;
    return says->line.len ? says->line : says->cause;
}

/* "failed; whose: the device: ...", "at a gate rendezvous 12 s", "runs compile 3 s" */
static void put_words (struct line *line, const struct scene *scene, const struct scene_tile *tile)
{
    char whose[OWNERS_TEXT_BYTES];
    line_painted (line, terminal_mark_paint (tile->now), text_of (scene_mark_word (tile->now)));
    if (tile->gate.len || tile->phase.len) {
        line_puts (line, " ");
        line_text (line, tile->now == MARK_AT_GATE ? tile->gate : tile->phase);
    }
    if (tile->since_ms)
        line_printf (line, " %s", DURATION_TEXT (tile->since_ms));
    bool told = tile->group < scene->groups_n;
    if (tile->owner != OWNER_NONE)
        line_printf (line, "; whose: %s",
                     owners_print (tile->owner, told ? scene->groups[tile->group].says.else_owner : OWNER_NONE, whose));
    if (told && tile->owner != OWNER_NONE) {
        line_puts (line, ": ");
        line_text (line, draw_list_line_of (scene, tile->group));
    }
}

static void draw_host_line (struct drawing *drawing, const struct list_layout *layout, uint32_t at, uint32_t row)
{
    const struct scene_tile *tile = &drawing->scene->tiles[at];
    struct line line = cells_line (drawing->cells, row, 0, drawing->cells->columns);
    line.chosen = tile->rank == drawing->state->cursor;
    if (line.chosen)
        drawing->cursor_row = row;
    line_puts (&line, line.chosen ? ">" : " ");
    line_puts (&line, terminal_state_is_marked (drawing->state, tile->rank) ? "*" : " ");
    cells_field (&line, board_host_name (drawing->scene->board, tile->rank), layout->name);
    line_puts (&line, " ");
    put_letter (&line, tile->now);
    line_puts (&line, " ");
    for (uint32_t i = 0; i < layout->rungs; i++) {
        put_letter (&line, tile->cells[layout->rung_first + i]);
        line_pad (&line, LEAD_COLUMNS + layout->name + 3 + (i + 1) * layout->cell);
    }
    line_puts (&line, " ");
    put_words (&line, drawing->scene, tile);
    line_pad (&line, line.chosen ? line.room : 0);
}

/* Digits of the rungs, or their ids where there is room. */
static void draw_headings (struct drawing *drawing, const struct list_layout *layout, uint32_t row)
{
    struct line line = cells_line (drawing->cells, row, 0, drawing->cells->columns);
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

static void draw_lines (struct drawing *drawing, uint32_t row, uint32_t end)
{
    const struct scene *scene = drawing->scene;
    struct list_layout layout = lay_out (drawing);
    drawing->state->stride = 1;
    if (end - row > HOST_LINES_LEAST)
        draw_headings (drawing, &layout, row++);
    drawing->state->page = end - row;
    scroll_to (drawing->state, terminal_tile_of (scene, drawing->state->cursor), scene->tiles_n, end - row);
    for (uint32_t at = drawing->state->top; at < scene->tiles_n && row < end; at++, row++)
        draw_host_line (drawing, &layout, at, row);
}

/* A letter a host; in the order of ranks, and with none hidden, a line is a row of the mesh or a part of it. */
static void draw_map (struct drawing *drawing, uint32_t row, uint32_t end)
{
    const struct scene *scene = drawing->scene;
    struct terminal_state *state = drawing->state;
    uint32_t label = 6, room = drawing->cells->columns > label + 1 ? drawing->cells->columns - label : 1;
    uint32_t at = terminal_tile_of (scene, state->cursor);
    state->stride = scene->columns && scene->columns <= room ? scene->columns : room;
    uint32_t lines = (scene->tiles_n + state->stride - 1) / state->stride;
    state->page = end - row;
    scroll_to (state, at / state->stride, lines, end - row);
    for (uint32_t i = state->top * state->stride; i < scene->tiles_n; i++) {
        uint32_t down = row + i / state->stride - state->top, column = label + i % state->stride;
        if (down >= end)
            return;
        struct line line = cells_line (drawing->cells, down, 0, label);
        if (i % state->stride == 0)
            line_printf (&line, "%5u", scene->tiles[i].rank);
        line = cells_line (drawing->cells, down, column, 1);
        line.chosen = i == at || terminal_state_is_marked (state, scene->tiles[i].rank);
        put_letter (&line, scene->tiles[i].now);
        if (i == at) {
            drawing->cursor_row = down;
            drawing->cursor_column = column;
        }
    }
}

/* ---- below the hosts ---- */

static void add_cursor (const struct drawing *drawing, struct sheet *sheet)
{
    const struct scene *scene = drawing->scene;
    uint32_t at = terminal_tile_of (scene, drawing->state->cursor);
    if (!drawing->state->map || at == scene->tiles_n)
        return;
    const struct scene_tile *tile = &scene->tiles[at];
    struct text name = scene_text (scene->arena, board_host_name (scene->board, tile->rank), SCENE_WORD_COLUMNS);
    struct text words = tile->group < scene->groups_n ? draw_list_line_of (scene, tile->group) : tile->phase;
    sheet_printf (sheet, PAINT_STRONG, "%.*s: %s %.*s", TEXT_ARG (name), scene_mark_word (tile->now), TEXT_ARG (words));
}

static void draw_list_add_rung (const struct scene *scene, struct sheet *sheet)
{
    const struct board *board = scene->board;
    if (scene->rungs_n == 0 || board->ended)
        return;
    uint32_t now = rung_now (scene);
    enum pass last = board->rungs[now].last;
    const struct board_pass *pass = scene_rung_pass (board, now);
    struct text id = scene_text (scene->arena, board_rung_id (board, now), SCENE_WORD_COLUMNS);
    if (last == PASS_NONE)
        sheet_printf (sheet, PAINT_NONE, "rung %u of %u: %.*s is to come", now + 1, scene->rungs_n, TEXT_ARG (id));
    else
        sheet_printf (sheet, PAINT_NONE, "rung %u of %u: %.*s %s, %u/%u hosts ended, %s of it", now + 1, scene->rungs_n,
                      TEXT_ARG (id), enum_name_of (&pass_names, last), pass->ended_n, pass->hosts_n,
                      DURATION_TEXT (board_rung_ms (board, now, scene->now_ms)));
}

static void add_groups (const struct scene *scene, struct sheet *sheet)
{
    for (uint32_t i = 0; i < scene->groups_n && i < GROUPS_SHOWN; i++) {
        const struct board_verdict_group *says = &scene->groups[i].says;
        char whose[OWNERS_TEXT_BYTES];
        struct text names = scene->groups[i].names, line = draw_list_line_of (scene, i);
        sheet_printf (sheet, says->outcome == OUTCOME_CASCADE ? PAINT_FAINT : PAINT_BAD, "%.*s %s%s; whose: %s%s: %.*s",
                      TEXT_ARG (names), enum_name_of (&outcome_names, says->outcome),
                      says->preliminary ? " so far" : "", owners_print (says->owner, says->else_owner, whose),
                      says->likely || says->else_owner ? " (likely)" : "", TEXT_ARG (line));
    }
    if (scene->groups_n > GROUPS_SHOWN)
        sheet_printf (sheet, PAINT_BAD, "... and %u more", scene->groups_n - GROUPS_SHOWN);
    if (scene->ungrouped_n)
        sheet_printf (sheet, PAINT_BAD, "%u host%s failed with other errors than these", scene->ungrouped_n,
                      plural (scene->ungrouped_n));
}

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

/* The gates that cost most. */
static void add_gates (const struct drawing *drawing, struct sheet *sheet)
{
    const struct scene *scene = drawing->scene;
    uint64_t below = UINT64_MAX;
    for (uint32_t shown = 0; shown < GATES_SHOWN; shown++) {
        const struct gate_wait *longest = NULL;
        for (uint32_t i = 0; i < scene->gates_n; i++)
            if (scene->gates[i]->longest_ms < below &&
                (longest == NULL || scene->gates[i]->longest_ms > longest->longest_ms))
                longest = scene->gates[i];
        if (longest == NULL)
            return;
        below = longest->longest_ms;
        sheet_add (sheet, PAINT_FAINT, gate_words (drawing, longest));
    }
}

static struct sheet below_hosts (const struct drawing *drawing)
{
    const struct scene *scene = drawing->scene;
    struct sheet sheet = { .arena = drawing->arena };
    add_cursor (drawing, &sheet);
    if (scene->board->ended)
        sheet_add (&sheet, scene->board->outcome == OUTCOME_PASSED ? PAINT_GOOD : PAINT_BAD, scene->board->sentence);
    draw_list_add_rung (scene, &sheet);
    add_groups (scene, &sheet);
    for (uint32_t i = 0; i < scene->waiting_n; i++)
        sheet_add (&sheet, PAINT_WARN, scene->waiting[i]);
    add_gates (drawing, &sheet);
    return sheet;
}

/* The newest notes take what is left. */
static void draw_list_add_notes (const struct scene *scene, struct sheet *sheet, uint32_t most)
{
    uint32_t n = least_u64 (scene->notes_n, most);
    if (n && n < most && scene->notes_skipped)
        sheet_printf (sheet, PAINT_FAINT, "%u notes skipped", (unsigned) scene->notes_skipped);
    for (uint32_t i = scene->notes_n - n; i < scene->notes_n; i++)
        sheet_add (sheet, PAINT_FAINT, scene->notes[i]->text);
}

/* Hosts take what they need, as long as half of the rows, less the notes, are left for what is said of them. */
void draw_list (struct drawing *drawing, uint32_t row, uint32_t end)
{
    struct sheet below = below_hosts (drawing);
    bool map = drawing->state->map;
    uint32_t rows = end - row, columns = map && drawing->scene->columns ? drawing->scene->columns : 1, scroll = 0;
    uint32_t hosts = drawing->scene->tiles_n / columns + 2, spare = rows > hosts ? rows - hosts : 0;
    uint32_t room = least_u64 (spare > rows / 2 ? spare : rows / 2,
                               rows > HOST_LINES_LEAST ? rows - HOST_LINES_LEAST : 0);
    uint32_t notes = spare > below.lines.n + NOTES_LEAST ? spare - below.lines.n : map ? 0 : NOTES_LEAST;
    if (below.lines.n < room)
        draw_list_add_notes (drawing->scene, &below, least_u64 (notes, room - below.lines.n));
    uint32_t taken = least_u64 (below.lines.n, room);
    (map ? draw_map : draw_lines) (drawing, row, end - taken);
    sheet_draw (&below, drawing->cells, end - taken, end, &scroll);
}
