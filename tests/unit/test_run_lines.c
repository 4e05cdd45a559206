/* links: simulated cli */

#include "coordinator/cli/climb.h"
#include "test.h"
#include "view_fixture.h"

enum { QUIET_MS = 10000 };

struct watched {
    struct show show;
    struct feed *feed;
    struct run_lines *lines;
    FILE *stream;
    struct buf out;
    uint64_t boot_ms, wall_ms, index;
};

static void apply (struct watched *watched, struct fact *fact)
{
    fact->index = ++watched->index;
    feed_apply (watched->feed, fact, watched->boot_ms, watched->wall_ms);
    run_lines_fact (watched->lines, fact, watched->boot_ms);
}

static void watched_make (struct watched *watched, bool json)
{
    *watched = (struct watched){ .stream = tmpfile (), .boot_ms = 50000, .wall_ms = 1700000000000 };
    assert_non_null (watched->stream);
    show_make (&watched->show, 2);
    buf_init (&watched->out, 1 << 20);
    watched->feed = feed_create (BOARD_JUDGED_STATE);
    const struct run_lines_options options = { .feed = watched->feed, .out = watched->stream, .json = json };
    watched->lines = run_lines_open (&options);
    run_lines_tick (watched->lines, watched->boot_ms, false);
    struct fact fact = { .kind = FACT_RUN_OPENED, .wall_ms = watched->wall_ms };
    fact.of.run_opened = (struct fact_run_opened){ .run = TEXT_LIT ("3fa9c1d2000000000000000000000000"),
                                                   .plan = watched->show.plan,
                                                   .version = TEXT_LIT ("0.1.0") };
    apply (watched, &fact);
}

static void watched_release (struct watched *watched)
{
    run_lines_close (watched->lines);
    feed_destroy (watched->feed);
    fclose (watched->stream);
    buf_release (&watched->out);
    show_release (&watched->show);
}

TEST_FIXTURE (struct watched, TEST_NOTHING, watched_release)

static bool says (struct watched *watched, const char *words)
{
    char block[4096];
    ssize_t n;
    buf_clear (&watched->out);
    for (off_t at = 0; (n = pread (fileno (watched->stream), block, sizeof (block), at)) > 0; at += n)
        buf_add (&watched->out, block, (size_t) n);
    return strstr (buf_c (&watched->out), words) != NULL;
}

static bool says_after (struct watched *watched, uint64_t ms, bool frozen, const char *words)
{
    watched->boot_ms += ms;
    watched->wall_ms += ms;
    feed_tick (watched->feed, watched->boot_ms);
    run_lines_tick (watched->lines, watched->boot_ms, frozen);
    return says (watched, words);
}

TEST_ON (watched, what_is_waited_for_is_said_after_ten_seconds_that_passed)
{
    watched_make (watched, false);
    assert_false (says_after (watched, QUIET_MS - 1, false, "waiting for"));
    assert_true (says_after (watched, 1, false, "waiting for"));
    assert_has (&watched->out, "(10 s of ");
    assert_false (says_after (watched, QUIET_MS, false, "(20 s of ")); /* then seldom */
    assert_true (says_after (watched, 2 * QUIET_MS, false, "(40 s of "));
}

TEST_ON (watched, while_nothing_is_heard_nothing_is_waited_for)
{
    watched_make (watched, false);
    assert_false (says_after (watched, 2 * QUIET_MS, true, "waiting for"));
}

/* It stood an hour ahead until just now: ten seconds are ten seconds. */
TEST_ON (watched, the_wall_clock_does_not_decide_how_long_it_was_quiet)
{
    watched_make (watched, false);
    watched->wall_ms -= 3600 * 1000;
    assert_false (says_after (watched, QUIET_MS - 1, false, "waiting for"));
    assert_true (says_after (watched, 1, false, "waiting for"));
    assert_has (&watched->out, "(10 s of ");
}

