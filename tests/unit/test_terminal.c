/* links: simulated terminal */
#include "coordinator/terminal/draw.h"
#include "test.h"
#include "view_fixture.h"

/* A run, a terminal of some size, and what was drawn on it last. */
struct desk {
    struct show show;
    struct feed *feed;
    struct terminal_state state;
    struct arena arena;
    struct scene scene;
    struct style style;
    struct cells cells;
    struct terminal_log logs[2];
    uint32_t logs_n;
};

static void print_character (uint32_t c, struct buf *out)
{
    uint8_t bytes[4] = { (uint8_t) c };
    uint32_t more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t heads[] = { 0, 0xC0, 0xE0, 0xF0 };
    for (uint32_t i = more; i > 0; i--, c >>= 6)
        bytes[i] = (uint8_t) (0x80 | (c & 0x3F));
    if (more)
        bytes[0] = (uint8_t) (heads[more] | c);
    buf_add (out, bytes, more + 1);
}

static void cells_print_row (const struct cells *cells, uint32_t row, struct buf *out)
{
    uint32_t end = cells->columns;
    while (end > 0 && cells_at (cells, row, end - 1)->character == ' ')
        end--;
    for (uint32_t i = 0; i < end; i++)
        if (cells_at (cells, row, i)->character)
            print_character (cells_at (cells, row, i)->character, out);
}

static void hear (void *owner, const struct fact *fact)
{
    feed_apply (((struct desk *) owner)->feed, fact, fact->wall_ms, fact->wall_ms);
}

static void desk_make (struct desk *desk, uint32_t hosts, uint32_t columns, uint32_t rows)
{
    *desk = (struct desk){ .feed = feed_create (BOARD_JUDGED_STATE),
                           .style = { .unicode = true, .columns = columns, .rows = rows } };
    show_make (&desk->show, hosts);
    desk->show.heard = hear;
    desk->show.owner = desk;
    show_open (&desk->show);
    desk->show.at_ms = 200;
    for (uint32_t i = 0; i < hosts; i++)
        show_joined (&desk->show, i);
    desk->scene.board = feed_board (desk->feed);
    terminal_state_init (&desk->state, "sliceup", "3fa9c1d2", NULL);
}

static void desk_release (struct desk *desk)
{
    feed_destroy (desk->feed);
    show_release (&desk->show);
    arena_release (&desk->arena);
}

TEST_FIXTURE (struct desk, TEST_NOTHING, desk_release)

/* The whole screen as text, a line a row. */
static struct buf draw (struct desk *desk)
{
    struct scene_query query;
    struct buf out;
    arena_reset (&desk->arena);
    terminal_state_query (&desk->state, &query);
    scene_make (desk->feed, &query, SHOW_WALL_MS + desk->show.at_ms, &desk->arena, &desk->scene);
    desk->cells = cells_make (&desk->style, &desk->arena);
    struct drawing drawing = { .state = &desk->state,
                               .scene = &desk->scene,
                               .logs = desk->logs,
                               .logs_n = desk->logs_n,
                               .cells = &desk->cells,
                               .arena = &desk->arena };
    terminal_draw (&drawing);
    assert_true (drawing.cursor_row < desk->style.rows && drawing.cursor_column < desk->style.columns);
    buf_init (&out, 4 << 20);
    for (uint32_t row = 0; row < desk->cells.rows; row++) {
        cells_print_row (&desk->cells, row, &out);
        buf_byte (&out, '\n');
    }
    return out;
}

static void draw_once (struct desk *desk)
{
    struct buf out = draw (desk);
    buf_release (&out);
}

static enum terminal_act press (struct desk *desk, uint32_t key)
{
    return terminal_state_key (&desk->state, &desk->scene, key);
}

static void type (struct desk *desk, const char *keys)
{
    for (; *keys; keys++)
        press (desk, (uint8_t) *keys);
    press (desk, KEY_IS_ENTER);
}

#define assert_drawn(desk, words)                                                                                      \
    do {                                                                                                               \
        struct buf drawn = draw (desk);                                                                                \
        assert_has (&drawn, words);                                                                                    \
        buf_release (&drawn);                                                                                          \
    } while (0)
#define assert_not_drawn(desk, words)                                                                                  \
    do {                                                                                                               \
        struct buf drawn = draw (desk);                                                                                \
        assert_has_not (&drawn, words);                                                                                \
        buf_release (&drawn);                                                                                          \
    } while (0)

