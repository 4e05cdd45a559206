#include <stdio.h>
#include <string.h>

#include "coordinator/terminal/draw.h"

/* ---- filter ---- */

static bool mark_is (enum scene_mark mark, struct text word)
{
    char label[MARK_LABEL_BYTES];
    return text_is (word, scene_mark_label (mark, label)) || (word.len == 1 && word.ptr[0] == scene_mark_letter (mark));
}

static int read_mark (struct text word, uint32_t *marks, struct err *err)
{
    char known[256] = "";
    for (uint32_t mark = 0; mark < MARK_N; mark++)
        if (mark_is (mark, word)) {
            *marks |= 1u << mark;
            return 0;
        }
    for (uint32_t mark = 0; mark < MARK_N; mark++)
        snprintf (known + strlen (known), sizeof (known) - strlen (known), "%s%s", mark ? ", " : "",
                  scene_mark_word (mark));
    return err_set (err, ERR_USAGE, "outcome:%.*s is none of %s", TEXT_ARG (word), known);
}

static int read_marks (struct text words, uint32_t *marks, struct err *err)
{
    while (words.len)
        if (read_mark (text_take_until (&words, ','), marks, err) < 0)
            return -1;
    return 0;
}

static int read_owner (struct text word, enum owner *owner, struct err *err)
{
    char known[256] = "";
    uint32_t value = 0;
    if (enum_value_of (&owner_names, word, &value)) {
        *owner = (enum owner) value;
        return 0;
    }
    for (uint32_t i = OWNER_DEVICE; i < OWNER_N; i++)
        snprintf (known + strlen (known), sizeof (known) - strlen (known), "%s%s", i > OWNER_DEVICE ? ", " : "",
                  enum_name_of (&owner_names, i));
    return err_set (err, ERR_USAGE, "owner:%.*s is none of %s", TEXT_ARG (word), known);
}

static int read_ms (struct text word, struct text range, uint64_t *ms, struct err *err)
{
    if (word.len == 0 || duration_parse (word, ms))
        return 0;
    return err_set (err, ERR_USAGE, "time:%.*s: %.*s is no duration; expected a number and ms, s, m, h or d",
                    TEXT_ARG (range), TEXT_ARG (word));
}

static int read_time (struct text range, struct filter *filter, struct err *err)
{
    struct text until = range, from;
    uint64_t from_ms = 0, until_ms = UINT64_MAX;
    if (range.len < 2 || !text_cut (&until, '-', &from))
        return err_set (err, ERR_USAGE,
                        "time:%.*s is no range of time; expected FROM-UNTIL, FROM- or -UNTIL, as in time:40s-2min",
                        TEXT_ARG (range));
    if (read_ms (from, range, &from_ms, err) < 0 || read_ms (until, range, &until_ms, err) < 0)
        return -1;
    if (until_ms <= from_ms)
        return err_set (err, ERR_USAGE, "time:%.*s holds no time: it has to end later than it begins",
                        TEXT_ARG (range));
    filter->from_ms = from_ms;
    filter->until_ms = until_ms;
    return 0;
}

static void add_text (struct filter *filter, struct text word)
{
    size_t len = strlen (filter->text);
    snprintf (filter->text + len, sizeof (filter->text) - len, "%s%.*s", len ? " " : "", TEXT_ARG (word));
}

static int filter_read_word (struct filter *filter, struct text word, struct err *err)
{
    struct text value = word, name;
    if (!text_cut (&value, ':', &name)) {
        add_text (filter, word);
        return 0;
    }
    if (text_is (name, "outcome"))
        return read_marks (value, &filter->marks, err);
    if (text_is (name, "owner"))
        return read_owner (value, &filter->owner, err);
    if (text_is (name, "time"))
        return read_time (value, filter, err);
    if (text_is (name, "hosts"))
        filter->hosts = value;
    else if (text_is (name, "phase"))
        filter->phase = value;
    else
        add_text (filter, word);
    return 0;
}

