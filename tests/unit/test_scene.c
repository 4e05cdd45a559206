/* links: simulated picture */
#include "coordinator/picture/scene_json.h"
#include "scene_fixture.h"
#include "test.h"

/* The marks of all tiles at a rung, in their order; `rung` SCENE_NOBODY: now.
 */
static const char *letters (const struct scene *scene, uint32_t rung)
{
    static char out[HOSTS_MAX + 1];
    for (uint32_t i = 0; i < scene->tiles_n; i++)
        out[i] = scene_mark_letter (rung == SCENE_NOBODY ? scene->tiles[i].now
                                                         : (enum scene_mark) scene->tiles[i].cells[rung]);
    out[scene->tiles_n] = 0;
    return out;
}
#define assert_marks(stage, rung, expected) assert_string_equal (letters (stage_draw (stage), rung), expected)

TEST_FIXTURE (struct stage, TEST_NOTHING, stage_release)

TEST (every_mark_has_a_letter_of_its_own)
{
    char seen[MARK_N + 1] = { 0 };
    for (enum scene_mark mark = 0; mark < MARK_N; mark++) {
        assert_null (strchr (seen, scene_mark_letter (mark)));
        seen[mark] = scene_mark_letter (mark);
        assert_true (strlen (scene_mark_word (mark)) > 0);
    }
    assert_string_equal (seen, ".P-rgefcXBTLF?j");
    assert_true (scene_mark_is_bad (MARK_SO_FAR) && scene_mark_is_bad (MARK_SILENT));
    assert_false (scene_mark_is_bad (MARK_ENDED) || scene_mark_is_bad (MARK_JOINING));
    assert_int_equal (scene_mark_of_outcome (OUTCOME_TIMED_OUT), MARK_TIMED_OUT);
    assert_int_equal (scene_mark_of_outcome ((enum outcome) 77), MARK_TO_COME);
}

TEST_ON (stage, before_the_run_is_opened_there_is_nothing)
{
    stage_make (stage, 4);
    assert_false (stage_draw (stage)->board->opened);
    assert_int_equal (stage->scene.tiles_n, 0);
}

TEST_ON (stage, a_run_climbs_mark_by_mark)
{
    struct show *show = &stage->show;
    stage_make (stage, 4);
    show_open (show);
    assert_marks (stage, SCENE_NOBODY, "jjjj");
    for (uint32_t i = 0; i < 4; i++)
        show_joined (show, i);
    assert_marks (stage, SCENE_NOBODY, "....");
    show->at_ms = 1000;
    show_began (show, FACTS, PASS_ONCE, 1, 4);
    show_at_gate (show, 1, "rendezvous");
    show_ended (show, 2, ENDING_EXITED, 0);
    show_failed (show, 3, TEXT_LIT ("RuntimeError: no chip"));
    assert_marks (stage, SCENE_NOBODY, "rgef");
    assert_marks (stage, FACTS, "rgef");
    assert_marks (stage, TINY, "....");
    assert_text (stage->scene.tiles[1].gate, "rendezvous");
    show_suspected (show, 0, 5000);
    assert_marks (stage, SCENE_NOBODY, "?gef");
    assert_int_equal (stage->scene.silent_n, 1);
    struct verdict verdicts[] = {
        { .host = 0, .outcome = OUTCOME_LOST, .owner = OWNER_HOST, .cause = TEXT_LIT ("silent") },
        { .host = 3, .outcome = OUTCOME_FAILED, .owner = OWNER_DEVICE, .cause = TEXT_LIT ("no chip") },
    };
    show_lost (show, 0, TEXT_LIT ("silent for 30 s"));
    assert_marks (stage, FACTS, "Lgef");
    show->at_ms = 9000;
    show_pass_ended (show, OUTCOME_FAILED, 8000, verdicts, 2);
    assert_marks (stage, SCENE_NOBODY, "LPPF");
    assert_marks (stage, FACTS, "LPPF");
    assert_int_equal (stage->scene.tiles[3].owner, OWNER_DEVICE);
    show_run_ended (show, OUTCOME_FAILED, 1, TEXT_LIT ("it failed"));
    assert_marks (stage, TINY, "----");
    assert_text (stage->scene.board->sentence, "it failed");
}

static void show_left_behind (struct show *show, uint32_t host, uint32_t rung)
{
    struct fact fact = { .kind = FACT_HOSTS_LEFT_BEHIND };
    struct verdict verdict = { .host = host, .outcome = OUTCOME_LOST, .owner = OWNER_HOST };
    fact.of.hosts_left_behind.rung = rung;
    fact.of.hosts_left_behind.verdicts.items = &verdict;
    fact.of.hosts_left_behind.verdicts.n = 1;
    show_fact (show, fact);
}