/* The first rung passed; at the second host 1 failed, 2 waits at a gate, 3 compiles. */
static void desk_climbing (struct desk *desk, uint32_t hosts, uint32_t columns, uint32_t rows)
{
    desk_make (desk, hosts, columns, rows);
    show_began (&desk->show, FACTS, PASS_ONCE, 1, hosts);
    show_pass_ended (&desk->show, OUTCOME_PASSED, 400, NULL, 0);
    desk->show.at_ms = 1000;
    show_began (&desk->show, TINY, PASS_RESTORED, 1, hosts);
    show_failed (&desk->show, 1, TEXT_LIT ("RuntimeError: it is broken"));
    desk->show.at_ms = 13000;
    show_at_gate (&desk->show, 2, "rendezvous");
    show_phase (&desk->show, 3, "compile", 11000);
}

TEST_ON (desk, the_time_without_a_coordinator_counts)
{
    desk_climbing (desk, 4, 80, 24);
    show_fact (&desk->show, (struct fact){ .kind = FACT_EPOCH_BEGAN, .of.epoch_began = { 2, 78, 60000 } });
    struct buf out = draw (desk);
    assert_has (&out, "sample  run 3fa9c1d2  RUNNING  1 failed  1 min 13 s  ");
    buf_release (&out);
}

TEST_ON (desk, eighty_by_twenty_four)
{
    desk_climbing (desk, 4, 80, 24);
    struct buf out = draw (desk);
    assert_has (&out, "sample  run 3fa9c1d2  RUNNING  1 failed  13 s  rung 2 of 3: tiny restored, 1/4 ");
    assert_has (&out, "\n4 of 4 shown  worst first");
    assert_has (&out, "> host1 f P         f         .          failed so far: RuntimeError: i");
    assert_has (&out, "\n  host2 g P         g         .          at a gate rendezvous");
    assert_has (&out, "\n  host3 r P         r         .          running compile 11 s");
    assert_has (&out, "\n    RuntimeError: it is broken\n");
    assert_has (&out, "whose: not known so far");
    assert_has (&out, "? keys  n next failure  q leave\n");
    assert_has (&out, "waiting for");
    buf_release (&out);
}

TEST_ON (desk, hosts_that_stand_alike_are_one_line)
{
    desk_climbing (desk, 6, 100, 30);
    assert_drawn (desk, "\n  host[0,4-5] r P         r         .          3 running\n");
    press (desk, KEY_IS_DOWN);
    press (desk, KEY_IS_DOWN);
    assert_drawn (desk, "> host3 ");
    press (desk, KEY_IS_UP);
    assert_drawn (desk, "> host[0,4-5] ");
    press (desk, 'm'); /* a marked one has a line of its own */
    assert_drawn (desk, "\n  host[4-5] r P         r         .          2 running\n");
    press (desk, 'e');
    assert_drawn (desk, "\n  host4 r P ");
    assert_drawn (desk, "\n  host5 r P ");
}

/* Its words are broken at blanks, below the list in a small terminal and beside it in a wide one. */
TEST_ON (desk, what_is_known_of_a_host_stands_whole_where_there_is_room)
{
    desk_make (desk, 4, 60, 24);
    show_began (&desk->show, TINY, PASS_ONCE, 1, 4);
    show_failed (&desk->show, 1,
                 TEXT_LIT ("RuntimeError: no chip at this place, or another program has it, or it was never there"));
    assert_drawn (
        desk, "\n    RuntimeError: no chip at this place, or another program\n      has it, or it was never there\n");
    assert_drawn (desk, "\n    next: ");
    desk->style.columns = 160;
    struct buf out = draw (desk);
    const char *row = strstr (buf_c (&out), "> host1 ");
    assert_non_null (row);
    assert_has (row - 160, "host1  rank 1  failed so far\n> host1 ");
    buf_release (&out);
}

/* What to do comes before the log, which is left out where it says nothing else. */
TEST_ON (desk, what_to_do_is_in_sight_on_a_small_screen)
{
    desk_make (desk, 8, 80, 24);
    show_began (&desk->show, TINY, PASS_ONCE, 1, 8);
    char said[400] = "RuntimeError:";
    for (uint32_t i = 0; i < 30; i++)
        strcat (said, " eight by");
    for (uint32_t i = 1; i < 8; i++)
        show_failed (&desk->show, i, text_format (&desk->show.arena, "%s %c", said, (int) ('a' + i)));
    desk->logs[0] = (struct terminal_log){ 1, TEXT_LIT ("host1"), TEXT_LIT ("rung tiny"),
                                           TEXT_LIT ("1\n2\n3\n4\n5\n6\n7\n") };
    desk->logs_n = 1;
    assert_drawn (desk, "\n    next: ");
    press (desk, 't');
    assert_drawn (desk, "\n    next: ");
    desk->logs[0].body = feed_board (desk->feed)->rungs[TINY].passes[PASS_ONCE].groups.items[0].line;
    assert_not_drawn (desk, "host1: rung tiny");
}