static int filter_read_words (struct filter *filter, struct err *err)
{
    struct text rest = text_of (filter->line);
    while (rest.len) {
        struct text word = text_take_until (&rest, ' ');
        if (word.len && filter_read_word (filter, word, err) < 0)
            return -1;
    }
    return 0;
}

int filter_read (struct filter *filter, const char *line, struct err *err)
{
    char before[FILTER_LINE_BYTES];
    memcpy (before, filter->line, sizeof (before));
    *filter = (struct filter){ .marks = 0 };
    snprintf (filter->line, sizeof (filter->line), "%s", line);
    if (filter_read_words (filter, err) == 0)
        return 0;
    if (strcmp (before, line) != 0) /* what was read once is read again */
        filter_read (filter, before, NULL);
    return -1;
}

bool filter_has_range (const struct filter *filter)
{
    return filter->until_ms != 0;
}

void filter_apply (const struct filter *filter, struct scene_query *query)
{
    query->hosts = filter->hosts;
    query->phase = filter->phase;
    query->text = text_of (filter->text);
    query->marks = filter->marks;
    query->owner = filter->owner;
    query->from_ms = filter->from_ms;
    query->until_ms = filter->until_ms;
}

void terminal_state_init (struct terminal_state *state, const char *program, const char *run, const char *key)
{
    *state = (struct terminal_state){ .cursor = SCENE_NOBODY,
                                      .opened = SCENE_NOBODY,
                                      .stride = 1,
                                      .page = 1,
                                      .order = SCENE_WORST_FIRST,
                                      .program = program,
                                      .run = run,
                                      .key = key };
}

void terminal_state_say (struct terminal_state *state, bool bad, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    vsnprintf (state->said, sizeof (state->said), format, args);
    va_end (args);
    state->said_is_bad = bad;
}

/* What needs the run's folder is said with where that is. */
static void say_command (struct terminal_state *state, const char *command, const char *more)
{
    bool by_key = state->key && (strcmp (command, "status") == 0 || strcmp (command, "watch") == 0);
    if (by_key)
        terminal_state_say (state, false, "%s %s --key %s%s", state->program, command, state->key, more);
    else
        terminal_state_say (state, false, "%s%s %s %.8s%s", state->key ? "on the coordinator's machine: " : "",
                            state->program, command, state->run, more);
}

void terminal_state_query (const struct terminal_state *state, struct scene_query *query)
{
    scene_query_init (query);
    filter_apply (&state->filter, query);
    query->order = state->map ? SCENE_BY_RANK : state->order;
    if (state->mode == MODE_HOST)
        query->opened = state->opened;
}

uint32_t terminal_tile_of (const struct scene *scene, uint32_t rank)
{
    uint32_t at = 0;
    while (at < scene->tiles_n && scene->tiles[at].rank != rank)
        at++;
    return at;
}

bool terminal_state_is_marked (const struct terminal_state *state, uint32_t rank)
{
    for (uint32_t i = 0; i < state->marked_n; i++)
        if (state->marked[i] == rank)
            return true;
    return false;
}

uint32_t terminal_state_log_hosts (const struct terminal_state *state, uint32_t out[MARKED_MAX])
{
    uint32_t one = state->mode == MODE_HOST ? state->opened : state->mode == MODE_LIST ? state->cursor : SCENE_NOBODY;
    uint32_t n = state->mode == MODE_LOGS ? state->marked_n : one != SCENE_NOBODY;
    for (uint32_t i = 0; i < n; i++)
        out[i] = state->mode == MODE_LOGS ? state->marked[i] : one;
    return n;
}

void terminal_state_settle (struct terminal_state *state, const struct scene *scene)
{
    bool hidden = terminal_tile_of (scene, state->cursor) == scene->tiles_n;
    uint32_t worst = 0;
    state->moved = state->moved && !hidden;
    for (uint32_t i = 1; state->map && i < scene->tiles_n; i++)
        if (scene_tile_badness (scene, &scene->tiles[i]) > scene_tile_badness (scene, &scene->tiles[worst]))
            worst = i;
    if (hidden || (!state->moved && state->mode == MODE_LIST))
        state->cursor = scene->tiles_n ? scene->tiles[worst].rank : SCENE_NOBODY;
}