TEST_ON (stage, who_is_left_behind_keeps_the_mark_of_what_it_did)
{
    struct show *show = &stage->show;
    struct verdict verdict = { .host = 1, .outcome = OUTCOME_FAILED, .owner = OWNER_DEVICE };
    stage_gathered (stage, 3);
    show_began (show, FACTS, PASS_ONCE, 1, 2);
    show_pass_ended (show, OUTCOME_FAILED, 5, &verdict, 1);
    show_left_behind (show, 1, FACTS);
    show_left_behind (show, 2, FACTS);
    assert_marks (stage, FACTS, "PFL");
    assert_marks (stage, TINY, ".--");
    assert_marks (stage, SCENE_NOBODY, "PLL");
}

/* Blocked before the first pass: the host that never came is the cause, with the command without it. */
TEST (a_host_that_never_joined_is_a_cause)
{
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        struct stage stage;
        struct show *show = &stage.show;
        stage_make (&stage, 4);
        show_open (show);
        for (uint32_t i = 0; i < 3; i++)
            show_joined (show, i);
        show_lost (show, 3, TEXT_LIT ("its worker did not join within 30 s"));
        uint64_t before = stage_draw (&stage)->board->revision;
        if (goes_on)
            show_left_behind (show, 3, FACTS);
        else
            show_run_ended (show, OUTCOME_BLOCKED, 3, TEXT_LIT ("blocked"));
        stage.query.opened = 3;
        const struct scene *scene = stage_draw (&stage);
        assert_int_equal (scene->groups_n, 1);
        assert_int_equal (scene->host->attempts[0].group, 0); /* the host's own page has it too */
        const struct scene_group *group = &scene->groups[0];
        assert_true (group->says.hosts.n == 1 && group->says.hosts.items[0] == 3 && group->rung == FACTS &&
                     group->says.owner == OWNER_HOST);
        assert_int_equal (scene->tiles[3].group, 0);
        assert_true (group->changed > before);
        if (!goes_on) {
            assert_int_equal (group->says.outcome, OUTCOME_BLOCKED);
            assert_text (group->says.cause, "its worker did not join within 30 s");
            assert_has (group->says.next, "--min-hosts 3");
        }
        stage_release (&stage);
    }
}

/* It did not end for that host: who cancelled has no use for the command without it. */
TEST_ON (stage, a_host_that_never_joined_a_cancelled_run_is_told_and_nothing_proposed)
{
    struct show *show = &stage->show;
    stage_make (stage, 4);
    show_open (show);
    for (uint32_t i = 0; i < 3; i++)
        show_joined (show, i);
    show_lost (show, 3, TEXT_LIT ("its worker did not join within 30 s"));
    show_run_ended (show, OUTCOME_CANCELLED, 130, TEXT_LIT ("cancelled"));
    const struct scene *scene = stage_draw (stage);
    assert_int_equal (scene->groups_n, 1);
    assert_int_equal (scene->groups[0].says.outcome, OUTCOME_BLOCKED);
    assert_text (scene->groups[0].says.cause, "its worker did not join within 30 s");
    assert_has_not (scene->groups[0].says.next, "--min-hosts");
}

TEST_ON (stage, a_launch_that_is_known_to_fail_is_the_cause_of_all)
{
    struct show *show = &stage->show;
    stage_make (stage, 4);
    show->plan.rungs.items[FACTS].known_bad = TEXT_LIT ("this launch has failed before");
    show_open (show);
    for (uint32_t i = 0; i < 4; i++)
        show_joined (show, i);
    show_run_ended (show, OUTCOME_BLOCKED, 3, TEXT_LIT ("blocked"));
    const struct scene *scene = stage_draw (stage);
    assert_int_equal (scene->groups_n, 1);
    assert_int_equal (scene->groups[0].says.hosts.n, 4);
    assert_int_equal (scene->groups[0].says.owner, OWNER_PROGRAM);
    assert_text (scene->groups[0].says.cause, "this launch has failed before");
}

TEST_ON (stage, what_was_restored_counts_more_than_what_was_compiled)
{
    struct show *show = &stage->show;
    struct verdict verdict = { .host = 1, .outcome = OUTCOME_FAILED, .owner = OWNER_CACHE };
    stage_gathered (stage, 2);
    show_began (show, TINY, PASS_COLD, 1, 2);
    show_pass_ended (show, OUTCOME_FAILED, 5, &verdict, 1);
    assert_marks (stage, TINY, "PF");
    show_began (show, TINY, PASS_RESTORED, 1, 2);
    assert_marks (stage, TINY, "rr");
    show_pass_ended (show, OUTCOME_PASSED, 5, NULL, 0);
    assert_marks (stage, TINY, "PP");
    assert_int_equal (stage->scene.frontier, 0); /* the first rung did not run */
}