TEST_ON (desk, the_next_failure_is_that_of_another_line)
{
    desk_make (desk, 7, 80, 30);
    show_began (&desk->show, TINY, PASS_ONCE, 1, 7);
    for (uint32_t i = 0; i < 6; i++)
        show_failed (&desk->show, i, i % 2 ? TEXT_LIT ("RuntimeError: it broke") : TEXT_LIT ("KeyError: it is gone"));
    show_failed (&desk->show, 6, TEXT_LIT ("OSError: no room"));
    static const char *const lines[] = { "> host[0,2,4] ", "> host[1,3,5] ", "> host6 ", "> host[0,2,4] " };
    draw_once (desk);
    press (desk, KEY_IS_ENTER);
    assert_int_equal (desk->state.opened, 0);
    press (desk, 'n'); /* the one that is open was seen */
    assert_int_equal (desk->state.opened, 1);
    press (desk, 'q');
    for (uint32_t i = 0; i < 3; i++)
        press (desk, 'o');
    draw_once (desk);
    for (uint32_t i = 0; i < 4; i++) {
        press (desk, 'n');
        assert_drawn (desk, lines[i]);
    }
}

TEST_ON (desk, hosts_of_long_names_can_be_told_apart)
{
    desk_make (desk, 3, 80, 24);
    struct plan_host *hosts = (struct plan_host *) feed_board (desk->feed)->plan.hosts.items;
    for (uint32_t i = 0; i < 3; i++)
        hosts[i].name = text_format (&desk->show.arena, "a-very-long-name-of-a-host-in-some-zone-%u", i);
    desk->state.unfolded = true;
    assert_drawn (desk, "-zone-0 ");
    assert_drawn (desk, "-zone-1 ");
}

/* Remarks are broken into lines, as many as there is room for, the newest. */
TEST_ON (desk, remarks_leave_the_hosts_their_place)
{
    desk_climbing (desk, 4, 80, 24);
    char remark[800] = "1";
    for (uint32_t i = 0; i < 60; i++)
        strcat (remark, " a long word");
    for (uint32_t i = 0; i < 6; i++)
        feed_add_remark (desk->feed, text_of (remark));
    feed_add_remark (desk->feed, TEXT_LIT ("the newest"));
    assert_drawn (desk, "> host1 ");
    assert_drawn (desk, "\n    next: ");
    assert_drawn (desk, "the newest");
}

/* A tile is one byte of a frame, and another colour five. */
TEST_ON (desk, tiles_of_too_many_colours_have_none)
{
    desk_climbing (desk, 4096, 200, 50);
    press (desk, 't');
    assert_drawn (desk, "rfgr");
    assert_int_equal (cells_at (&desk->cells, 2, 8)->paint, PAINT_BAD);
    for (uint32_t i = 5; i < 4096; i += 2)
        show_failed (&desk->show, i, TEXT_LIT ("RuntimeError: it is broken"));
    assert_drawn (desk, "rfgr");
    for (uint32_t column = 7; column < 60; column++)
        assert_int_equal (cells_at (&desk->cells, 10, column)->paint, PAINT_NONE);
}

static void assert_any_size_fits (struct desk *desk)
{
    static const uint32_t sizes[][2] = { { 80, 24 }, { 200, 50 }, { 40, 12 }, { 20, 5 }, { 8, 3 }, { 1, 1 }, { 3, 2 } };
    for (size_t i = 0; i < sizeof (sizes) / sizeof (sizes[0]); i++) {
        desk->style.columns = sizes[i][0];
        desk->style.rows = sizes[i][1];
        struct buf out = draw (desk);
        assert_fits (&out, sizes[i][0], sizes[i][1]);
        assert_safe (&out);
        buf_release (&out);
        desk->style.unicode = false;
        out = draw (desk);
        assert_ascii (&out);
        buf_release (&out);
        desk->style.unicode = true;
    }
}

