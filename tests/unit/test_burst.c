/* links: simulated view */
#include "test.h"
#include "view_fixture.h"

static struct show bursting (uint32_t hosts)
{
    struct show show;
    show_gathered (&show, hosts);
    buf_clear (&show.lines);
    show.bursts = true;
    return show;
}

/* As long as a line waits: how many lines that gave. */
static uint32_t a_while_on (struct show *show)
{
    size_t before = show->lines.len;
    uint32_t n = 0;
    show->at_ms += BURST_WAIT_MS;
    burst_tell (show->burst, show->board, show->at_ms, &show->style, &show->lines);
    for (size_t i = before; i < show->lines.len; i++)
        n += show->lines.ptr[i] == '\n';
    return n;
}

TEST (silence_of_many_is_one_line)
{
    struct show show = bursting (2048);
    show_began (&show, FACTS, PASS_ONCE, 1, 2048);
    buf_clear (&show.lines);
    for (uint32_t i = 0; i < 40; i++)
        show_suspected (&show, 51 * i, 5000 + i);
    burst_tell (show.burst, show.board, show.at_ms + BURST_WAIT_MS - 1, &show.style, &show.lines);
    assert_int_equal (show.lines.len, 0); /* they wait for one another */
    assert_int_equal (a_while_on (&show), 1);
    assert_has (&show.lines, ") silent for 5 s\n");
    assert_has (&show.lines, "40 hosts (host[0,51,102,");
    for (uint32_t i = 0; i < 40; i++)
        show_lost (&show, 51 * i, text_format (&show.arena, "silent for 30.%u s", i));
    show_joined (&show, 51);
    show_joined (&show, 102);
    assert_int_equal (a_while_on (&show), 2);
    assert_has (&show.lines, "40 hosts (host[0,51,102,");
    assert_has (&show.lines, ") lost: silent for 30.0 s\n");
    assert_has (&show.lines, "2 hosts (host[51,102]) joined again\n");
    assert_int_equal (a_while_on (&show), 0);
    show_release (&show);
}

TEST (machines_that_were_asked_are_one_line_and_one_is_told_with_its_address)
{
    struct show show = bursting (8);
    struct fact asked = { .kind = FACT_HOST_ASKED };
    for (uint32_t i = 0; i < 4; i++) {
        asked.of.host_asked = (struct fact_host_asked){ .host = i,
                                                        .address = text_format (&show.arena, "10.77.0.1%u", i),
                                                        .port = 22,
                                                        .ssh = i == 3 ? REACH_REFUSES : REACH_SILENT };
        show_fact (&show, asked);
    }
    assert_int_equal (a_while_on (&show), 2);
    assert_has (&show.lines, "3 hosts (host[0-2]): each answers nothing (ssh port)\n");
    assert_has (&show.lines, "host3 refuses ssh at 10.77.0.13:22\n");
    show_release (&show);
}

TEST (what_many_find_in_the_cache_is_one_line)
{
    struct show show = bursting (2048);
    struct fact violated = { .kind = FACT_CACHE_VIOLATED }, conflict = { .kind = FACT_CONFLICT_SEEN };
    violated.of.cache_violated.finding = (struct finding){ FINDING_CHANGED, 7, TEXT_LIT ("entry-1"),
                                                           TEXT_LIT ("other bytes") };
    for (uint32_t i = 0; i < 2048; i++) {
        violated.of.cache_violated.host = conflict.of.conflict_seen.host = i;
        show_fact (&show, violated);
        show_fact (&show, conflict);
    }
    violated.of.cache_violated.finding.path = TEXT_LIT ("entry-2"); /* another entry */
    show_fact (&show, violated);
    assert_int_equal (a_while_on (&show), 3);
    assert_has (&show.lines,
                "cache violated: changed in generation 7: entry-1: other bytes, seen by 2048 hosts (host[0-2047])");
    assert_has (&show.lines, "entry-2: other bytes, seen by host2047\n");
    assert_has (&show.lines, "2048 hosts (host[0-2047]) sent two different results for facts; the first one counts\n");
    show_release (&show);
}