/* ---- hosts that stand alike ---- */

/* Lines that a tile is compared with: where hosts are that different, folding helps nobody. */
enum { ALIKE_LOOKED_AT = 64 };

static bool tiles_alike (const struct scene *scene, const struct scene_tile *a, const struct scene_tile *b)
{
    return a->now == b->now && a->trouble == b->trouble && a->group == b->group && text_equal (a->phase, b->phase) &&
           text_equal (a->gate, b->gate) && memcmp (a->cells, b->cells, scene->rungs_n) == 0;
}

/* A marked host has a line of its own. */
static uint32_t row_like (const struct scene *scene, const struct terminal_state *state, const struct list_rows *rows,
                          uint32_t at)
{
    if (terminal_state_is_marked (state, scene->tiles[at].rank))
        return rows->n;
    for (uint32_t i = rows->n; i > 0 && rows->n - i < ALIKE_LOOKED_AT; i--) {
        const struct scene_tile *first = &scene->tiles[rows->items[i - 1].first];
        if (tiles_alike (scene, first, &scene->tiles[at]) && !terminal_state_is_marked (state, first->rank))
            return i - 1;
    }
    return rows->n;
}

struct list_rows terminal_rows (const struct scene *scene, const struct terminal_state *state, struct arena *arena)
{
    bool folds = !state->unfolded && !state->map && state->order != SCENE_SLOWEST_FIRST;
    struct list_rows out = { .items = arena_array (arena, scene->tiles_n, sizeof (struct list_row)),
                             .of_tile = arena_array (arena, scene->tiles_n, sizeof (uint32_t)) };
    for (uint32_t i = 0; i < scene->tiles_n; i++) {
        const struct scene_tile *tile = &scene->tiles[i];
        uint32_t at = folds ? row_like (scene, state, &out, i) : out.n;
        struct list_row *row = &out.items[at];
        if (at == out.n)
            out.items[out.n++] = (struct list_row){ .first = i };
        row->n++;
        row->since_ms = tile->since_ms > row->since_ms ? tile->since_ms : row->since_ms;
        out.of_tile[i] = at;
    }
    return out;
}

/* ---- what keys do ---- */

static void say_of_hosts (struct terminal_state *state, const struct scene *scene, const char *command,
                          const uint32_t *ranks, uint32_t n)
{
    char more[COMMAND_BYTES] = " --hosts ", name[64];
    for (uint32_t i = 0; i < n; i++) {
        size_t len = strlen (more);
        snprintf (more + len, sizeof (more) - len, "%s%s", i ? "," : "", scene_host_name (scene, ranks[i], name));
    }
    say_command (state, command, more);
}

static enum terminal_act move_to (struct terminal_state *state, const struct scene *scene, int64_t at)
{
    if (scene->tiles_n == 0)
        return ACT_NONE;
    at = at < 0 ? 0 : at >= scene->tiles_n ? scene->tiles_n - 1 : at;
    state->cursor = scene->tiles[at].rank;
    state->moved = true;
    return ACT_NONE;
}

/* From line to line: each is a tile, or the first of some that stand alike. */
static enum terminal_act move_lines (struct terminal_state *state, const struct scene *scene, int64_t lines)
{
    LOCAL_ARENA arena = { 0 };
    struct list_rows rows = terminal_rows (scene, state, &arena);
    if (rows.n == 0)
        return ACT_NONE;
    int64_t at = rows.of_tile[terminal_tile_of (scene, state->cursor)] + lines;
    at = at < 0 ? 0 : at >= rows.n ? rows.n - 1 : at;
    return move_to (state, scene, rows.items[at].first);
}

static enum terminal_act move (struct terminal_state *state, const struct scene *scene, int64_t lines)
{
    if (state->mode == MODE_LIST && !state->map)
        return move_lines (state, scene, lines);
    if (state->mode == MODE_LIST)
        return move_to (state, scene, (int64_t) terminal_tile_of (scene, state->cursor) + lines * state->stride);
    int64_t scroll = (int64_t) state->scroll + lines;
    state->scroll = scroll < 0 ? 0 : (uint32_t) scroll; /* drawing brings it back to what there is */
    return ACT_NONE;
}

