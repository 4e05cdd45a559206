/* fuzz_keys.c - no keys, sizes and words of hosts, in any order, put anything raw on a terminal, or anything outside it.
 *
 * A byte below 0x80 is a key, one from 0x80 a key that is no character; SIZE takes a byte, what a host says takes a
 * host, a length and so many bytes. */
#include <assert.h>
#include <string.h>

#include "common/base/utf8.h"
#include "coordinator/terminal/draw.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

enum { HOSTS = 6, RUNGS = 3, INPUT_MAX_BYTES = 4096, WALL_MS = 1700000000 };
enum { SIZE = 0x90, PHASE, GATE, FAILED, LOST, LOG };

struct desk {
    struct feed *feed;
    struct terminal_state state;
    struct arena arena, facts;
    struct scene scene;
    struct style style;
    struct terminal_log log;
    uint64_t index;
};

static void apply (struct desk *desk, struct fact *fact)
{
    fact->index = fact_is_soft (fact->kind) ? 0 : ++desk->index;
    fact->at_ms = 100 * desk->index;
    fact->wall_ms = WALL_MS + fact->at_ms;
    feed_apply (desk->feed, fact, fact->wall_ms, fact->wall_ms);
}

static void open_run (struct desk *desk)
{
    static struct plan_host hosts[HOSTS];
    static struct rung rungs[RUNGS];
    static uint32_t ranks[HOSTS];
    struct plan plan = { .slice = TEXT_LIT ("fuzz"), .ladder = TEXT_LIT ("fuzz") };
    struct fact opened = { .kind = FACT_RUN_OPENED }, began = { .kind = FACT_PASS_BEGAN };
    for (uint32_t i = 0; i < HOSTS; i++) {
        hosts[i].name = text_format (&desk->facts, "v6e-%u", i);
        ranks[i] = i;
    }
    for (uint32_t i = 0; i < RUNGS; i++)
        rungs[i] = (struct rung){ .id = text_format (&desk->facts, "rung%u", i), .timeout_ms = 60000 };
    plan.hosts.items = hosts;
    plan.hosts.n = HOSTS;
    plan.rungs.items = rungs;
    plan.rungs.n = RUNGS;
    opened.of.run_opened = (struct fact_run_opened){ .run = TEXT_LIT ("3fa9c1d2"), .plan = plan };
    apply (desk, &opened);
    for (uint32_t i = 0; i < HOSTS; i++) {
        struct fact joined = { .kind = FACT_HOST_JOINED };
        joined.of.host_joined.host = i;
        apply (desk, &joined);
    }
    began.of.pass_began.key = (struct attempt_key){ 1, PASS_ONCE, 1 };
    began.of.pass_began.hosts.items = ranks;
    began.of.pass_began.hosts.n = HOSTS;
    apply (desk, &began);
}

static void say (struct desk *desk, uint8_t what, uint32_t host, struct text words)
{
    struct fact fact = { .kind = what == LOST     ? FACT_HOST_LOST
                                 : what == FAILED ? FACT_ATTEMPT_ENDED
                                                  : FACT_HOST_REPORTED };
    struct attempt_key key = { 1, PASS_ONCE, 1 };
    struct holding held = {
        .key = key, .state = what == GATE ? ATTEMPT_AT_GATE : ATTEMPT_RUNNING, .phase = words, .gate = words
    };
    if (what == LOST) {
        fact.of.host_lost = (struct fact_host_lost){ host, words };
    } else if (what == FAILED) {
        fact.of.attempt_ended.host = host;
        fact.of.attempt_ended.result =
            (struct result){ .key = key, .ending = ENDING_EXITED, .code = 1, .phase = words };
        fact.of.attempt_ended.result.shown.items = &words;
        fact.of.attempt_ended.result.shown.n = 1;
    } else {
        fact.of.host_reported.host = host;
        fact.of.host_reported.holdings.items = &held;
        fact.of.host_reported.holdings.n = 1;
    }
    apply (desk, &fact);
}