TEST_ON (desk, any_size_and_any_mode_fits)
{
    desk_climbing (desk, 6, 80, 24);
    desk->logs[0] = desk->logs[1] = (struct terminal_log){ 0, TEXT_LIT ("host0"), TEXT_LIT ("rung tiny"),
                                                           TEXT_LIT ("a\nb\n") };
    desk->logs_n = 2;
    desk->state.marked[1] = 1;
    desk->state.marked_n = 2;
    for (enum terminal_mode mode = MODE_LIST; mode <= MODE_HELP; mode++) {
        desk->state.mode = mode;
        desk->state.opened = 1;
        assert_any_size_fits (desk);
    }
    desk->state.mode = MODE_LIST;
    desk->state.map = true;
    assert_any_size_fits (desk);
    press (desk, '/');
    assert_any_size_fits (desk);
}

TEST_ON (desk, of_thousands_only_what_is_in_sight_is_drawn)
{
    desk_climbing (desk, 4096, 80, 24);
    assert_drawn (desk, "4,096 of 4,096 shown"); /* those that stand alike are one line */
    assert_drawn (desk, "4,093 running");
    press (desk, 'e');
    press (desk, 'o');
    press (desk, 'o');
    assert_drawn (desk, " of 4,096 shown  by rank");
    assert_not_drawn (desk, "host4095");
    press (desk, KEY_IS_END);
    assert_drawn (desk, "> host4095");
    press (desk, KEY_IS_PAGE_UP);
    press (desk, KEY_IS_UP);
    assert_not_drawn (desk, "host4095");
    press (desk, 'n'); /* from behind it: around */
    assert_drawn (desk, "> host1 ");
    press (desk, 't');
    assert_drawn (desk, "     0 rfgr");
}

TEST_ON (desk, a_filter_says_what_it_hides)
{
    desk_climbing (desk, 4096, 80, 24);
    assert_not_drawn (desk, "hidden");
    press (desk, '/');
    type (desk, "hosts:host[0-9] outcome:failed-so-far,g");
    assert_drawn (desk, "4,094 of 4,096 hidden by /hosts:host[0-9] outcome:failed-so-far,g");
    assert_not_drawn (desk, "\n  host3 ");
    assert_string_equal (desk->state.said, "sliceup receipt 3fa9c1d2 --hosts host[0-9]");
    press (desk, '/');
    press (desk, 'U' - '@');
    type (desk, "broken owner:unknown");
    assert_drawn (desk, "4,095 of 4,096 hidden");
    assert_drawn (desk, "> host1 ");
    press (desk, '/');
    press (desk, 'U' - '@');
    type (desk, "outcome:fine");
    assert_true (desk->state.said_is_bad);
    assert_drawn (desk, "outcome:fine is none of to come, passed");
    assert_drawn (desk, "4,095 of 4,096 hidden");
    press (desk, '/');
    press (desk, 'U' - '@');
    type (desk, "phase:compile");
    assert_drawn (desk, "> host3 ");
    press (desk, '/');
    press (desk, 'U' - '@');
    type (desk, "");
    assert_not_drawn (desk, "hidden");
}

static void filter_by (struct desk *desk, const char *line)
{
    press (desk, '/');
    press (desk, 'U' - '@');
    type (desk, line);
}

TEST (a_filter_is_read_word_by_word)
{
    static const struct {
        const char *line, *hosts, *phase, *text;
        uint32_t marks;
        enum owner owner;
    } good[] = {
        { "", "", "", "", 0, OWNER_NONE },
        { "hosts:v6e-[0-3] phase:compile owner:device", "v6e-[0-3]", "compile", "", 0, OWNER_DEVICE },
        { "  no   such device ", "", "", "no such device", 0, OWNER_NONE },
        { "no owner:host chip", "", "", "no chip", 0, OWNER_HOST },
        { "RuntimeError: rung:tiny a:b", "", "", "RuntimeError: rung:tiny a:b", 0, OWNER_NONE },
        { "outcome:failed-so-far,L,", "", "", "", 1u << MARK_SO_FAR | 1u << MARK_LOST, OWNER_NONE },
        { "outcome:F outcome:lost", "", "", "", 1u << MARK_FAILED | 1u << MARK_LOST, OWNER_NONE },
        { "owner:host owner:launch phase: phase:run", "", "run", "", 0, OWNER_LAUNCH },
    };
    static const char *const bad[][2] = {
        { "outcome:failed,,lost", "outcome: is none of to come" }, { "outcome:fail", "outcome:fail is none of" },
        { "outcome:failed-", "outcome:failed- is none of" },       { "owner:", "owner: is none of device, " },
        { "owner:none", "owner:none is none of device, " },        { "x owner:Device y", "owner:Device is none of" },
    };
    struct filter filter = { 0 };
    struct scene_query query;
    for (size_t i = 0; i < sizeof (good) / sizeof (good[0]); i++) {
        assert_int_equal (filter_read (&filter, good[i].line, &t->err), 0);
        filter_apply (&filter, &query);
        assert_true (text_is (query.hosts, good[i].hosts) && text_is (query.phase, good[i].phase));
        assert_text (query.text, good[i].text);
        assert_true (query.marks == good[i].marks && query.owner == good[i].owner && query.until_ms == 0);
        assert_string_equal (filter.line, good[i].line);
    }
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        assert_int_equal (filter_read (&filter, bad[i][0], &t->err), -1);
        if (strstr (t->err.text, bad[i][1]) == NULL || strstr (t->err.text, "?") || strstr (t->err.text, ", ,"))
            fail_msg ("%s: %s", bad[i][0], t->err.text);
        assert_true (filter.owner == OWNER_LAUNCH && text_is (filter.phase, "run"));
    }
}