static enum terminal_act state_show (struct terminal_state *state, enum terminal_mode mode)
{
    state->mode = mode;
    state->scroll = 0;
    return ACT_NONE;
}

static enum terminal_act key_open (struct terminal_state *state, const struct scene *scene)
{
    if (state->mode != MODE_LIST || state->cursor == SCENE_NOBODY)
        return ACT_NONE;
    state->opened = state->cursor;
    state->moved = true;
    say_of_hosts (state, scene, "logs", &state->opened, 1);
    return state_show (state, MODE_HOST);
}

static enum terminal_act key_back (struct terminal_state *state, const struct scene *scene)
{
    (void) scene;
    say_command (state, "status", "");
    return state_show (state, MODE_LIST);
}

static enum terminal_act key_mark (struct terminal_state *state, const struct scene *scene)
{
    uint32_t kept = 0, rank = state->mode == MODE_HOST ? state->opened : state->cursor;
    if (rank == SCENE_NOBODY || state->mode > MODE_HOST)
        return ACT_NONE;
    for (uint32_t i = 0; i < state->marked_n; i++)
        if (state->marked[i] != rank)
            state->marked[kept++] = state->marked[i];
    bool was = kept < state->marked_n;
    state->marked_n = kept;
    if (!was && kept == MARKED_MAX) {
        terminal_state_say (state, true, "at most %u hosts can be marked", MARKED_MAX);
        return ACT_NONE;
    }
    if (!was)
        state->marked[state->marked_n++] = rank;
    say_of_hosts (state, scene, "logs", state->marked, state->marked_n);
    if (state->marked_n == 0)
        terminal_state_say (state, false, "no host is marked");
    return ACT_NONE;
}

static enum terminal_act key_logs (struct terminal_state *state, const struct scene *scene)
{
    if (state->marked_n == 0) {
        terminal_state_say (state, true, "mark hosts with m, then l shows what they printed, equal logs once");
        return ACT_NONE;
    }
    say_of_hosts (state, scene, "logs", state->marked, state->marked_n);
    return state_show (state, MODE_LOGS);
}

static bool is_failure (const struct scene_tile *tile)
{
    return scene_mark_is_bad (tile->now) || tile->owner != OWNER_NONE || tile->trouble;
}

/* At first the line under a cursor that nobody moved, then the next one of the list. */
static enum terminal_act key_next_failure (struct terminal_state *state, const struct scene *scene)
{
    LOCAL_ARENA arena = { 0 };
    struct list_rows rows = terminal_rows (scene, state, &arena);
    uint32_t from = rows.n ? rows.of_tile[terminal_tile_of (scene, state->cursor)] : 0, next = state->moved;
    while (next < rows.n + state->moved && !is_failure (&scene->tiles[rows.items[(from + next) % rows.n].first]))
        next++;
    if (next == rows.n + state->moved) {
        terminal_state_say (state, false, "no host that is shown has failed, or is to be looked at");
        return ACT_NONE;
    }
    move_to (state, scene, rows.items[(from + next) % rows.n].first);
    if (state->mode == MODE_HOST)
        state->opened = state->cursor;
    say_command (state, "explain", "");
    return ACT_NONE;
}

static enum terminal_act key_order (struct terminal_state *state, const struct scene *scene)
{
    (void) scene;
    state->order = state->order == SCENE_SLOWEST_FIRST ? SCENE_BY_RANK : state->order + 1;
    state->moved = state->map = false;
    say_command (state, "status", "");
    return state_show (state, MODE_LIST);
}

static enum terminal_act key_fold (struct terminal_state *state, const struct scene *scene)
{
    (void) scene;
    if (state->order == SCENE_SLOWEST_FIRST) {
        terminal_state_say (state, false, "slowest first has a line for each host");
        return ACT_NONE;
    }
    state->unfolded = !state->unfolded;
    state->map = false;
    say_command (state, "status", "");
    return state_show (state, MODE_LIST);
}

