/* links: simulated scene */
#include "coordinator/scene/scene.h"
#include "view_fixture.h"

/* A feed that hears what the fixture's board hears, and the last scene that was made of it. */
struct stage {
    struct show show;
    struct feed *feed;
    struct scene_query query;
    struct arena arena;
    struct scene scene;
};

static void hear (void *owner, const struct fact *fact)
{
    struct stage *stage = owner;
    feed_apply (stage->feed, fact, fact->wall_ms);
}

static void stage_make (struct stage *stage, uint32_t hosts)
{
    *stage = (struct stage){ .feed = feed_create () };
    show_make (&stage->show, hosts);
    stage->show.heard = hear;
    stage->show.owner = stage;
    scene_query_init (&stage->query);
}

static void stage_gathered (struct stage *stage, uint32_t hosts)
{
    stage_make (stage, hosts);
    show_open (&stage->show);
    stage->show.at_ms = 200;
    for (uint32_t i = 0; i < hosts; i++)
        show_joined (&stage->show, i);
}

static const struct scene *stage_draw (struct stage *stage)
{
    arena_reset (&stage->arena);
    scene_make (stage->feed, &stage->query, SHOW_WALL_MS + stage->show.at_ms, &stage->arena, &stage->scene);
    return &stage->scene;
}

static void stage_release (struct stage *stage)
{
    feed_destroy (stage->feed);
    show_release (&stage->show);
    arena_release (&stage->arena);
}

/* The marks of all tiles at a rung, in their order; `rung` SCENE_NOBODY: now. */
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
#define assert_text(text, expected) assert_true (text_is (text, expected))

static void every_mark_has_a_letter_of_its_own (void **state)
{
    (void) state;
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

static void before_the_run_is_opened_there_is_nothing (void **state)
{
    (void) state;
    struct stage stage;
    stage_make (&stage, 4);
    assert_false (stage_draw (&stage)->opened);
    assert_int_equal (stage.scene.tiles_n, 0);
    stage_release (&stage);
}

static void a_run_climbs_mark_by_mark (void **state)
{
    (void) state;
    struct stage stage;
    struct show *show = &stage.show;
    stage_make (&stage, 4);
    show_open (show);
    assert_marks (&stage, SCENE_NOBODY, "jjjj");
    for (uint32_t i = 0; i < 4; i++)
        show_joined (show, i);
    assert_marks (&stage, SCENE_NOBODY, "....");
    show->at_ms = 1000;
    show_began (show, FACTS, PASS_ONCE, 1, 4);
    show_at_gate (show, 1, "rendezvous");
    show_ended (show, 2, ENDING_EXITED, 0);
    show_failed (show, 3, TEXT_LIT ("RuntimeError: no chip"));
    assert_marks (&stage, SCENE_NOBODY, "rgef");
    assert_marks (&stage, FACTS, "rgef");
    assert_marks (&stage, TINY, "....");
    assert_text (stage.scene.tiles[1].gate, "rendezvous");
    show_suspected (show, 0, 5000);
    assert_marks (&stage, SCENE_NOBODY, "?gef");
    assert_int_equal (stage.scene.silent_n, 1);
    struct verdict verdicts[] = {
        { .host = 0, .outcome = OUTCOME_LOST, .owner = OWNER_HOST, .cause = TEXT_LIT ("silent") },
        { .host = 3, .outcome = OUTCOME_FAILED, .owner = OWNER_DEVICE, .cause = TEXT_LIT ("no chip") },
    };
    show_lost (show, 0, TEXT_LIT ("silent for 30 s"));
    show->at_ms = 9000;
    show_pass_ended (show, OUTCOME_FAILED, 8000, verdicts, 2);
    assert_marks (&stage, SCENE_NOBODY, "LPPF");
    assert_marks (&stage, FACTS, "LPPF");
    assert_int_equal (stage.scene.tiles[3].owner, OWNER_DEVICE);
    assert_int_equal (stage.scene.rungs[FACTS].marks[MARK_PASSED], 2);
    show_run_ended (show, OUTCOME_FAILED, 1, TEXT_LIT ("it failed"));
    assert_marks (&stage, TINY, "----");
    assert_text (stage.scene.sentence, "it failed");
    stage_release (&stage);
}

static void notes_stand_without_the_clock (void **state)
{
    (void) state;
    struct stage stage;
    stage_gathered (&stage, 2);
    const struct scene *scene = stage_draw (&stage);
    assert_int_equal (scene->notes_n, 2);
    assert_text (scene->notes[1]->text, "2 hosts joined");
    assert_int_equal (scene->notes[1]->at_ms, 200);
    stage_release (&stage);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_mark_has_a_letter_of_its_own),
        cmocka_unit_test (before_the_run_is_opened_there_is_nothing),
        cmocka_unit_test (a_run_climbs_mark_by_mark),
        cmocka_unit_test (notes_stand_without_the_clock),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