TEST (a_range_of_time_is_read)
{
    static const struct {
        const char *line;
        uint64_t from_ms, until_ms;
    } good[] = { { "time:40s-2min", 40000, 120000 }, { "time:2min-", 120000, UINT64_MAX },
                 { "time:-90s", 0, 90000 },          { "time:1.5h-1d", 5400000, 86400000 },
                 { "time:0s-", 0, UINT64_MAX },      { "x time:1m-2m y", 60000, 120000 },
                 { "time:250ms-1s", 250, 1000 },     { "40s-2min", 0, 0 } };
    static const char *const bad[][2] = {
        { "time:", "time: is no range of time; expected FROM-UNTIL, FROM- or -UNTIL, as in time:40s-2min" },
        { "time:-", "time:- is no range of time" },
        { "time:40s", "time:40s is no range of time" },
        { "time:40-2min", "time:40-2min: 40 is no duration; expected a number and ms, s, m, h or d" },
        { "time:40s-soon", "time:40s-soon: soon is no duration" },
        { "time:40s-2min-3min", "2min-3min is no duration" },
        { "time:2min-40s", "time:2min-40s holds no time: it has to end later than it begins" },
        { "time:40s-40s", "holds no time" },
        { "time:-0s", "holds no time" },
        { "time:366d-", "366d is no duration" },
    };
    struct filter filter = { 0 };
    for (size_t i = 0; i < sizeof (good) / sizeof (good[0]); i++) {
        assert_int_equal (filter_read (&filter, good[i].line, &t->err), 0);
        assert_int_equal (filter.from_ms, good[i].from_ms);
        assert_int_equal (filter.until_ms, good[i].until_ms);
    }
    assert_int_equal (filter_read (&filter, "outcome:failed time:1s-2s", &t->err), 0);
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        assert_int_equal (filter_read (&filter, bad[i][0], &t->err), -1);
        assert_int_equal (t->err.code, ERR_USAGE);
        if (strstr (t->err.text, bad[i][1]) == NULL)
            fail_msg ("%s: %s", bad[i][0], t->err.text);
        assert_string_equal (filter.line, "outcome:failed time:1s-2s");
        assert_true (filter.from_ms == 1000 && filter.until_ms == 2000 && filter.marks == 1u << MARK_FAILED);
    }
}

/* The first rung took 200 ms to 600 ms; host0 is lost at 13 s, in the second. */
TEST_ON (desk, a_range_of_time_is_drawn)
{
    desk_climbing (desk, 4, 80, 24);
    show_lost (&desk->show, 0, TEXT_LIT ("silent for 30 s"));
    desk->state.unfolded = true;
    assert_drawn (desk, "> host0");
    filter_by (desk, "time:20s-");
    assert_drawn (desk, "4 of 4 hidden by /time:20s-");
    filter_by (desk, "time:5s-10s");
    assert_drawn (desk, "1 of 4 hidden by /time:5s-10s"); /* host1 failed at once */
    assert_not_drawn (desk, "\n  host1 ");
    assert_drawn (desk, "L P         L"); /* as it stands now */
    filter_by (desk, "time:10s-5s");
    assert_true (desk->state.said_is_bad);
    assert_drawn (desk, "time:10s-5s holds no time");
    assert_drawn (desk, "1 of 4 hidden by /time:5s-10s");
    press (desk, KEY_IS_ENTER);
    assert_drawn (desk, "tiny restored 1  L lost");
    assert_not_drawn (desk, "facts once 1");
    press (desk, 'q');
    filter_by (desk, "time:-100ms");
    assert_drawn (desk, "4 of 4 hidden");
    desk->state.mode = MODE_HOST;
    assert_drawn (desk, "it did nothing in the time that the filter names");
    press (desk, 'q');
    press (desk, '?');
    assert_drawn (desk, "filter: hosts:SET outcome:WORD owner: phase: time:40s-2min, text\n");
}