TEST (of_hosts_that_are_told_together_nothing_is_said_that_is_true_of_one)
{
    struct show show = bursting (8);
    struct fact back = { .kind = FACT_HOST_RETURNED }, lost = { .kind = FACT_OUTPUT_LOST };
    for (uint32_t i = 0; i < 2; i++) {
        back.of.host_suspected = (struct fact_host_suspected){ .host = i, .silent_ms = 9000 - 4000 * i };
        lost.of.output_lost = (struct fact_output_lost){ .host = i,
                                                         .why = i ? TEXT_LIT ("9 bytes") : TEXT_LIT ("7 bytes") };
        show_fact (&show, back);
        show_fact (&show, lost);
    }
    back.of.host_suspected = (struct fact_host_suspected){ 2, 5000, SILENCE_CUT_OFF };
    assert_int_equal (a_while_on (&show), 3);
    assert_has (&show.lines, "2 hosts (host[0-1]) came back after at least 5 s of silence\n");
    assert_has (&show.lines, "host0: output is lost: 7 bytes\n");
    assert_has (&show.lines, "host1: output is lost: 9 bytes\n");
    show_fact (&show, back);
    assert_int_equal (a_while_on (&show), 1);
    assert_has (&show.lines, "host2 came back after 5 s of silence: its worker ran on, so the network was cut off\n");
    show_release (&show);
}

/* Whose the silence was is a reason of its own: those of one are folded, those of two stay apart. */
TEST (silences_are_told_together_by_whose_they_were)
{
    struct show show = bursting (8);
    for (uint32_t i = 0; i < 6; i++)
        show_fact (&show, (struct fact){ .kind = FACT_HOST_RETURNED,
                                         .of.host_suspected = { i, 9000 + i, i % 2 ? SILENCE_STOOD : SILENCE_LATE } });
    assert_int_equal (a_while_on (&show), 2);
    assert_has (&show.lines, "3 hosts (host[1,3,5]) came back after at least 9 s of silence: its worker stood still "
                             "(stopped, frozen or swapping)\n");
    assert_has (&show.lines,
                "3 hosts (host[0,2,4]) came back after at least 9 s of silence: what it had sent came late, "
                "so the network held it up, or its whole machine stood still\n");
    show_release (&show);
}

TEST (what_befell_one_host_is_told_in_its_order)
{
    struct show show = bursting (3);
    show_suspected (&show, 1, 7000);
    struct fact back = { .kind = FACT_HOST_RETURNED, .of.host_suspected = { .host = 1, .silent_ms = 7100 } };
    show_fact (&show, back);
    show_suspected (&show, 2, 7000);
    show_suspected (&show, 1, 7000);
    assert_int_equal (a_while_on (&show), 3);
    const char *back_line = strstr (buf_c (&show.lines), "host1 came back after 7.1 s of silence\n");
    assert_has (&show.lines, "2 hosts (host[1-2]) silent for 7 s\n");
    assert_non_null (back_line);
    assert_has (back_line, "host1 silent for 7 s\n");
    show_release (&show);
}

/* The coordinator repeats it for whoever began to watch meanwhile. */
TEST (a_silence_is_told_once)
{
    struct show show = bursting (3);
    show_suspected (&show, 1, 7000);
    assert_int_equal (a_while_on (&show), 1);
    show_suspected (&show, 1, 12000);
    assert_int_equal (a_while_on (&show), 0);
    struct fact report = { .kind = FACT_HOST_REPORTED, .of.host_reported.host = 1 };
    show_fact (&show, report);
    show_suspected (&show, 1, 6000);
    assert_int_equal (a_while_on (&show), 1);
    assert_has (&show.lines, "host1 silent for 6 s\n");
    show_release (&show);
}

TEST (an_event_stands_before_what_follows_it)
{
    struct show show = bursting (3);
    show_suspected (&show, 1, 7000);
    show.at_ms = 9000;
    show_began (&show, FACTS, PASS_ONCE, 1, 3);
    assert_string_equal (buf_c (&show.lines), "[     0.2 s] host1 silent for 7 s\n"
                                              "[     9.0 s] facts attempt 1 began on host[0-2] (3 hosts)\n");
    show_release (&show);
}

TEST (a_failure_is_told_once_and_again_when_more_share_it)
{
    struct show show = bursting (64);
    show_began (&show, FACTS, PASS_ONCE, 1, 64);
    buf_clear (&show.lines);
    show_failed (&show, 3, TEXT_LIT ("RuntimeError: no chip at 0x7f3a12 of pid 4711\nmore of it"));
    assert_int_equal (a_while_on (&show), 1);
    assert_has (&show.lines, "facts: host3 failed: RuntimeError: no chip at 0x7f3a12 of pid 4711; exited with status 1 "
                             "in phase run");
    assert_has (&show.lines, "so far\n");
    assert_int_equal (a_while_on (&show), 0);
    buf_clear (&show.lines);
    for (uint32_t i = 4; i < 60; i++)
        show_failed (&show, i, text_format (&show.arena, "RuntimeError: no chip at 0x%x of pid %u", 77 * i, i));
    assert_int_equal (a_while_on (&show), 1);
    assert_has (&show.lines,
                "facts: host[3-59] (57 hosts) failed: host3: RuntimeError: no chip at 0x7f3a12 of pid 4711; ");
    show_failed (&show, 60, TEXT_LIT ("ValueError: another"));
    assert_int_equal (a_while_on (&show), 1);
    assert_has (&show.lines, "facts: host60 failed: ValueError: another; ");
    show_release (&show);
}