static enum terminal_act key_map (struct terminal_state *state, const struct scene *scene)
{
    (void) scene;
    state->map = !state->map;
    state->top = 0;
    say_command (state, "status", "");
    return state_show (state, MODE_LIST);
}

static enum terminal_act key_filter (struct terminal_state *state, const struct scene *scene)
{
    (void) scene;
    memcpy (state->edit, state->filter.line, sizeof (state->edit));
    state->prompt = PROMPT_FILTER;
    return state_show (state, MODE_LIST);
}

static enum terminal_act key_cancel (struct terminal_state *state, const struct scene *scene)
{
    if (state->key)
        terminal_state_say (state, true,
                            "a monitor key does not allow it; on the coordinator's machine: %s cancel %.8s",
                            state->program, state->run);
    else if (scene->board->ended)
        terminal_state_say (state, true, "the run has ended");
    else
        state->prompt = PROMPT_CANCEL;
    return ACT_NONE;
}

static enum terminal_act key_stands (struct terminal_state *state, const struct scene *scene)
{
    if (scene->board->ended)
        terminal_state_say (state, true, "the run has ended");
    else
        say_command (state, "stacks", "");
    return scene->board->ended ? ACT_NONE : ACT_ASK_STANDS;
}

static enum terminal_act key_help (struct terminal_state *state, const struct scene *scene)
{
    (void) scene;
    terminal_state_say (state, false, "%s watch --help", state->program);
    return state_show (state, state->mode == MODE_HELP ? MODE_LIST : MODE_HELP);
}

static enum terminal_act key_repaint (struct terminal_state *state, const struct scene *scene)
{
    (void) state;
    (void) scene;
    return ACT_REPAINT;
}

static enum terminal_act key_leave (struct terminal_state *state, const struct scene *scene)
{
    return state->mode == MODE_LIST ? ACT_LEAVE : key_back (state, scene);
}

static const struct key_row {
    uint32_t key, also;
    enum terminal_act (*press) (struct terminal_state *state, const struct scene *scene); /* NULL: it moves */
    const char *label, *help;                                                             /* NULL: of the row above */
    int lines, pages, across; /* `across`: to a tile beside it, where tiles are shown */
} keys[] = {
    { KEY_IS_UP, 'k', NULL, "arrows, k j", "to another host; in a host or logs: up and down", .lines = -1 },
    { KEY_IS_DOWN, 'j', .lines = 1 },
    { KEY_IS_LEFT, 'h', .across = -1 },
    { KEY_IS_RIGHT, 0, .across = 1 },
    { KEY_IS_PAGE_UP, 'b', NULL, "PgUp, PgDn", "a page up or down; Home and End: the first and the last", .pages = -1 },
    { KEY_IS_PAGE_DOWN, ' ', .pages = 1 },
    { KEY_IS_HOME, 'g', .lines = -HOSTS_MAX },
    { KEY_IS_END, 'G', .lines = HOSTS_MAX },
    { KEY_IS_ENTER, 0, .press = key_open, "Enter",
      "open the host: attempts and phases, cause, facts, its log as it grows" },
    { KEY_IS_ESCAPE, KEY_IS_ERASE, .press = key_back, "Esc", "back to the hosts" },
    { '/', 0, .press = key_filter, "/", "filter: hosts:SET outcome:WORD owner: phase: time:40s-2min, text" },
    { 'o', 0, .press = key_order, "o", "order, from the top: worst first, slowest first, by rank" },
    { 'e', 0, .press = key_fold, "e", "each host on a line of its own, or again those that stand alike on one" },
    { 't', 0, .press = key_map, "t", "tiles: one letter a host, in rows of the mesh; or again a line a host" },
    { 'n', 0, .press = key_next_failure, "n", "the next host that failed, or is to be looked at" },
    { 'm', 0, .press = key_mark, "m", "mark the host, or take the mark away" },
    { 'l', 0, .press = key_logs, "l", "what the marked hosts printed, equal logs once" },
    { 's', 0, .press = key_stands, "s",
      "ask where the programs stand: who lags is told, stacks are in each host's view" },
    { 'c', 0, .press = key_cancel, "c", "cancel the run, after a question" },
    { '?', 0, .press = key_help, "?", "this" },
    { 'L' - '@', 0, .press = key_repaint, "Ctrl-L", "draw everything again" },
    { 'q', 0, .press = key_leave, "q", "back; from the hosts: leave. The run goes on" },
};
enum { KEYS_N = sizeof (keys) / sizeof (keys[0]) };