TEST_ON (stage, a_part_of_the_slice_by_itself_is_no_rung)
{
    struct show *show = &stage->show;
    struct verdict verdict = { .host = 0, .outcome = OUTCOME_TIMED_OUT, .owner = OWNER_UNKNOWN };
    struct fact part = { .kind = FACT_PASS_BEGAN };
    uint32_t host = 0;
    stage_gathered (stage, 2);
    show_began (show, ALL, PASS_COLD, 1, 2);
    show_pass_ended (show, OUTCOME_TIMED_OUT, 5, &verdict, 1);
    part.of.pass_began = (struct fact_pass_began){ .key = { ALL, PASS_COLD, 2 }, .purpose = PURPOSE_ISOLATION };
    part.of.pass_began.hosts.items = &host;
    part.of.pass_began.hosts.n = 1;
    show_fact (show, part);
    assert_marks (stage, ALL, "TP");
    assert_marks (stage, SCENE_NOBODY, "rP");
    assert_true (scene_rung_runs (stage->scene.board, ALL));
    assert_int_equal (scene_rung_pass (stage->scene.board, ALL)->hosts_n, 1);
    show_pass_ended (show, OUTCOME_PASSED, 5, NULL, 0);
    assert_marks (stage, ALL, "TP");
    stage->query.opened = 0;
    const struct scene_host *opened = stage_draw (stage)->host;
    assert_int_equal (opened->attempts_n, 2);
    assert_int_equal (opened->attempts[1].purpose, PURPOSE_ISOLATION);
    assert_int_equal (opened->attempts[1].mark, MARK_PASSED);
}

/* A host keeps BOARD_ATTEMPTS_MAX attempts. */
TEST_ON (stage, what_was_run_long_ago_is_not_to_come)
{
    struct show *show = &stage->show;
    struct verdict verdict = { .host = 1, .outcome = OUTCOME_FAILED, .owner = OWNER_DEVICE };
    stage_gathered (stage, 2);
    show_began (show, FACTS, PASS_ONCE, 1, 2);
    show_pass_ended (show, OUTCOME_FAILED, 5, &verdict, 1);
    for (uint32_t i = 1; i <= BOARD_ATTEMPTS_MAX + 22; i++) {
        show_began (show, TINY, i % 2 ? PASS_COLD : PASS_RESTORED, i, 2);
        show_pass_ended (show, i % 2 ? OUTCOME_PASSED : OUTCOME_FAILED, 5, &verdict, i % 2 ? 0 : 1);
    }
    show_began (show, ALL, PASS_ONCE, 1, 2);
    assert_marks (stage, FACTS, "PF");
    assert_marks (stage, TINY, "PF");
    assert_marks (stage, ALL, "rr");
    stage->query.opened = 1;
    const struct scene_host *host = stage_draw (stage)->host;
    assert_int_equal (host->attempts_n, BOARD_ATTEMPTS_MAX);
    assert_int_equal (host->attempts_left_out, 24);
    assert_int_equal (host->attempts[0].key.rung, FACTS);
}

TEST_ON (stage, notes_stand_without_the_clock)
{
    stage_gathered (stage, 2);
    const struct scene *scene = stage_draw (stage);
    assert_int_equal (scene->notes_n, 2);
    assert_text (scene->notes[1]->text, "2 hosts joined");
    assert_int_equal (scene->notes[1]->at_ms, 200);
}

/* ---- queries ---- */

/* host0 at a gate, host1 compiles, host2 ended well, host3 said that it failed,
 * host4 is silent. */
static void stage_varied (struct stage *stage)
{
    struct show *show = &stage->show;
    stage_make (stage, 5);
    static struct var group = { TEXT_LIT ("rack1"), TEXT_LIT ("host[0-1]") };
    show->plan.groups.items = &group;
    show->plan.groups.n = 1;
    show_open (show);
    for (uint32_t i = 0; i < 5; i++)
        show_joined (show, i);
    show->at_ms = 1000;
    show_began (show, FACTS, PASS_ONCE, 1, 5);
    show->at_ms = 3000;
    show_at_gate (show, 0, "rendezvous");
    show_phase (show, 1, "compile", 500);
    show_ended (show, 2, ENDING_EXITED, 0);
    show_failed (show, 3, TEXT_LIT ("RuntimeError: no chip"));
    show_suspected (show, 4, 1500);
}

TEST_ON (stage, a_query_takes_tiles_and_counts_what_it_hides)
{
    struct scene_query all;
    scene_query_init (&all);
    stage_varied (stage);
    assert_string_equal (taken (stage), "0 1 2 3 4");
    stage->query.hosts = TEXT_LIT ("host[1,3-9]");
    assert_string_equal (taken (stage), "1 3 4");
    stage->query.hosts = TEXT_LIT ("@*!@rack1");
    assert_string_equal (taken (stage), "2 3 4");
    stage->query = all;
    stage->query.marks = 1u << MARK_AT_GATE | 1u << MARK_SILENT;
    assert_string_equal (taken (stage), "0 4");
    assert_int_equal (stage->scene.marks[MARK_RUNS], 1); /* of all, hidden ones too */
    stage->query = all;
    stage->query.owner = stage_draw (stage)->tiles[3].owner;
    assert_int_not_equal (stage->query.owner, OWNER_NONE);
    assert_string_equal (taken (stage), "3");
    stage->query = all;
    stage->query.phase = TEXT_LIT ("compile");
    assert_string_equal (taken (stage), "1");
    stage->query.phase = TEXT_LIT ("comp");
    assert_string_equal (taken (stage), "");
}