/* A fact that was recorded 4 s ago. */
TEST_ON (watched, a_fact_that_comes_late_has_its_age_by_the_wall_clock)
{
    struct fact beat = { .kind = FACT_EPOCH_BEGAN, .at_ms = 60000, .of.epoch_began = { 1, 77, 0 } };
    watched_make (watched, false);
    watched->boot_ms += 5000;
    beat.wall_ms = watched->wall_ms - 4000;
    apply (watched, &beat);
    assert_false (says_after (watched, QUIET_MS - 5001, false, "waiting for"));
    assert_true (says_after (watched, 1001, false, "waiting for"));
    assert_has (&watched->out, "[    70.0 s] "); /* 60 s, 4 s old, 6 s more */
}

TEST (notes_stand_behind_the_clock_of_the_run_and_json_has_none)
{
    struct watched watched;
    struct fact asked = { .kind = FACT_CANCEL_ASKED, .at_ms = 83450, .of.cancel_asked = { .level = 1 } };
    watched_make (&watched, false);
    apply (&watched, &asked);
    run_lines_remark (watched.lines, "nobody holds\x1b[2J it \xC3\xBC", watched.boot_ms);
    assert_true (says (&watched, "[    83.4 s] cancelled: the running rung is asked to end\n"
                                 "nobody holds\\x1b[2J it \\u{fc}\n"));
    watched_release (&watched);
    watched_make (&watched, true);
    apply (&watched, &asked);
    run_lines_remark (watched.lines, "nobody holds it", watched.boot_ms);
    assert_true (says (&watched, "\"what\":\"nobody holds it\""));
    assert_false (says (&watched, "[    83.4 s]"));
    assert_false (says_after (&watched, 2 * QUIET_MS, false, "waiting for"));
    watched_release (&watched);
}

/* A note that views keep is cut and one of the newest 256; a line is neither. */
TEST_ON (watched, lines_are_neither_cut_nor_left_out)
{
    enum { LONG = 5000, MANY = FEED_NOTES_KEPT + 44 };
    static char remark[LONG + 1];
    watched_make (watched, false);
    memset (remark, 'x', LONG);
    run_lines_remark (watched->lines, remark, watched->boot_ms);
    assert_true (says (watched, remark));
    for (uint32_t i = 0; i < MANY; i++) {
        snprintf (remark, sizeof (remark), "remark %u.", i);
        feed_add_remark (watched->feed, text_of (remark));
    }
    run_lines_tick (watched->lines, watched->boot_ms, false);
    assert_true (says (watched, "remark 0.\n"));
    assert_true (says (watched, "remark 299.\n"));
}

/* Two hosts that fall silent are told together half a second later, or when there is no later. */
TEST_ON (watched, what_waits_to_be_shared_is_printed_at_the_end)
{
    struct fact silent = { .kind = FACT_HOST_SUSPECTED,
                           .at_ms = 1000,
                           .of.host_suspected = { .host = 0, .silent_ms = 5000 } };
    watched_make (watched, false);
    apply (watched, &silent);
    assert_false (says (watched, "silent for"));
    run_lines_close (watched->lines);
    watched->lines = NULL;
    assert_true (says (watched, "host0 silent for 5 s\n"));
}

/* It stays in the journal, so that a reader who comes later is told of it too. */
TEST (a_survived_silence_is_one_line)
{
    struct watched watched;
    struct fact back = {
        .kind = FACT_HOST_RETURNED, .index = 9, .at_ms = 1000, .of.host_suspected = { 1, 26000, SILENCE_STOOD }
    };
    watched_make (&watched, false);
    apply (&watched, &back);
    run_lines_close (watched.lines);
    watched.lines = NULL;
    assert_true (says (
        &watched, "host1 came back after 26 s of silence: its worker stood still (stopped, frozen or swapping)\n"));
    watched_release (&watched);
    watched_make (&watched, true);
    apply (&watched, &back);
    assert_true (says (&watched, "\"type\":\"host-returned\""));
    assert_true (says (&watched, "\"host\":\"host1\",\"silent_ms\":26000,\"silence\":\"stood-still\""));
    watched_release (&watched);
}