bool terminal_key_help (uint32_t index, const char **label, const char **help)
{
    uint32_t at = 0;
    for (; at < KEYS_N; at++)
        if (keys[at].label && index-- == 0)
            break;
    if (at == KEYS_N)
        return false;
    *label = keys[at].label;
    *help = keys[at].help;
    return true;
}

/* ---- prompts ---- */

static void say_filter (struct terminal_state *state)
{
    char more[COMMAND_BYTES];
    if (state->filter.hosts.len == 0) {
        say_command (state, "status", "");
        return;
    }
    snprintf (more, sizeof (more), " --hosts %.*s", TEXT_ARG (state->filter.hosts));
    say_command (state, "receipt", more);
}

static enum terminal_act take_filter (struct terminal_state *state)
{
    struct err err = { 0 };
    state->prompt = PROMPT_NONE;
    if (filter_read (&state->filter, state->edit, &err) < 0)
        terminal_state_say (state, true, "%s", err.text);
    else
        say_filter (state);
    state->top = 0;
    return ACT_NONE;
}

static enum terminal_act edit (struct terminal_state *state, uint32_t key)
{
    size_t len = strlen (state->edit);
    if (key == KEY_IS_ENTER)
        return take_filter (state);
    if (key == KEY_IS_ESCAPE)
        state->prompt = PROMPT_NONE;
    else if (key == KEY_IS_ERASE && len)
        state->edit[len - 1] = '\0';
    else if (key == 'U' - '@')
        state->edit[0] = '\0';
    else if (key >= ' ' && key < 0x7F && len + 1 < sizeof (state->edit)) {
        state->edit[len] = (char) key;
        state->edit[len + 1] = '\0';
    }
    return ACT_NONE;
}

static enum terminal_act state_answer (struct terminal_state *state, uint32_t key)
{
    state->prompt = PROMPT_NONE;
    if (key != 'y' && key != 'Y') {
        terminal_state_say (state, false, "not cancelled");
        return ACT_NONE;
    }
    say_command (state, "cancel", "");
    return ACT_CANCEL;
}

static enum terminal_act press_row (struct terminal_state *state, const struct scene *scene, const struct key_row *row)
{
    if (row->press)
        return row->press (state, scene);
    if (row->across)
        return move_to (state, scene,
                        (int64_t) terminal_tile_of (scene, state->cursor) + (state->map ? row->across : 0));
    return move (state, scene, row->lines + row->pages * (int64_t) state->page);
}

static enum terminal_act press (struct terminal_state *state, const struct scene *scene, uint32_t key)
{
    for (uint32_t i = 0; i < KEYS_N; i++)
        if (key == keys[i].key || (keys[i].also && key == keys[i].also))
            return press_row (state, scene, &keys[i]);
    return ACT_NONE;
}

/* Of what is shown in another way little stays, and upon a blank screen it costs less. */
enum terminal_act terminal_state_key (struct terminal_state *state, const struct scene *scene, uint32_t key)
{
    enum terminal_mode mode = state->mode;
    bool map = state->map;
    if (state->prompt == PROMPT_FILTER)
        return edit (state, key);
    if (state->prompt == PROMPT_CANCEL)
        return state_answer (state, key);
    enum terminal_act act = press (state, scene, key);
    return act == ACT_NONE && (state->mode != mode || state->map != map) ? ACT_REPAINT : act;
}