TEST_ON (stage, a_text_is_searched_in_what_is_seen_of_a_host)
{
    static const char *const cases[][2] = {
        { "HOST2", "2" },       { "RENDEZ", "0" }, { "COMPILE", "1" },      { "no CHIP", "3" },
        { "with STATUS", "3" }, { "nothing", "" }, { "host", "0 1 2 3 4" },
    };
    stage_varied (stage);
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        stage->query.text = text_of (cases[i][0]);
        assert_string_equal (taken (stage), cases[i][1]);
    }
}

TEST_ON (stage, a_set_of_hosts_that_is_none_hides_nobody_and_says_why)
{
    stage_varied (stage);
    stage->query.hosts = TEXT_LIT ("host[1-");
    assert_string_equal (taken (stage), "0 1 2 3 4");
    assert_true (stage->scene.host_set_error.len > 0);
    stage->query.hosts = TEXT_LIT ("@nobody");
    assert_string_equal (taken (stage), "0 1 2 3 4");
    assert_has (stage->scene.host_set_error, "nobody");
    stage->query.hosts = TEXT_LIT ("host[1,100-140]");
    assert_string_equal (taken (stage), "1");
    assert_int_equal (stage->scene.host_set_error.len, 0);
    stage->query.hosts = TEXT_LIT ("host[1-");
    assert_string_equal (taken (stage), "0 1 2 3 4");
}

TEST_ON (stage, tiles_come_by_rank_the_worst_or_the_slowest_first)
{
    struct show *show = &stage->show;
    struct verdict verdict = { .host = 1, .outcome = OUTCOME_FAILED, .owner = OWNER_DEVICE };
    stage_varied (stage);
    stage->query.order = SCENE_WORST_FIRST;
    assert_string_equal (taken (stage), "3 4 1 0 2"); /* failed so far, silent, runs, at a gate, ended */
    show_pass_ended (show, OUTCOME_FAILED, 2000, &verdict, 1);
    show_began (show, TINY, PASS_COLD, 1, 5);
    assert_string_equal (taken (stage), "4 1 0 2 3"); /* silent; then host1, which failed before */
    stage->query.order = SCENE_SLOWEST_FIRST;
    show->at_ms = 9000;
    show_ended (show, 2, ENDING_EXITED, 0);
    assert_string_equal (taken (stage), "0 1 3 4 2"); /* the others are in their pass still */
}

/* ---- what changed ---- */

TEST_ON (stage, a_metric_changes_no_group)
{
    struct fact fact = { .kind = FACT_METRIC_JUDGED };
    struct verdict verdict = { .host = 1, .outcome = OUTCOME_FAILED, .owner = OWNER_DEVICE };
    stage_gathered (stage, 2);
    show_began (&stage->show, FACTS, PASS_ONCE, 1, 2);
    show_pass_ended (&stage->show, OUTCOME_FAILED, 1000, &verdict, 1);
    uint64_t before = feed_board (stage->feed)->revision;
    fact.of.metric_judged.key = (struct attempt_key){ FACTS, PASS_ONCE, 1 };
    fact.of.metric_judged.metric = TEXT_LIT ("bandwidth");
    show_fact (&stage->show, fact);
    const struct scene *scene = stage_draw (stage);
    assert_int_equal (scene->board->metrics.n, 1);
    assert_true (scene->board->metrics_changed > before);
    assert_true (scene->groups_changed <= before);
}

TEST_ON (stage, the_end_of_the_run_changes_no_rung_that_was_over)
{
    struct show *show = &stage->show;
    stage_gathered (stage, 2);
    show_began (show, FACTS, PASS_ONCE, 1, 2);
    show_pass_ended (show, OUTCOME_PASSED, 5, NULL, 0);
    uint64_t over = stage_draw (stage)->board->revision;
    show_run_ended (show, OUTCOME_FAILED, 1, TEXT_LIT ("it failed"));
    const struct board *board = stage_draw (stage)->board;
    assert_int_equal (scene_rung_changed (board, FACTS), over);
    assert_int_equal (scene_rung_changed (board, TINY), board->revision);
    assert_int_equal (scene_rung_changed (board, ALL), board->revision);
}

/* ---- times ---- */

TEST_ON (stage, it_tells_for_how_long_a_host_is_where_it_is)
{
    stage_varied (stage);
    stage->show.at_ms = 4000;
    const struct scene *scene = stage_draw (stage);
    assert_int_equal (scene->now_ms, 4000);
    assert_int_equal (scene->tiles[1].since_ms, 1500);
    assert_int_equal (scene->tiles[4].since_ms, 2500);
    assert_int_equal (scene->tiles[1].spent_ms, 3000);
    const struct board_pass *pass = scene_rung_pass (scene->board, FACTS);
    assert_true (scene_rung_runs (scene->board, FACTS) && !scene_rung_runs (scene->board, TINY));
    assert_true (pass->began_ms == 1000 && pass->ended_n == 2);
}

