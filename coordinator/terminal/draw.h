/* draw.h - a scene and what is looked at, drawn into cells. Pure.
 *
 * Fits any size: what is less needed goes first. `state` is told what fitted, and its cursor and scrolling are brought
 * back to what there is. Logs are lines that are escaped already. */
#ifndef SLICEUP_COORDINATOR_TERMINAL_DRAW_H
#define SLICEUP_COORDINATOR_TERMINAL_DRAW_H

#include "common/model/record.h"
#include "coordinator/picture/scene.h"
#include "coordinator/view/line.h"

/* ---- state.c ---- */

/* What is looked at in a terminal: order, filter, cursor, marks, opened hosts; and what a key changes in it.
 *
 * Hosts are ranks, so a cursor stays on its host while others pass it. Pure; no errors but for the line of a filter, which
 * are told in `said`. A state is never copied: its query borrows from it. */

/* ---- filter ---- */

/* The line behind `/`: which hosts are shown, in words.
 *
 *   hosts:v6e-[0-3] outcome:failed,lost owner:device phase:compile time:40s-2min anything else
 *
 * hosts: is a set of hosts (hostset.h), outcome: words of scene_mark_word with '-' for blanks, or their letters, owner: a
 * word of the receipt, phase: that of a program. time: is a range on the run's clock (struct scene_query), as durations
 * (duration.h): FROM-UNTIL, FROM- (to now) or -UNTIL (from the begin). What has no such word before a colon is text to look for. Pure. */

enum { FILTER_LINE_BYTES = 512 };
struct filter {
    char line[FILTER_LINE_BYTES]; /* as it was typed */
    char text[FILTER_LINE_BYTES]; /* what is left of it to look for */
    struct text hosts, phase;     /* in `line` */
    uint32_t marks;
    enum owner owner;
    uint64_t from_ms, until_ms; /* as in the query */
};
/* On failure `filter` is as it was; ERR_USAGE says which word, and what is expected. */
int filter_read (struct filter *filter, const char *line, struct err *err);
bool filter_has_range (const struct filter *filter);
void filter_apply (const struct filter *filter, struct scene_query *query); /* the query borrows from the filter */

/* ---- state ---- */

enum { MARKED_MAX = 64, SAID_BYTES = 512, COMMAND_BYTES = 256 };

enum terminal_mode { MODE_LIST, MODE_HOST, MODE_LOGS, MODE_HELP };
enum terminal_prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_CANCEL };
/* What the owner of the terminal has to do. */
enum terminal_act { ACT_NONE, ACT_LEAVE, ACT_CANCEL, ACT_ASK_STANDS, ACT_REPAINT };
/* Keys that are no characters. */
enum {
    KEY_IS_UP = 0x200000,
    KEY_IS_DOWN,
    KEY_IS_LEFT,
    KEY_IS_RIGHT,
    KEY_IS_PAGE_UP,
    KEY_IS_PAGE_DOWN,
    KEY_IS_HOME,
    KEY_IS_END,
    KEY_IS_ENTER,
    KEY_IS_ESCAPE,
    KEY_IS_ERASE
};

