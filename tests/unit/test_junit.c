/* links: report */
/* A run as JUnit XML: which case holds what, that counts are those of the receipt, that no text leaves its place. */
#include "coordinator/report/report.h"
#include "coordinator/view/receipt_text.h"
#include "test.h"

enum { HOSTS = 4 };

struct world {
    struct slice_receipt receipt;
    struct run_header header;
    struct host_receipt hosts[HOSTS];
    struct rung_receipt attempts[HOSTS][4], *places[HOSTS][2];
    struct text rungs[2], names[HOSTS];
    struct rung_time time;
    struct buf xml;
};

static struct rung_receipt attempt (uint32_t number, enum outcome outcome, struct text cause)
{
    return (struct rung_receipt){ .rung = TEXT_LIT ("low"),
                                  .pass = PASS_ONCE,
                                  .attempt = number,
                                  .outcome = outcome,
                                  .cause = { .text = cause, .owner = cause.len ? OWNER_PROGRAM : OWNER_NONE } };
}

static void world_open (struct world *world)
{
    static const char *const names[HOSTS] = { "h0", "h1", "h2", "h3" };
    *world = (struct world){ .rungs = { TEXT_LIT ("low"), TEXT_LIT ("high") } };
    world->header = (struct run_header){
        .run = TEXT_LIT ("0123"), .slice = TEXT_LIT ("s"), .ladder = TEXT_LIT ("l"), .rungs = { world->rungs, 2 }
    };
    world->receipt.headers.items = &world->header;
    world->receipt.headers.n = 1;
    world->receipt.hosts.items = world->hosts;
    world->receipt.hosts.n = HOSTS;
    world->time = (struct rung_time){ .run = TEXT_LIT ("0123"), .rung = TEXT_LIT ("low"), .duration_ms = 1500 };
    world->receipt.times.items = &world->time;
    world->receipt.times.n = 1;
    for (uint32_t i = 0; i < HOSTS; i++) {
        world->hosts[i] = (struct host_receipt){ .run = TEXT_LIT ("0123"), .host = text_of (names[i]), .rank = i };
        world->attempts[i][0] = attempt (1, OUTCOME_PASSED, TEXT_LIT (""));
        world->places[i][0] = &world->attempts[i][0];
        world->places[i][1] = &world->attempts[i][1];
        world->hosts[i].rungs.items = world->places[i];
        world->hosts[i].rungs.n = 1;
    }
    buf_init (&world->xml, 1 << 20);
}

static const char *made (struct world *world)
{
    buf_clear (&world->xml);
    junit_xml (&world->receipt, &world->xml);
    assert_false (world->xml.overflow);
    return buf_c (&world->xml);
}

static void says (const char *xml, const char *words)
{
    assert_has (xml, words);
}

TEST (test_a_rung_is_a_case_with_the_time_of_its_passes)
{
    struct world world;
    world_open (&world);
    const char *xml = made (&world);
    says (xml, "<testsuites tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"1\" time=\"1.500\">");
    says (xml, "<testcase classname=\"s/l\" name=\"low\" time=\"1.500\">\n<properties><property name=\"outcome\" "
               "value=\"passed\"/><property name=\"hosts\" value=\"h[0-3]\"/><property name=\"hosts_n\" value=\"4\"/>");
    says (xml, "<skipped message=\"not reached\" type=\"not-reached\"></skipped>");
    buf_release (&world.xml);
}

TEST (test_the_worst_hosts_are_the_case_and_cascades_one_behind_it)
{
    struct world world;
    world_open (&world);
    world.attempts[0][0] = attempt (1, OUTCOME_CASCADE, TEXT_LIT ("aborted because h2 failed"));
    world.attempts[1][0] = attempt (1, OUTCOME_LOST, TEXT_LIT ("silent"));
    world.attempts[2][0] = attempt (1, OUTCOME_FAILED, TEXT_LIT ("exited with status 3"));
    world.attempts[2][0].cause.evidence = TEXT_LIT ("one\ntwo");
    world.attempts[3][0] = world.attempts[0][0];
    const char *xml = made (&world);
    says (xml, "<testsuite name=\"s\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"2\" time=\"1.500\">");
    says (xml, "name=\"low\" time=\"1.500\">");
    says (xml, "<failure message=\"h2 failed: exited with status 3\" type=\"failed\">");
    says (xml, "\none\ntwo\n");
    says (xml, "<error message=\"h1 lost: silent\" type=\"lost\">");
    says (xml, "name=\"low: h[0,3] cascade\" time=\"0.000\">");
    says (xml, "<skipped message=\"h[0,3] cascade: aborted because h2 failed\" type=\"cascade\">");
    buf_release (&world.xml);
}

/* As JUnit's readers show it, beside the message or without it. */
TEST (test_a_body_begins_with_what_happened_and_whose_it_is)
{
    struct world world;
    world_open (&world);
    world.attempts[0][0] = attempt (1, OUTCOME_FAILED, TEXT_LIT ("exited with status 3"));
    world.attempts[0][0].cause.owner = OWNER_UNKNOWN;
    world.attempts[1][0] = attempt (1, OUTCOME_LOST, TEXT_LIT ("silent"));
    world.attempts[2][0] = attempt (1, OUTCOME_TIMED_OUT, TEXT_LIT (""));
    world.attempts[2][0].cause.owner = OWNER_UNKNOWN;
    world.attempts[3][0] = attempt (1, OUTCOME_BLOCKED, TEXT_LIT (""));
    world.attempts[3][0].cause.evidence = TEXT_LIT ("no place");
    const char *xml = made (&world);
    says (xml, ">exited with status 3; whose: not known\n</failure>");
    says (xml, ">silent; whose: your program\n</error>");
    says (xml, ">timed-out; whose: not known\n</error>");
    says (xml, ">blocked\nno place\n</error>");
    assert_has_not (xml, ">;");
    buf_release (&world.xml);
}