static void log_lines (struct desk *desk, struct text words)
{
    struct buf out;
    buf_init (&out, 16 * INPUT_MAX_BYTES);
    for (struct text line; words.len;) {
        line = text_take_until (&words, '\n');
        buf_escaped (&out, line, 0);
        buf_byte (&out, '\n');
    }
    desk->log = (struct terminal_log){ 0, TEXT_LIT ("v6e-0"), TEXT_LIT ("rung rung1"),
                                       buf_finish (&out, &desk->facts) };
}

static void check (const struct cells *cells)
{
    for (uint32_t i = 0; i < cells->columns * cells->rows; i++) {
        uint32_t character = cells->items[i].character;
        bool half = i % cells->columns && utf8_columns (cells->items[i - 1].character) == 2;
        assert (character ? utf8_is_printable (character) : half);
        assert (cells->style.unicode || character < 0x7F);
    }
}

static void draw (struct desk *desk)
{
    struct scene_query query;
    struct terminal_log logs[MARKED_MAX];
    uint32_t ranks[MARKED_MAX], n;
    arena_reset (&desk->arena);
    terminal_state_query (&desk->state, &query);
    scene_make (desk->feed, &query, WALL_MS + 100 * desk->index, &desk->arena, &desk->scene);
    n = terminal_state_log_hosts (&desk->state, ranks);
    for (uint32_t i = 0; i < n; i++)
        logs[i] = desk->log;
    struct cells cells = cells_make (&desk->style, &desk->arena);
    struct drawing drawing = {
        .state = &desk->state, .scene = &desk->scene, .logs = logs, .logs_n = n, .cells = &cells, .arena = &desk->arena
    };
    terminal_draw (&drawing);
    assert (drawing.cursor_row < cells.rows && drawing.cursor_column < cells.columns);
    check (&cells);
}

/* Returns what is left of the input. */
static struct text step (struct desk *desk, struct text rest)
{
    uint8_t what = (uint8_t) rest.ptr[0], first = rest.len > 1 ? (uint8_t) rest.ptr[1] : 0;
    uint32_t taken = 1, len = rest.len > 2 ? (uint8_t) rest.ptr[2] : 0;
    if (what == SIZE) {
        desk->style.columns = 1 + first % 97;
        desk->style.rows = 1 + first % 31;
        desk->style.unicode = first & 1;
        taken = 2;
    } else if (what >= PHASE && what <= LOG) {
        len = rest.len > 3 + len ? len : rest.len > 3 ? rest.len - 3 : 0;
        taken = 3 + len;
        struct text words = { rest.ptr + (rest.len > 3 ? 3 : 0), len };
        if (what == LOG)
            log_lines (desk, words);
        else
            say (desk, what, first % HOSTS, words);
    } else {
        (void) terminal_state_key (&desk->state, &desk->scene, what < 0x80 ? what : KEY_IS_UP + what - 0x80u);
    }
    taken = taken < rest.len ? taken : rest.len;
    return (struct text){ rest.ptr + taken, rest.len - taken };
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    struct desk desk = { .feed = feed_create (BOARD_JUDGED_STATE),
                         .style = { .unicode = true, .columns = 80, .rows = 24 } };
    struct text rest = { (const char *) bytes, len < INPUT_MAX_BYTES ? (uint32_t) len : INPUT_MAX_BYTES };
    desk.scene.board = feed_board (desk.feed);
    terminal_state_init (&desk.state, "sliceup", "3fa9c1d2", len && bytes[0] & 1 ? "a.key" : NULL);
    open_run (&desk);
    draw (&desk);
    while (rest.len) {
        rest = step (&desk, rest);
        draw (&desk);
    }
    feed_destroy (desk.feed);
    arena_release (&desk.arena);
    arena_release (&desk.facts);
    return 0;
}