TEST_ON (stage, while_the_clock_stands_nobody_is_waited_for)
{
    stage_make (stage, 4);
    show_open (&stage->show);
    show_joined (&stage->show, 1);
    assert_int_equal (stage_draw (stage)->waiting_n, 1);
    feed_freeze_clock (stage->feed, true, 8000);
    assert_int_equal (stage_draw (stage)->waiting_n, 0);
    feed_freeze_clock (stage->feed, false, 9000);
    assert_int_equal (stage_draw (stage)->waiting_n, 1);
}

TEST (the_clock_goes_on_from_what_was_heard_and_stands_when_it_is_told_to)
{
    struct feed *feed = feed_create (BOARD_JUDGED_STATE);
    struct fact fact = { .kind = FACT_NONE, .at_ms = 5000, .wall_ms = 100000 };
    feed_apply (feed, &fact, 0, 100200);
    assert_int_equal (feed_now_ms (feed, 900000), 5000); /* from a journal */
    feed_apply (feed, &fact, 7000, 100200);
    assert_int_equal (feed_now_ms (feed, 8000), 6200);
    feed_freeze_clock (feed, true, 8000);
    assert_int_equal (feed_now_ms (feed, 500000), 6200);
    feed_freeze_clock (feed, false, 500000);
    assert_int_equal (feed_now_ms (feed, 8100), 6300);
    feed_apply (feed, &fact, 8100, 50); /* a wall clock that was set back */
    assert_int_equal (feed_now_ms (feed, 8200), 5100);
    assert_int_equal (feed_now_ms (feed, 50), 5000);
    fact.at_ms = UINT64_MAX - 10;
    feed_apply (feed, &fact, 8300, 100200);
    assert_true (feed_now_ms (feed, 900000) == UINT64_MAX);
    feed_destroy (feed);
}

/* ---- groups, gates, hosts ---- */

TEST_ON (stage, cascades_name_the_group_that_ended_first)
{
    struct show *show = &stage->show;
    struct verdict verdicts[] = {
        { .host = 0, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER, .cause = TEXT_LIT ("a peer fell") },
        { .host = 1, .outcome = OUTCOME_FAILED, .owner = OWNER_HOST, .cause = TEXT_LIT ("no space") },
        { .host = 2, .outcome = OUTCOME_FAILED, .owner = OWNER_DEVICE, .cause = TEXT_LIT ("no chip") },
        { .host = 4, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER, .cause = TEXT_LIT ("a peer fell") },
        { .host = 4, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER, .cause = TEXT_LIT ("a peer fell") },
        { .host = 3, .outcome = OUTCOME_CANCELLED, .owner = OWNER_SLICEUP, .cause = TEXT_LIT ("stopped") },
        { .host = 99, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER, .cause = TEXT_LIT ("a peer fell") },
    };
    stage_gathered (stage, 5);
    show_began (show, FACTS, PASS_ONCE, 1, 5);
    for (uint32_t i = 0; i < 5; i++) {
        static const uint32_t order[] = { 3, 2, 0, 1, 4 }; /* who was stopped, ended first */
        show->at_ms += 100;
        show_ended (show, order[i], ENDING_EXITED, 1);
    }
    show_pass_ended (show, OUTCOME_FAILED, 900, verdicts, 7);
    const struct scene *scene = stage_draw (stage);
    assert_int_equal (scene->groups_n, 4);
    assert_int_equal (scene->groups[3].says.outcome, OUTCOME_CASCADE); /* behind its cause */
    assert_int_equal (scene->groups[3].says.hosts.n, 2);
    assert_int_equal (scene->groups[3].says.hosts.items[1], 4);
    assert_text (scene->groups[3].names, "host[0,4]");
    assert_text (scene->groups[scene->groups[3].cause_group].says.cause, "no chip");
    assert_int_equal (scene->groups[0].cause_group, SCENE_NOBODY);
    assert_int_equal (scene->tiles[4].group, 3);
    assert_int_equal (scene->tiles[4].now, MARK_CASCADE);
}

TEST_ON (stage, without_a_cause_a_cascade_names_nobody_and_of_two_the_first)
{
    struct show *show = &stage->show;
    struct verdict verdicts[] = {
        { .host = 0, .outcome = OUTCOME_CASCADE, .cause = TEXT_LIT ("a peer fell") },
        { .host = 1, .outcome = OUTCOME_FAILED, .cause = TEXT_LIT ("small") },
        { .host = 2, .outcome = OUTCOME_FAILED, .cause = TEXT_LIT ("large") },
        { .host = 3, .outcome = OUTCOME_FAILED, .cause = TEXT_LIT ("large") },
    };
    stage_gathered (stage, 4);
    show_began (show, FACTS, PASS_ONCE, 1, 4);
    show_pass_ended (show, OUTCOME_FAILED, 900, verdicts, 1);
    assert_int_equal (stage_draw (stage)->groups[0].cause_group, SCENE_NOBODY);
    show_began (show, FACTS, PASS_ONCE, 2, 4);
    show_pass_ended (show, OUTCOME_FAILED, 900, verdicts, 4);
    const struct scene *scene = stage_draw (stage);
    assert_int_equal (scene->groups_n, 3);
    assert_text (scene->groups[scene->groups[2].cause_group].says.cause, "small");
    assert_int_equal (scene->groups[2].cause_host, 1);
}