TEST (test_what_failed_before_it_passed_is_flaky)
{
    struct world world;
    world_open (&world);
    for (uint32_t i = 0; i < HOSTS; i++) {
        world.attempts[i][1] = attempt (2, OUTCOME_PASSED, TEXT_LIT (""));
        world.hosts[i].rungs.n = 2;
    }
    world.attempts[1][0] = attempt (1, OUTCOME_FAILED, TEXT_LIT ("no quota"));
    world.attempts[2][0] = attempt (1, OUTCOME_CASCADE, TEXT_LIT ("aborted because h1 failed"));
    const char *xml = made (&world);
    says (xml, "tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"1\"");
    says (xml, "<flakyFailure message=\"h1 failed: no quota\" type=\"failed\">");
    for (uint32_t i = 0; i < HOSTS; i++)
        world.attempts[i][1] = attempt (2, OUTCOME_FAILED, TEXT_LIT ("no quota again"));
    xml = made (&world);
    says (xml, "<rerunFailure message=\"h1 failed: no quota\" type=\"failed\">");
    says (xml, "<failure message=\"h[0-3] failed: no quota again\"");
    buf_release (&world.xml);
}

TEST (test_hosts_that_were_left_behind_do_not_make_a_rung_worse)
{
    struct world world;
    world_open (&world);
    world.hosts[0].rungs.n = 0;
    const char *xml = made (&world);
    says (xml, "name=\"low\" time=\"1.500\">\n<properties><property name=\"outcome\" value=\"passed\"/>");
    says (xml, "name=\"low: h0 not-reached\"");
    buf_release (&world.xml);
}

/* A cause for each of them, in letters: those that differ in numbers are one line. */
TEST (test_hosts_that_each_have_a_cause_of_their_own_need_little_memory)
{
    enum { MANY = 1024 };
    static struct host_receipt hosts[MANY];
    static struct rung_receipt attempts[MANY], *places[MANY];
    static char causes[MANY][4];
    struct world world;
    struct receipt_line *lines;
    world_open (&world);
    for (uint32_t i = 0; i < MANY; i++) {
        causes[i][0] = (char) ('a' + i % 26);
        causes[i][1] = (char) ('a' + i / 26 % 26);
        causes[i][2] = (char) ('a' + i / 676);
        attempts[i] = attempt (1, OUTCOME_FAILED, text_of (causes[i]));
        places[i] = &attempts[i];
        hosts[i] = (struct host_receipt){
            .run = TEXT_LIT ("0123"), .host = TEXT_LIT ("host"), .rank = i, .rungs = { &places[i], 1 }
        };
    }
    world.receipt.hosts.items = hosts;
    world.receipt.hosts.n = MANY;
    assert_int_equal (receipt_lines_of_rung (&world.receipt, TEXT_LIT ("0123"), TEXT_LIT ("low"), &lines, &t->arena),
                      MANY);
    assert_in_range (t->arena.used_bytes, 1, 1 << 20);
    says (made (&world), "failures=\"1024\"");
    buf_release (&world.xml);
}

/* Every byte, and the characters that XML 1.0 has no place for. */
TEST (test_no_text_leaves_its_place)
{
    char all[257];
    for (int i = 0; i < 256; i++)
        all[i] = (char) (i == 0 ? 255 : i);
    all[256] = 0;
    struct buf *out = test_buf (t);
    xml_text (out, (struct text){ all, 256 }, 0);
    xml_text (out, TEXT_LIT ("\xEF\xBF\xBE\xEF\xBF\xBF\0\xE2\x80\xAE"), 0);
    for (size_t i = 0; i < out->len; i++)
        assert_true (out->ptr[i] >= 0x20 && out->ptr[i] < 0x7F && !strchr ("<>\"'", out->ptr[i]));
    says (buf_c (out), "%&amp;&#39;(");
    says (buf_c (out), "\\u{fffe}\\u{ffff}\\x00\\u{202e}");
    buf_clear (out);
    xml_lines (out, TEXT_LIT ("a\n<b\n"));
    assert_string_equal ("a\n&lt;b\n", buf_c (out));
}

TEST (test_same_receipt_same_bytes_and_an_empty_one_parses)
{
    struct world world;
    world_open (&world);
    world.attempts[2][0] = attempt (1, OUTCOME_TIMED_OUT, TEXT_LIT ("]]>&<failure>"));
    struct buf *again = test_buf (t);
    junit_xml (&world.receipt, again);
    assert_string_equal (buf_c (again), made (&world));
    says (buf_c (again), "]]&gt;&amp;&lt;failure&gt;");
    buf_clear (again);
    static const struct slice_receipt nothing;
    junit_xml (&nothing, again);
    says (buf_c (again), "<testsuite name=\"sliceup\" tests=\"0\"");
    buf_release (&world.xml);
}