struct terminal_state {
    enum terminal_mode mode;
    enum terminal_prompt prompt;
    bool map;      /* one letter a host, in rows of the mesh */
    bool unfolded; /* hosts that stand alike have a line each */
    bool moved;    /* to a host; before that the cursor is on the first line, whoever that is */
    enum scene_order order;
    struct filter filter;
    uint32_t cursor, opened; /* ranks; SCENE_NOBODY */
    uint32_t marked[MARKED_MAX], marked_n;
    uint32_t top;          /* the first line of hosts that is shown */
    uint32_t shown;        /* hosts that have a place on the screen */
    uint32_t scroll;       /* of the other modes */
    uint32_t stride, page; /* hosts a line, lines a page: as drawn last */
    char edit[FILTER_LINE_BYTES];
    char said[SAID_BYTES]; /* the command that does what the last key did, or why it did nothing */
    bool said_is_bad;
    const char *program, *run, *key; /* "sliceup --home DIR", the run's id; key file of a run elsewhere, or NULL */
};
/* Feed and texts live as long as the state does. */
void terminal_state_init (struct terminal_state *state, const char *program, const char *run, const char *key);
void terminal_state_query (const struct terminal_state *state, struct scene_query *query);
/* `key`: a character, or one of the above. `scene`: the one that is on the screen. */
enum terminal_act terminal_state_key (struct terminal_state *state, const struct scene *scene, uint32_t key);
/* Brings cursor and marks back to hosts that there are. */
void terminal_state_settle (struct terminal_state *state, const struct scene *scene);
void terminal_state_say (struct terminal_state *state, bool bad, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
bool terminal_state_is_marked (const struct terminal_state *state, uint32_t rank);
/* Hosts whose logs are drawn, at most MARKED_MAX. */
uint32_t terminal_state_log_hosts (const struct terminal_state *state, uint32_t out[MARKED_MAX]);
/* The place of a host among the tiles; tiles_n: it is hidden. */
uint32_t terminal_tile_of (const struct scene *scene, uint32_t rank);
/* The lines of the list: tiles that stand alike, in the order of the first of each. Among tiles each host is one. */
struct list_row {
    uint32_t first, n; /* of the tiles; how many are like it */
    uint64_t since_ms; /* the longest */
};
struct list_rows {
    struct list_row *items;
    uint32_t n;
    uint32_t *of_tile; /* the row of each tile */
};
struct list_rows terminal_rows (const struct scene *scene, const struct terminal_state *state, struct arena *arena);
/* Of the table of keys, for help: false behind the last. */
bool terminal_key_help (uint32_t index, const char **label, const char **help);

/* ---- draw.c ---- */

/* ---- cells.c: what a terminal shows: rows of cells, each a character and how it is painted ---- */

/* They are filled by lines (view/line.h), so that a cell holds a printable character whoever said it. What does not fit
 * is cut and marked. They live in the arena. */

struct cell {
    uint32_t character; /* 0: the right half of the wide one before it */
    uint8_t paint;      /* enum paint */
    bool chosen;        /* shown in reverse */
    bool color_alone;   /* neither bold nor pale */
};
struct cells {
    uint32_t columns, rows, stride; /* stride: from row to row, of the whole */
    struct style style;             /* of its lines */
    struct cell *items;             /* row by row */
};
/* Blank ones, as many as the style has. */
struct cells cells_make (const struct style *style, struct arena *arena);
/* The same ones from a column on. */
struct cells cells_right_of (const struct cells *cells, uint32_t column);
struct cell *cells_at (const struct cells *cells, uint32_t row, uint32_t column);

/* A line of one row, from a column on, of so many; cut there with one character. A row outside takes nothing. */
struct line cells_line (const struct cells *cells, uint32_t row, uint32_t column, uint32_t columns);
/* A text in a column of its own: cut to `columns`, and padded. */
void cells_field (struct line *line, struct text text, uint32_t columns);
/* A whole line of one paint. */
void cells_put_line (const struct cells *cells, uint32_t row, enum paint paint, struct text text);

/* ---- sheet ---- */

/* Lines that are scrolled, and the colour of a mark. Pure. */

struct sheet_line {
    enum paint paint;
    struct text line;
};
struct sheet {
    struct arena *arena;
    LIST_OF (struct sheet_line) lines;
    uint32_t room;
    uint32_t first_n; /* lines that are shown before all else */
    uint32_t columns; /* longer lines are broken, at a blank where there is one; 0: they are cut as they are drawn */
};
void sheet_add (struct sheet *sheet, enum paint paint, struct text line);
void sheet_printf (struct sheet *sheet, enum paint paint, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
/* Draws the lines from `*scroll` on, which is brought back to where the last of them are shown; releases the sheet. */
void sheet_draw (struct sheet *sheet, const struct cells *cells, uint32_t row, uint32_t end, uint32_t *scroll);
/* The colour of a mark, which says no more than its letter does. */
enum paint terminal_mark_paint (enum scene_mark mark);

/* ---- a scene in cells ---- */

/* The end of what one host printed last. */
struct terminal_log {
    uint32_t rank;
    struct text name, head, body; /* head: "rung tiny, restored, attempt 1", or why there is no log; body: lines */
};

struct drawing {
    struct terminal_state *state;
    const struct scene *scene;
    const struct terminal_log *logs; /* of terminal_state_log_hosts */
    uint32_t logs_n;
    const struct cells *cells;
    struct arena *arena;
    uint32_t cursor_row, cursor_column; /* where the terminal's own cursor is to rest */
};
void terminal_draw (struct drawing *drawing);

/* What is known of one host: its attempts, the newest first, with cause and phases; its facts where that is asked for. */
struct sheet draw_host_sheet (const struct drawing *drawing, const struct scene_host *host, uint32_t columns,
                              bool facts);
/* Draws it, and below it the end of the host's log. */
void draw_host_part (const struct drawing *drawing, struct sheet *sheet, const struct cells *cells, uint32_t row,
                     uint32_t end, uint32_t *scroll);
/* "running", "slow", "failed": a word of how a host stands; and the letters of troubles, by enum trouble. */
const char *terminal_tile_word (const struct scene_tile *tile);
extern const char terminal_trouble_letters[];
/* draw_list.c: hosts, a line each or a letter each; rows from `row` on, without `end`. */
void draw_list (struct drawing *drawing, uint32_t row, uint32_t end);
/* Numbers for people: "4,096". Returns `out`. */
enum { NUMBER_BYTES = 32 };
const char *number_print (uint64_t number, char out[NUMBER_BYTES]);

#endif