/* Two hosts failed by themselves, and each took one down. */
TEST_ON (stage, each_cascade_follows_the_host_that_it_names)
{
    struct show *show = &stage->show;
    struct verdict verdicts[] = {
        { .host = 0, .outcome = OUTCOME_FAILED, .owner = OWNER_DEVICE, .cause = TEXT_LIT ("no chip") },
        { .host = 1, .outcome = OUTCOME_FAILED, .owner = OWNER_HOST, .cause = TEXT_LIT ("no space") },
        { .host = 2, .outcome = OUTCOME_CASCADE, .cause = TEXT_LIT ("aborted because host1 failed") },
        { .host = 3, .outcome = OUTCOME_CASCADE, .cause = TEXT_LIT ("aborted because host0 failed") },
        { .host = 4, .outcome = OUTCOME_CASCADE, .cause = TEXT_LIT ("aborted because host11 failed") },
    };
    stage_gathered (stage, 5);
    show_began (show, FACTS, PASS_ONCE, 1, 5);
    for (uint32_t i = 0; i < 5; i++)
        show_ended (show, i, ENDING_EXITED, 1);
    show_pass_ended (show, OUTCOME_FAILED, 900, verdicts, 5);
    const struct scene *scene = stage_draw (stage);
    static const uint32_t causes[] = { 1, 0, 0 }; /* the last names nobody who was there: the first who failed */
    assert_int_equal (scene->groups_n, 5);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal (scene->groups[2 + i].cause_host, causes[i]);
        assert_int_equal (scene->groups[2 + i].cause_group, causes[i]);
    }
}

TEST_ON (stage, who_waited_least_came_last_to_a_gate)
{
    struct show *show = &stage->show;
    static const uint64_t waits[] = { 900, 700, 20, 800 };
    stage_gathered (stage, 4);
    show->at_ms = 1000;
    show_began (show, FACTS, PASS_ONCE, 1, 4);
    for (uint32_t i = 0; i < 4; i++)
        ended_after (show, i, waits[i], 5000);
    assert_int_equal (stage_draw (stage)->gates_n, 0); /* who comes yet, nobody knows */
    show_pass_ended (show, OUTCOME_PASSED, 5000, NULL, 0);
    stage->query.opened = 3;
    const struct scene *scene = stage_draw (stage);
    assert_int_equal (scene->gates_n, 1);
    assert_text (gate_wait_name (scene->board, scene->gates[0]), "rendezvous");
    assert_int_equal (scene->gates[0]->last, 2);
    assert_int_equal (scene->gates[0]->hosts_n, 4);
    assert_int_equal (scene->gates[0]->median_ms, 800);
    assert_int_equal (scene->gates[0]->longest_ms, 900);
    assert_int_equal (scene->host->attempts[0].spans[1].awaited, 2);
    show_began (show, FACTS, PASS_ONCE, 2, 4);
    assert_int_equal (stage_draw (stage)->gates_n, 0); /* of the last attempt alone */
    assert_int_equal (stage->scene.host->attempts[0].spans[1].awaited, 2);
}

TEST_ON (stage, a_host_that_is_opened_tells_what_it_did)
{
    struct show *show = &stage->show;
    struct verdict verdict = { .host = 1, .outcome = OUTCOME_FAILED, .owner = OWNER_DEVICE };
    stage_gathered (stage, 2);
    show->at_ms = 1000;
    show_began (show, FACTS, PASS_ONCE, 1, 2);
    ended_after (show, 1, 9000, 1200); /* its phases say more than the whole took */
    show_pass_ended (show, OUTCOME_FAILED, 5000, &verdict, 1);
    show->at_ms = 7000;
    show_began (show, TINY, PASS_COLD, 1, 2);
    show->at_ms = 7500;
    stage->query.opened = 1;
    const struct scene *scene = stage_draw (stage);
    const struct scene_host *host = scene->host;
    assert_text (host->name, "host1");
    assert_text (host->life, "joined");
    assert_int_equal (host->attempts_n, 2);
    assert_int_equal (host->attempts[0].mark, MARK_FAILED);
    assert_int_equal (host->attempts[0].group, 0);
    assert_int_equal (host->attempts[0].ms, 1200);
    assert_int_equal (host->attempts[0].spans_n, 3);
    assert_int_equal (host->attempts[0].spans[1].began_ms, 1300);
    assert_int_equal (host->attempts[0].spans[1].ms, 900);
    assert_true (host->attempts[0].spans[1].gate && !host->attempts[0].spans[0].gate);
    assert_int_equal (host->attempts[0].spans[2].ms, 0);
    assert_int_equal (host->attempts[1].mark, MARK_RUNS);
    assert_int_equal (host->attempts[1].ms, 500);
    assert_true (host->attempts[0].ms_known && host->attempts[1].ms_known);
    assert_int_equal (host->attempts[1].group, SCENE_NOBODY);
    assert_int_equal (host->facts_n, 1);
    assert_text (host->facts[0].value, "6.1");
    stage->query.opened = 99;
    assert_null (stage_draw (stage)->host);
}

