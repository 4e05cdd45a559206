/* links: simulated view */
#include "coordinator/view/status.h"
#include "test.h"
#include "view_fixture.h"

#define FAILURE                                                                                                        \
    "host1 failed: killed by signal 9 (Killed) in phase run; nothing in its log says by whom (dmesg of the host "      \
    "tells "                                                                                                           \
    "of the kernel, which kills for want of memory); whose: not known so far\n"

static const struct style usual = { .unicode = true, .columns = 80 };

static struct buf drawn (const struct show *show, struct style style)
{
    struct buf out;
    buf_init (&out, 4 << 20);
    grid_draw (show->board, show->at_ms, &style, &out);
    return out;
}

static void assert_drawn (const struct show *show, struct style style, const char *expected)
{
    struct buf out = drawn (show, style);
    assert_string_equal (buf_c (&out), expected);
    buf_release (&out);
}

/* The first rung passed, the second runs on four hosts: two are done, one of them badly. */
static struct show climbing (void)
{
    struct show show;
    show_gathered (&show, 4);
    show_began (&show, FACTS, PASS_ONCE, 1, 4);
    show_pass_ended (&show, OUTCOME_PASSED, 400, NULL, 0);
    show.at_ms = 1000;
    show_began (&show, TINY, PASS_RESTORED, 1, 4);
    show_ended (&show, 0, ENDING_EXITED, 0);
    show_ended (&show, 1, ENDING_SIGNALLED, 9);
    show.at_ms = 13000;
    show_phase (&show, 2, "compile", 11000);
    show_phase (&show, 3, "compile", 11000);
    return show;
}

TEST (eighty_columns_show_it_all)
{
    struct show show = climbing ();
    assert_drawn (&show, usual,
                  "sample  1/3 rungs  13 s  4/4 hosts  run 3fa9c1d2\n"
                  "\xE2\x9C\x93 facts once      4 passed                                               400 ms\n"
                  "\xE2\x96\xB8 tiny  restored  "
                  "\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88"
                  "\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x88\xE2\x96\x91\xE2\x96\x91\xE2\x96\x91\xE2\x96\x91\xE2"
                  "\x96\x91\xE2\x96\x91"
                  "\xE2\x96\x91\xE2\x96\x91\xE2\x96\x91\xE2\x96\x91\xE2\x96\x91\xE2\x96\x91 2/4 (1 failed)             "
                  "     12 s\n"
                  "\xC2\xB7 all\n" FAILURE "waiting for host[2-3] in phase compile (12 s of 1 min)\n");
    show_release (&show);
}

TEST (forty_columns_and_ascii_are_enough)
{
    struct show show = climbing ();
    assert_drawn (&show, (struct style){ .columns = 40 },
                  "sample  1/3 rungs  13 s  4/4 hosts  ru..\n"
                  "+ facts 4 passed                 400 ms\n"
                  "> tiny  2/4 (1 failed)             12 s\n"
                  ". all\n" FAILURE "waiting for host[2-3] in phase compile..\n");
    show_release (&show);
}

TEST (hosts_that_call_for_attention_are_named)
{
    struct show show = climbing ();
    show_suspected (&show, 2, 6000);
    show_lost (&show, 3, TEXT_LIT ("gone"));
    struct buf out = drawn (&show, usual);
    assert_has (&out, "3/4 hosts");
    assert_has (&out, "\n1 lost: host3\n1 silent: host2\nhost1 failed: ");
    buf_release (&out);
    out = drawn (&show, (struct style){ .color = true, .columns = 80 });
    assert_has (&out, "\n\x1b[1;31m1 lost: host3\x1b[0m\n\x1b[33m1 silent: host2\x1b[0m\n");
    buf_release (&out);
    show_release (&show);
}

TEST (the_end_shows_how_every_rung_stands)
{
    struct show show = climbing ();
    struct verdict verdict = { .host = 1, .outcome = OUTCOME_TIMED_OUT, .cause = TEXT_LIT ("killed") };
    show_pass_ended (&show, OUTCOME_TIMED_OUT, 12000, &verdict, 1);
    show_run_ended (&show, OUTCOME_TIMED_OUT, 1, TEXT_LIT ("stopped"));
    struct style style = { .columns = 60 };
    struct buf out = drawn (&show, style);
    assert_string_equal (buf_c (&out), "sample  1/3 rungs  13 s  4/4 hosts  run 3fa9c1d2\n"
                                       "+ facts once      4 passed                           400 ms\n"
                                       "T tiny  restored  3 passed, 1 timed-out                12 s\n"
                                       ". all\n");
    buf_release (&out);
    show_release (&show);
}