TEST_ON (desk, worst_first_is_worst_first)
{
    desk_climbing (desk, 4096, 80, 24);
    struct buf out = draw (desk);
    buf_release (&out);
    assert_int_equal (desk->scene.tiles[0].rank, 1);
    press (desk, KEY_IS_END);
    press (desk, 'o');
    assert_drawn (desk, "slowest first");
    press (desk, 'o');
    assert_drawn (desk, "> host[0,4-4095] "); /* from the top */
    press (desk, KEY_IS_DOWN);
    press (desk, 'o');
    assert_drawn (desk, "> host1 ");
}

TEST_ON (desk, a_host_is_opened)
{
    desk_climbing (desk, 4, 80, 24);
    assert_drawn (desk, "> host1 ");
    press (desk, 'n'); /* it is there already */
    press (desk, 'm');
    assert_drawn (desk, ">*host1");
    press (desk, KEY_IS_ENTER);
    assert_string_equal (desk->state.said, "sliceup logs 3fa9c1d2 --hosts host1");
    desk->logs[0] = (struct terminal_log){ 1, TEXT_LIT ("host1"), TEXT_LIT ("rung tiny, restored, attempt 1"),
                                           TEXT_LIT ("first\n2\n3\n4\n5\nthe last line\n") };
    desk->logs_n = 1;
    uint32_t ranks[MARKED_MAX];
    assert_int_equal (terminal_state_log_hosts (&desk->state, ranks), 1);
    assert_int_equal (ranks[0], 1);
    struct buf out = draw (desk);
    assert_has (&out, "host1  rank 1  failed so far\n");
    assert_has (&out, "tiny restored 1  f failed so far");
    assert_has (&out, "\n    RuntimeError: it is broken\n");
    assert_has (&out, "host1: rung tiny, restored, attempt 1\nfirst\n2\n3\n4\n5\nthe last line\n");
    buf_release (&out);
    press (desk, 'q');
    assert_int_equal (press (desk, 'q'), ACT_LEAVE);
}

/* host0 is lost in a pass, which ends without its result; host2 after it, so the rung above is not begun. */
TEST_ON (desk, what_nobody_knows_of_an_attempt_is_not_drawn_as_0)
{
    struct verdict verdict = { .host = 0, .outcome = OUTCOME_LOST, .owner = OWNER_HOST };
    desk_climbing (desk, 4, 80, 24);
    show_lost (&desk->show, 0, TEXT_LIT ("silent for 30 s"));
    show_pass_ended (&desk->show, OUTCOME_PASSED, 12000, &verdict, 1); /* of the others */
    show_lost (&desk->show, 2, TEXT_LIT ("silent for 30 s"));
    show_run_ended (&desk->show, OUTCOME_LOST, 1, TEXT_LIT ("two hosts were lost"));
    desk->state.mode = MODE_HOST;
    desk->state.opened = 0;
    assert_drawn (desk, "tiny restored 1  L lost\n");
    desk->state.opened = 2;
    assert_drawn (desk, " once  L lost\n");
}

TEST_ON (desk, attempts_that_are_not_kept_are_counted)
{
    desk_make (desk, 2, 80, 24);
    desk->state.unfolded = true;
    for (uint32_t i = 1; i <= BOARD_ATTEMPTS_MAX + 3; i++) {
        show_began (&desk->show, TINY, PASS_ONCE, i, 2);
        show_pass_ended (&desk->show, OUTCOME_FAILED, 400, NULL, 0);
    }
    assert_drawn (desk, "> host0");
    press (desk, KEY_IS_ENTER);
    press (desk, KEY_IS_END);
    assert_drawn (desk, "and 3 earlier, which are not kept here: see the receipt\n");
}

TEST_ON (desk, who_came_last_at_a_gate_is_named)
{
    struct named_number early = { TEXT_LIT ("gate:rendezvous"), 9000 }, late = { TEXT_LIT ("gate:rendezvous"), 0 };
    desk_make (desk, 4, 100, 24);
    struct attempt_key key = show_began (&desk->show, TINY, PASS_ONCE, 1, 4);
    for (uint32_t i = 0; i < 4; i++) {
        struct fact fact = { .kind = FACT_ATTEMPT_ENDED };
        fact.of.attempt_ended.host = i;
        fact.of.attempt_ended.result = (struct result){ .key = key, .ending = ENDING_EXITED, .duration_ms = 10000 };
        fact.of.attempt_ended.result.phases.items = i == 2 ? &late : &early;
        fact.of.attempt_ended.result.phases.n = 1;
        show_fact (&desk->show, fact);
    }
    show_pass_ended (&desk->show, OUTCOME_PASSED, 10000, NULL, 0);
    assert_drawn (desk, "gate rendezvous of tiny once: host2 came last, the others waited 9 s, 9 s at most");
}

