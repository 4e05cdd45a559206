/* links: simulated picture */
/* A query with a range of time: who was there in it, and what an opened host, notes and gates show of it. */
#include "scene_fixture.h"
#include "test.h"

static const char *taken_from (struct stage *stage, uint64_t from_ms, uint64_t until_ms)
{
    stage->query.from_ms = from_ms;
    stage->query.until_ms = until_ms;
    return taken (stage);
}

TEST_FIXTURE (struct stage, TEST_NOTHING, stage_release)

TEST_ON (stage, a_range_takes_hosts_of_which_an_attempt_was_there_in_it)
{
    struct show *show = &stage->show;
    stage_gathered (stage, 3);
    show->at_ms = 1000;
    show_began (show, FACTS, PASS_ONCE, 1, 2);
    show->at_ms = 3000;
    ended_after (show, 0, 100, 2000); /* 1000 to 3000 */
    assert_string_equal (taken_from (stage, 0, 1000), "");
    assert_string_equal (taken_from (stage, 0, 1001), "0 1");
    assert_string_equal (taken_from (stage, 2999, UINT64_MAX), "0 1");
    assert_string_equal (taken_from (stage, 3000, UINT64_MAX),
                         "1"); /* it only touches the other; this one runs up to now */
    assert_int_equal (stage->scene.hidden_n, 2);
    assert_int_equal (stage->scene.marks[MARK_ENDED], 1); /* of all, as they stand now */
    assert_string_equal (taken_from (stage, 3001, UINT64_MAX), "");
    show->at_ms = 9000;
    assert_string_equal (taken_from (stage, 3001, 4000), "1");
    assert_string_equal (taken_from (stage, 9000, 9001), "1");
    assert_string_equal (taken_from (stage, 9001, UINT64_MAX), "");
    show_pass_ended (show, OUTCOME_PASSED, 8000, NULL, 0);
    show_run_ended (show, OUTCOME_PASSED, 0, TEXT_LIT ("it passed"));
    show->at_ms = 20000;
    assert_string_equal (taken_from (stage, 8999, UINT64_MAX), "1"); /* no end of its own: there until its verdict */
    assert_string_equal (taken_from (stage, 10000, UINT64_MAX), "");
    assert_string_equal (taken_from (stage, 0, UINT64_MAX), "0 1"); /* host2 did nothing in all this time */
    assert_string_equal (taken_from (stage, 0, 0), "0 1 2");
}

TEST_ON (stage, a_range_takes_hosts_that_were_silent_or_lost_in_it)
{
    struct show *show = &stage->show;
    stage_gathered (stage, 3);
    show->at_ms = 5000;
    show_suspected (show, 0, 2000);
    show_suspected (show, 1, 1000);
    show->at_ms = 7000;
    show_phase (show, 0, "init", 10); /* heard again */
    show_lost (show, 1, TEXT_LIT ("silent for 3 s"));
    show_lost (show, 2, TEXT_LIT ("its connection ended"));
    assert_string_equal (taken_from (stage, 0, 3000), "");
    assert_string_equal (taken_from (stage, 0, 3001), "0");
    assert_string_equal (taken_from (stage, 4500, 5000), "0 1");
    assert_string_equal (taken_from (stage, 6999, UINT64_MAX), "0 1 2");
    assert_string_equal (taken_from (stage, 7000, UINT64_MAX), "1 2");
    show->at_ms = 8000;
    show_joined (show, 1);
    assert_string_equal (taken_from (stage, 7999, UINT64_MAX), "1 2");
    assert_string_equal (taken_from (stage, 8000, UINT64_MAX), "2");
    show_run_ended (show, OUTCOME_LOST, 1, TEXT_LIT ("lost"));
    show->at_ms = 20000;
    assert_string_equal (taken_from (stage, 8001, UINT64_MAX), ""); /* after the end nothing is */
}

TEST_ON (stage, an_opened_host_notes_and_gates_are_cut_to_the_range)
{
    struct show *show = &stage->show;
    stage_gathered (stage, 2);
    show->at_ms = 1000;
    show_began (show, FACTS, PASS_ONCE, 1, 2);
    ended_after (show, 0, 200, 900); /* init to 1300, the gate to 1500, compile to 1900 */
    ended_after (show, 1, 100, 800);
    show_pass_ended (show, OUTCOME_PASSED, 1000, NULL, 0);
    show->at_ms = 4000;
    show_began (show, TINY, PASS_COLD, 1, 2);
    stage->query.opened = 0;
    assert_string_equal (taken_from (stage, 1400, 1700), "0 1");
    const struct scene *scene = &stage->scene;
    assert_int_equal (scene->host->attempts_n, 1);
    assert_int_equal (scene->host->attempts[0].began_ms, 1000);
    assert_int_equal (scene->host->attempts[0].ms, 900);
    assert_int_equal (scene->host->attempts[0].spans_n, 2);
    assert_text (scene->host->attempts[0].spans[0].name, "gate:rendezvous");
    assert_int_equal (scene->host->attempts[0].spans[0].began_ms, 1400);
    assert_int_equal (scene->host->attempts[0].spans[0].ms, 100);
    assert_int_equal (scene->host->attempts[0].spans[1].began_ms, 1500);
    assert_int_equal (scene->host->attempts[0].spans[1].ms, 200);
    assert_int_equal (scene->gates_n, 1); /* host1 was through at 1400 */
    assert_int_equal (scene->gates[0]->opened_ms, 1400);
    assert_int_equal (scene->notes_n, 0);
    assert_string_equal (taken_from (stage, 1401, 3900), "0 1");
    assert_int_equal (scene->gates_n, 0);
    taken_from (stage, 3900, 4100);
    assert_int_equal (scene->host->attempts_n, 1);
    assert_int_equal (scene->host->attempts[0].mark, MARK_RUNS);
    assert_true (scene->notes_n > 0);
    for (uint32_t i = 0; i < scene->notes_n; i++)
        assert_int_equal (scene->notes[i]->at_ms, 4000);
}