/* ---- the summary ---- */

TEST (a_row_of_tiles_is_the_last_axis_in_hosts)
{
    static const struct {
        uint32_t hosts, devices, last, columns;
    } cases[] = {
        { 16, 4, 16, 4 },    /* a row of four hosts */
        { 8, 4, 4, 4 },      /* one host a row would be no picture: 3 by 3, in twos */
        { 8, 4, 6, 4 },      /* hosts that stand across rows */
        { 300, 1, 300, 32 }, /* longer than a row may be */
        { 128, 1, 128, 128 },
    };
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct stage stage;
        struct axis axes[] = { { TEXT_LIT ("data"), 2 }, { TEXT_LIT ("model"), cases[i].last } };
        stage_make (&stage, cases[i].hosts);
        stage.show.plan.mesh = (struct mesh){ axes, 2 };
        stage.show.plan.profile.devices_per_host = cases[i].devices;
        show_open (&stage.show);
        assert_int_equal (stage_draw (&stage)->columns, cases[i].columns);
        stage_release (&stage);
    }
}

TEST_ON (stage, what_is_waited_for_stands_in_lines)
{
    stage_varied (stage);
    const struct scene *scene = stage_draw (stage);
    assert_true (scene->waiting_n >= 2);
    for (uint32_t i = 0; i < scene->waiting_n; i++)
        assert_has_not (scene->waiting[i], "\n");
    assert_has (scene->waiting[0], "host");
}

/* ---- notes ---- */

TEST_ON (stage, a_slow_watcher_is_told_how_many_notes_it_missed)
{
    stage_gathered (stage, 2);
    uint64_t revision = stage_draw (stage)->board->revision, seen = feed_notes_last (stage->feed);
    for (uint32_t i = 0; i < FEED_NOTES_KEPT + 37; i++)
        feed_add_remark (stage->feed, TEXT_LIT ("no coordinator holds this run"));
    assert_int_equal (stage_draw (stage)->notes_n, FEED_NOTES_KEPT);
    assert_int_equal (stage->scene.notes_skipped, 0); /* it asked for what is kept */
    stage->query.since = revision;
    assert_int_equal (stage_draw (stage)->notes_n, FEED_NOTES_KEPT);
    assert_int_equal (stage->scene.notes_skipped, 37);
    assert_int_equal (stage->scene.notes[0]->number, seen + 38);
    stage->query.since = stage->scene.board->revision;
    assert_int_equal (stage_draw (stage)->notes_n, 0);
    assert_null (feed_note_at (stage->feed, seen));
    for (uint32_t i = 0; i < FEED_NUMBERS_KEPT; i++)
        feed_add_remark (stage->feed, TEXT_LIT ("again"));
    stage->query.since = revision; /* longer ago than numbers are kept for */
    assert_int_equal (stage_draw (stage)->notes_skipped, FEED_NUMBERS_KEPT - FEED_NOTES_KEPT);
}

/* Read at once, as from a journal: what happened long apart is told apart. */
TEST_ON (stage, notes_of_a_journal_are_those_that_were_told_live)
{
    stage_gathered (stage, 2);
    uint64_t last = feed_notes_last (stage->feed);
    show_suspected (&stage->show, 0, 5000);
    stage->show.at_ms += 10000;
    show_suspected (&stage->show, 1, 5000);
    stage->show.at_ms += 10000;
    show_began (&stage->show, FACTS, PASS_ONCE, 1, 2);
    assert_int_equal (feed_notes_last (stage->feed), last + 3);
    assert_text (feed_note_at (stage->feed, last + 1)->text, "host0 silent for 5 s");
    assert_int_equal (feed_note_at (stage->feed, last + 2)->at_ms, 10200);
    struct fact back = { .kind = FACT_HOST_RETURNED, .of.host_suspected = { .host = 0, .silent_ms = 26700 } };
    show_fact (&stage->show, back); /* what was survived stays in view */
    feed_tick (stage->feed, SHOW_WALL_MS + stage->show.at_ms + BURST_WAIT_MS);
    assert_int_equal (feed_notes_last (stage->feed), last + 4);
    assert_text (feed_note_at (stage->feed, last + 4)->text, "host0 came back after 26 s of silence");
}