/* Thirteen hosts fail in words of their own, and one follows the second of them. */
TEST (a_cascade_names_its_cause)
{
    enum { FAILING = BOARD_GROUPS_MAX + 1 };
    struct desk desk;
    char causes[FAILING][16];
    struct verdict verdicts[FAILING + 1];
    desk_climbing (&desk, FAILING + 1, 120, 60);
    for (uint32_t i = 0; i < FAILING; i++) {
        snprintf (causes[i], sizeof causes[i], "cause %c", (int) ('a' + i));
        verdicts[i] =
            (struct verdict){ .host = i, .outcome = OUTCOME_FAILED, .owner = OWNER_HOST, .cause = text_of (causes[i]) };
    }
    verdicts[FAILING] = verdicts[0];
    verdicts[0] = (struct verdict){ .host = FAILING,
                                    .outcome = OUTCOME_CASCADE,
                                    .owner = OWNER_PEER,
                                    .cause = TEXT_LIT ("aborted because host1 failed") };
    show_pass_ended (&desk.show, OUTCOME_FAILED, 10000, verdicts, FAILING - 1);
    draw_once (&desk);
    desk.state.cursor = FAILING;
    desk.state.moved = true;
    press (&desk, KEY_IS_ENTER);
    assert_drawn (&desk, "follows the failure of host1");
    desk_release (&desk);
}

TEST_ON (desk, equal_logs_are_shown_once)
{
    desk_climbing (desk, 4, 80, 24);
    desk->state.unfolded = true;
    desk->state.order = SCENE_BY_RANK;
    draw_once (desk);
    press (desk, 'l');
    assert_true (desk->state.said_is_bad);
    press (desk, 'm');
    press (desk, KEY_IS_DOWN);
    press (desk, 'm');
    press (desk, 'l');
    desk->logs[0] = (struct terminal_log){ 0, TEXT_LIT ("host0"), TEXT_LIT ("rung tiny"), TEXT_LIT ("the same\n") };
    desk->logs[1] = (struct terminal_log){ 1, TEXT_LIT ("host1"), TEXT_LIT ("rung tiny"), TEXT_LIT ("the same\n") };
    desk->logs_n = 2;
    assert_drawn (desk, "host[0-1]: rung tiny\nthe same\n\n");
    desk->logs[1].body = TEXT_LIT ("another\n");
    assert_drawn (desk, "host0: rung tiny\nthe same\nhost1: rung tiny\nanother\n");
}

TEST_ON (desk, what_is_shown_in_another_way_begins_on_a_blank_screen)
{
    static const uint32_t keys[] = { 't', 't', '?', 'q', KEY_IS_ENTER, KEY_IS_ESCAPE };
    desk_climbing (desk, 4, 80, 24);
    assert_drawn (desk, "host0");
    for (size_t i = 0; i < sizeof (keys) / sizeof (keys[0]); i++)
        assert_int_equal (press (desk, keys[i]), ACT_REPAINT);
    assert_int_equal (press (desk, 'o'), ACT_NONE);
    assert_int_equal (press (desk, KEY_IS_DOWN), ACT_NONE);
}

TEST_ON (desk, letters_of_hosts_differ_by_colour_alone)
{
    desk_climbing (desk, 4, 80, 24);
    desk->state.order = SCENE_BY_RANK;
    assert_drawn (desk, "\n  host1 f P         f         .          failed so far");
    assert_true (cells_at (&desk->cells, 4, 8)->color_alone && cells_at (&desk->cells, 4, 20)->color_alone);
    assert_int_equal (cells_at (&desk->cells, 4, 20)->paint, PAINT_BAD);
    assert_false (cells_at (&desk->cells, 4, 41)->color_alone);
    press (desk, 't');
    assert_drawn (desk, "     0 rf\n     2 gr\n  rank f failed so far 1  g at a gate 1  r running 2");
    for (uint32_t row = 2; row < 4; row++)
        for (uint32_t column = 7; column < 9; column++)
            assert_true (cells_at (&desk->cells, row, column)->color_alone);
    assert_int_equal (cells_at (&desk->cells, 2, 8)->paint, PAINT_BAD);
    assert_int_equal (cells_at (&desk->cells, 3, 7)->paint, PAINT_WARN);
}

