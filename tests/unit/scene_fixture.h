/* scene_fixture.h - a run on a stage and the scene of it: for the tests of scenes. */
#ifndef SLICEUP_TESTS_UNIT_SCENE_FIXTURE_H
#define SLICEUP_TESTS_UNIT_SCENE_FIXTURE_H

#include "coordinator/picture/scene.h"
#include "view_fixture.h"

/* A feed that hears what the fixture's board hears, and the last scene that was
 * made of it. */
struct stage {
    struct show show;
    struct feed *feed;
    struct scene_query query;
    struct arena arena;
    struct scene scene;
};

static inline void hear (void *owner, const struct fact *fact)
{
    struct stage *stage = owner;
    feed_apply (stage->feed, fact, fact->wall_ms, fact->wall_ms);
}

static inline void stage_make (struct stage *stage, uint32_t hosts)
{
    *stage = (struct stage){ .feed = feed_create (BOARD_JUDGED_STATE) };
    show_make (&stage->show, hosts);
    stage->show.heard = hear;
    stage->show.owner = stage;
    scene_query_init (&stage->query);
}

static inline void stage_gathered (struct stage *stage, uint32_t hosts)
{
    stage_make (stage, hosts);
    show_open (&stage->show);
    stage->show.at_ms = 200;
    for (uint32_t i = 0; i < hosts; i++)
        show_joined (&stage->show, i);
}

static inline const struct scene *stage_draw (struct stage *stage)
{
    arena_reset (&stage->arena);
    scene_make (stage->feed, &stage->query, SHOW_WALL_MS + stage->show.at_ms, &stage->arena, &stage->scene);
    return &stage->scene;
}

static inline void stage_release (struct stage *stage)
{
    feed_destroy (stage->feed);
    show_release (&stage->show);
    arena_release (&stage->arena);
}

/* Names of the tiles that are taken, in their order: "1 3". */
static inline const char *taken (struct stage *stage)
{
    static char out[256];
    uint32_t len = 0;
    const struct scene *scene = stage_draw (stage);
    for (uint32_t i = 0; i < scene->tiles_n; i++)
        len += (uint32_t) snprintf (out + len, sizeof (out) - len, "%s%u", i ? " " : "", scene->tiles[i].rank);
    out[len] = 0;
    assert_int_equal (scene->hidden_n + scene->tiles_n, scene->hosts_n);
    return out;
}

/* A host ended its attempt after `ms`, of which it waited `gate_ms` at a gate. */
static inline void ended_after (struct show *show, uint32_t host, uint64_t gate_ms, uint64_t ms)
{
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED };
    struct result *result = &fact.of.attempt_ended.result;
    struct named_number phases[] = { { TEXT_LIT ("init"), 300 },
                                     { TEXT_LIT ("gate:rendezvous"), gate_ms },
                                     { TEXT_LIT ("compile"), 400 } };
    struct var told = { TEXT_LIT ("kernel"), TEXT_LIT ("6.1") };
    fact.of.attempt_ended.host = host;
    show_good_result (show, result);
    result->key = show->board->key;
    result->duration_ms = ms;
    result->phases.items = phases;
    result->phases.n = 3;
    result->facts.items = &told;
    result->facts.n = 1;
    show_fact (show, fact);
}

#endif