TEST (a_rung_that_was_left_half_done_does_not_run_for_ever)
{
    struct show show;
    show_gathered (&show, 1);
    show_began (&show, TINY, PASS_COLD, 1, 1);
    show_pass_ended (&show, OUTCOME_PASSED, 1000, NULL, 0);
    struct buf out = drawn (&show, (struct style){ .columns = 80 });
    assert_has (&out, "\n> tiny  cold      1 passed");
    buf_release (&out);
    show_run_ended (&show, OUTCOME_BLOCKED, 130, TEXT_LIT ("cancelled"));
    out = drawn (&show, (struct style){ .columns = 80 });
    assert_has (&out, "\n. tiny  cold      1 passed");
    buf_release (&out);
    show_release (&show);
}

/* Removes our own colours: what is left must be as without them. */
static void strip_colours (struct buf *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < out->len; i++) {
        if (out->ptr[i] == 0x1b && i + 1 < out->len && out->ptr[i + 1] == '[') {
            for (i += 2; i < out->len && out->ptr[i] != 'm'; i++)
                assert_true (out->ptr[i] == ';' || (out->ptr[i] >= '0' && out->ptr[i] <= '9'));
            continue;
        }
        out->ptr[kept++] = out->ptr[i];
    }
    out->len = kept;
}

TEST (colours_add_nothing_but_colours)
{
    struct show show = climbing ();
    struct style coloured = usual;
    coloured.color = true;
    struct buf with = drawn (&show, coloured), without = drawn (&show, usual);
    assert_true (with.len > without.len);
    assert_int_equal (with.ptr[with.len - 1], '\n');
    assert_memory_equal (with.ptr + with.len - 5, "\x1b[0m\n", 5); /* nothing stays coloured */
    strip_colours (&with);
    assert_string_equal (buf_c (&with), buf_c (&without));
    buf_release (&with);
    buf_release (&without);
    show_release (&show);
}

TEST (the_locale_decides_about_utf8)
{
    assert_true (style_locale_is_utf8 (NULL, NULL, "en_US.UTF-8"));
    assert_true (style_locale_is_utf8 (NULL, "C.utf8", "C"));
    assert_false (style_locale_is_utf8 ("C", "C.utf8", "en_US.UTF-8"));
    assert_true (style_locale_is_utf8 ("", "", "de_DE.UTF-8@euro"));
    assert_false (style_locale_is_utf8 (NULL, NULL, NULL));
    assert_false (style_locale_is_utf8 (NULL, NULL, "en_US.ISO-8859-1"));
}

TEST (what_a_host_says_never_reaches_the_terminal_raw)
{
    struct show show;
    show_make (&show, 3);
    show.plan.slice = show.plan.hosts.items[1].name = show.plan.rungs.items[TINY].id = HOSTILE;
    show_open (&show);
    for (uint32_t i = 0; i < 3; i++)
        show_joined (&show, i);
    show_began (&show, TINY, PASS_RESTORED, 1, 3);
    show_phase (&show, 0, hostile, 10);
    show_suspected (&show, 1, 9000);
    struct buf out = drawn (&show, (struct style){ .unicode = true, .columns = 400 });
    assert_safe (&out);
    assert_int_equal (assert_fits (&out, 400, 8), 8);
    buf_release (&out);
    out = drawn (&show, (struct style){ .columns = 400 });
    assert_ascii (&out);
    buf_release (&out);
    show_release (&show);
}

TEST (whatever_happens_it_is_safe)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct rng rng = rng_seed (seed);
        struct show show;
        show_gathered (&show, 6);
        for (uint32_t i = 0; i < 150; i++) {
            struct arena arena = { 0 };
            show.at_ms += rng_below (&rng, 500);
            show_fact (&show, chaos_fact (&rng, &arena));
            arena_release (&arena);
            struct style style = { .unicode = rng_below (&rng, 2),
                                   .color = rng_below (&rng, 2),
                                   .columns = (uint32_t) rng_below (&rng, 150) + STYLE_COLUMNS_MIN };
            struct buf out = drawn (&show, style);
            strip_colours (&out);
            assert_safe (&out);
            buf_release (&out);
        }
        show_release (&show);
    }
}