TEST_ON (desk, a_run_is_cancelled_after_a_question_and_never_by_key)
{
    desk_climbing (desk, 4, 80, 24);
    assert_drawn (desk, "host0");
    assert_int_equal (press (desk, 'c'), ACT_NONE);
    assert_drawn (desk, "Cancel run 3fa9c1d2, as Ctrl-C in its own terminal would? y/N");
    assert_int_equal (press (desk, KEY_IS_ENTER), ACT_NONE);
    assert_string_equal (desk->state.said, "not cancelled");
    press (desk, 'c');
    assert_int_equal (press (desk, 'y'), ACT_CANCEL);
    assert_string_equal (desk->state.said, "sliceup cancel 3fa9c1d2");
    desk->state.key = "a.key";
    assert_int_equal (press (desk, 'c'), ACT_NONE);
    assert_int_equal (press (desk, 'y'), ACT_NONE);
    assert_has (desk->state.said, "a monitor key does not allow it");
}

TEST_ON (desk, what_hosts_say_does_no_harm)
{
    desk_make (desk, 4, 80, 24);
    show_began (&desk->show, TINY, PASS_RESTORED, 1, 4);
    show_failed (&desk->show, 1, HOSTILE);
    show_at_gate (&desk->show, 2, hostile);
    show_phase (&desk->show, 3, hostile, 10);
    show_lost (&desk->show, 0, HOSTILE);
    desk->state.opened = 1;
    for (enum terminal_mode mode = MODE_LIST; mode <= MODE_HOST; mode++) {
        desk->state.mode = mode;
        assert_any_size_fits (desk);
    }
    desk->style = (struct style){ .unicode = true, .columns = 200, .rows = 24 };
    assert_drawn (desk, "    \\x0d\\x09\\x9b31m\\u{9b}2J");
}

/* Keys in any order over facts that no coordinator would make: every frame fits, and nothing in it is raw. */
TEST (any_keys_over_any_facts_do_no_harm)
{
    static const char letters[] =
        "kjhbgG/otewnm=lc?qyN \x0c\x15outcome:failed,L owner:device hosts:host[0-3] @*!phase:time:1s-";
    static const uint32_t sizes[][2] = { { 80, 24 }, { 200, 50 }, { 40, 12 }, { 7, 4 } };
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct rng rng = rng_seed (seed);
        struct desk desk;
        desk_make (&desk, 6, 80, 24);
        for (uint32_t i = 0; i < 150; i++) {
            const uint32_t *size = sizes[rng_below (&rng, 4)];
            show_fact (&desk.show, chaos_fact (&rng, &desk.show.arena));
            desk.style.columns = size[0];
            desk.style.rows = size[1];
            desk.style.unicode = rng_below (&rng, 2);
            struct buf out = draw (&desk);
            assert_fits (&out, size[0], size[1]);
            (desk.style.unicode ? assert_safe : assert_ascii) (&out);
            buf_release (&out);
            for (uint32_t k = 0; k < 3; k++)
                press (&desk, rng_below (&rng, 3) ? (uint8_t) letters[rng_below (&rng, sizeof (letters) - 1)]
                                                  : KEY_IS_UP + (uint32_t) rng_below (&rng, 12));
        }
        desk_release (&desk);
    }
}

TEST (wide_characters_are_cut_whole)
{
    struct style style = { .unicode = true, .columns = 6, .rows = 1 };
    struct cells cells = cells_make (&style, &t->arena);
    struct buf out;
    buf_init (&out, 100);
    struct line line = cells_line (&cells, 0, 0, 6);
    line_text (&line, TEXT_LIT ("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe8\xaa\x9e"));
    cells_print_row (&cells, 0, &out);
    assert_fits (&out, 6, 1);
    assert_string_equal (buf_c (&out), "\xe6\x97\xa5\xe6\x9c\xac \xe2\x80\xa6");
    line = cells_line (&cells, 7, 0, 6);
    line_puts (&line, "outside");
    buf_release (&out);
}

TEST (numbers_have_commas)
{
    char out[NUMBER_BYTES];
    assert_string_equal (number_print (0, out), "0");
    assert_string_equal (number_print (999, out), "999");
    assert_string_equal (number_print (4096, out), "4,096");
    assert_string_equal (number_print (UINT64_MAX, out), "18,446,744,073,709,551,615");
}