TEST_ON (stage, a_note_that_waited_for_others_raises_the_revision)
{
    stage_gathered (stage, 2);
    show_lost (&stage->show, 1, TEXT_LIT ("silent for 30 s"));
    uint64_t revision = stage_draw (stage)->board->revision, last = feed_notes_last (stage->feed);
    feed_tick (stage->feed, SHOW_WALL_MS + stage->show.at_ms + 100);
    assert_int_equal (feed_board (stage->feed)->revision, revision);
    feed_tick (stage->feed, SHOW_WALL_MS + stage->show.at_ms + BURST_WAIT_MS);
    assert_int_equal (feed_board (stage->feed)->revision, revision + 1);
    assert_int_equal (feed_notes_last (stage->feed), last + 1);
    assert_text (feed_note_at (stage->feed, last + 1)->text, "host1 lost: silent for 30 s");
}

/* ---- hostile texts ---- */

/* As the page gets it: what is made safe for JSON alone is not safe for a terminal. */
static void assert_drawn_is_safe (const struct scene *scene)
{
    struct buf out;
    buf_init (&out, 64 << 20);
    scene_state_json (scene, "b00t", false, 0, &out);
    scene_host_json (scene, scene->host, "b00t", &out);
    buf_add_text (&out, scene->host_set_error);
    assert_safe (&out);
    assert_has_not (&out, "\\u00");
    assert_in_range (out.len, 1, 256 << 10);
    buf_release (&out);
}

/* Every byte that there is, and one line of a megabyte, wherever a host or a
 * file can put them. */
TEST (nothing_that_is_said_can_do_harm)
{
    enum { LONG = 1 << 20 };
    static char every[512], lengthy[LONG], plain[LONG];
    for (uint32_t i = 0; i < sizeof (every); i++)
        every[i] = (char) i;
    memset (lengthy, 0x9b, sizeof (lengthy));
    memset (plain, 'x', sizeof (plain));
    const struct text texts[] = { HOSTILE,
                                  { every, sizeof (every) },
                                  { lengthy, sizeof (lengthy) },
                                  { plain, sizeof (plain) },
                                  TEXT_LIT ("valid UTF-8, \x1b[2J and \xe2\x80\xae all the same") };
    for (size_t i = 0; i < sizeof (texts) / sizeof (texts[0]); i++) {
        struct stage stage;
        struct show *show = &stage.show;
        struct text said = texts[i];
        struct axis axis = { said, 4 };
        stage_make (&stage, 2);
        show->plan.slice = show->plan.ladder = show->plan.hosts.items[1].name = show->plan.rungs.items[0].id = said;
        show->plan.mesh = (struct mesh){ &axis, 1 };
        show_open (show);
        show_joined (show, 0);
        show_lost (show, 1, said);
        struct fact stepped = { .kind = FACT_HOST_STEPPED };
        stepped.of.host_stepped = (struct fact_host_stepped){ 1, said };
        show_fact (show, stepped);
        show_began (show, FACTS, PASS_ONCE, 1, 2);
        show_received (show, 0, (struct holding){ .state = ATTEMPT_AT_GATE, .phase = said, .gate = said });
        struct fact ended = { .kind = FACT_ATTEMPT_ENDED };
        struct named_number phase = { said, 5 };
        struct var told = { said, said };
        ended.of.attempt_ended.host = 1;
        ended.of.attempt_ended.result =
            (struct result){ .key = show->board->key, .ending = ENDING_EXITED, .code = 1, .phase = said };
        ended.of.attempt_ended.result.shown.items = &said;
        ended.of.attempt_ended.result.shown.n = 1;
        ended.of.attempt_ended.result.phases.items = &phase;
        ended.of.attempt_ended.result.phases.n = 1;
        ended.of.attempt_ended.result.facts.items = &told;
        ended.of.attempt_ended.result.facts.n = 1;
        show_fact (show, ended);
        stage.query.opened = 1;
        stage.query.hosts = said;
        assert_drawn_is_safe (stage_draw (&stage));
        struct verdict verdict = { .host = 1,
                                   .outcome = OUTCOME_FAILED,
                                   .signature = said,
                                   .cause = said,
                                   .next = said,
                                   .phase = said,
                                   .evidence = said };
        struct fact judged = { .kind = FACT_METRIC_JUDGED };
        judged.of.metric_judged =
            (struct fact_metric_judged){ .key = show->board->key, .metric = said, .why = said, .proof = PROOF_LOCAL };
        judged.of.metric_judged.axes.items = &said;
        judged.of.metric_judged.axes.n = 1;
        show_fact (show, judged);
        show_pass_ended (show, OUTCOME_FAILED, 5, &verdict, 1);
        show_run_ended (show, OUTCOME_FAILED, 1, said);
        feed_add_remark (stage.feed, text_of (hostile));
        assert_drawn_is_safe (stage_draw (&stage));
        assert_int_equal (stage.scene.groups_n, 1);
        assert_true (stage.arena.used_bytes < 256 << 10);
        char name[64];
        assert_true (strlen (scene_host_name (&stage.scene, 1, name)) < 64);
        assert_string_equal (scene_host_name (&stage.scene, 9, name), "?");
        stage_release (&stage);
    }
}