TEST (many_errors_are_a_few_lines_at_a_time)
{
    struct show show = bursting (2048);
    show_began (&show, FACTS, PASS_ONCE, 1, 2048);
    buf_clear (&show.lines);
    for (uint32_t i = 0; i < 2048; i++)
        show_failed (&show, i, text_format (&show.arena, "error of kind %c", (char) ('a' + i % 20)));
    assert_int_equal (a_while_on (&show), BURST_LINES + 1);
    assert_has (&show.lines, "failed with other errors than these so far: 8");
    for (uint32_t told = BURST_LINES; told < BOARD_GROUPS_MAX; told += BURST_LINES)
        assert_int_equal (a_while_on (&show), BURST_LINES);
    for (char kind = 'a'; kind < 'a' + BOARD_GROUPS_MAX; kind++) {
        char words[32];
        snprintf (words, sizeof (words), "error of kind %c;", kind);
        assert_has (&show.lines, words);
    }
    assert_int_equal (a_while_on (&show), 0);
    show_release (&show);
}

TEST (the_verdict_corrects_what_was_told_and_nothing_else)
{
    struct show show = bursting (6);
    struct verdict verdicts[] = {
        { .host = 0, .outcome = OUTCOME_FAILED, .owner = OWNER_UNKNOWN, .cause = TEXT_LIT ("first") },
        { .host = 1, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER, .cause = TEXT_LIT ("a peer failed") },
        { .host = 2, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER, .cause = TEXT_LIT ("a peer failed") },
        { .host = 3, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER, .cause = TEXT_LIT ("a peer failed") },
    };
    show_began (&show, ALL, PASS_RESTORED, 1, 6);
    for (uint32_t i = 0; i < 3; i++)
        show_failed (&show, i, TEXT_LIT ("boom"));
    a_while_on (&show);
    show_failed (&show, 3, TEXT_LIT ("boom")); /* and the pass ends before that is told */
    buf_clear (&show.lines);
    show_pass_ended (&show, OUTCOME_FAILED, 900, verdicts, 4);
    assert_has (&show.lines,
                "  corrected: host[1-2] cascade (whose: another host), so far told as failed (whose: not known)\n");
    const struct board_pass *pass = &show.board->rungs[ALL].passes[PASS_RESTORED];
    assert_int_equal (pass->corrections.n, 1);
    assert_int_equal (pass->corrections.items[0].hosts.n, 3);
    show_release (&show);
}

static void warn_from (struct show *show, uint32_t host, struct text text, const char *source)
{
    struct result_note note = { text, text_of (source), DURABILITY_RECHECK };
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED };
    fact.of.attempt_ended.host = host;
    fact.of.attempt_ended.result.ending = ENDING_EXITED;
    fact.of.attempt_ended.result.notes.items = &note;
    fact.of.attempt_ended.result.notes.n = 1;
    show_fact (show, fact);
}

TEST (warnings_are_told_at_once_and_not_without_end)
{
    struct show show = bursting (64);
    uint32_t lines = 0;
    show_began (&show, FACTS, PASS_ONCE, 1, 64);
    buf_clear (&show.lines);
    warn_from (&show, 3, TEXT_LIT ("up for 2 h"), "host-facts");
    assert_int_equal (show.lines.len, 0);
    for (uint32_t i = 0; i < 40; i++)
        warn_from (&show, i, TEXT_LIT ("/var/tmp (tmpfs, 600 MiB) has 12.0 MiB free\x1b[2J"), NOTE_WARNING);
    assert_has (&show.lines, "] host0: /var/tmp (tmpfs, 600 MiB) has 12.0 MiB free\\x1b[2J\n");
    assert_has (&show.lines, "] host15: ");
    assert_true (text_ends (buf_as_text (&show.lines), "] more warnings of hosts: the notes of the receipt\n"));
    assert_has_not (&show.lines, "host16: ");
    for (size_t i = 0; i < show.lines.len; i++)
        lines += show.lines.ptr[i] == '\n';
    assert_int_equal (lines, 17);
    show_release (&show);
}
