/* links: simulated */
/* What a generation that is built upon another one holds, when there were many before it. */
#include "coordinator/verdict/agree.h"
#include "stretched.h"
#include "test.h"
#include "write_lease_fixture.h"

enum { BASE = 3000, NEXT };

/* ---- the rule ---- */

static struct text cover_of (uint32_t day, struct arena *arena)
{
    return text_format (arena, "day%u:0123456789abcdef", day);
}

static text_list covers_of (uint32_t from, uint32_t n, struct arena *arena)
{
    text_list covers = { arena_array (arena, n, sizeof (struct text)), n };
    for (uint32_t i = 0; i < n; i++)
        covers.items[i] = cover_of (from + i, arena);
    return covers;
}

static void is_day (struct text cover, uint32_t day)
{
    struct arena arena = { 0 };
    assert_text (cover, cover_of (day, &arena));
    arena_release (&arena);
}

TEST_FIXTURE (struct bench, TEST_NOTHING, bench_close)

TEST (what_no_ladder_has_used_for_longest_is_let_go)
{
    text_list base = covers_of (0, GENERATION_COVERS_MAX, &t->arena), none = { 0 };
    text_list next = covers_carry_over (&base, &none, cover_of (9999, &t->arena), &t->arena);
    assert_int_equal (next.n, COVERS_KEPT);
    is_day (next.items[0], GENERATION_COVERS_MAX - COVERS_KEPT + 1);
    is_day (next.items[COVERS_KEPT - 2], GENERATION_COVERS_MAX - 1);
    is_day (next.items[COVERS_KEPT - 1], 9999);
}

TEST (what_the_ladder_uses_stays_however_old_it_is)
{
    text_list base = covers_of (0, GENERATION_COVERS_MAX, &t->arena), ladder = covers_of (0, RUNGS_MAX, &t->arena);
    text_list next = covers_carry_over (&base, &ladder, cover_of (5, &t->arena), &t->arena);
    assert_int_equal (next.n, COVERS_KEPT);
    for (uint32_t i = 0; i < RUNGS_MAX; i++)
        assert_true (text_is_among (ladder.items[i], next.items, next.n));
    is_day (next.items[COVERS_KEPT - RUNGS_MAX], 0); /* in the order they had, */
    is_day (next.items[COVERS_KEPT - 1], 5);         /* but what was made now, which comes last, and once */
    for (uint32_t i = 0; i + 1 < COVERS_KEPT; i++)
        assert_false (text_equal (next.items[i], ladder.items[5]));
}

/* Ten years of a new rung each day, beside one that is in the ladder every day but never made again. */
TEST (a_family_of_daily_runs_keeps_what_it_uses_and_stays_small)
{
    text_list covers = covers_of (0, 1, &t->arena);
    for (uint32_t day = 1; day <= 3650; day++) {
        text_list ladder = covers_of (0, 2, &t->arena);
        ladder.items[1] = cover_of (day, &t->arena);
        covers = covers_carry_over (&covers, &ladder, ladder.items[1], &t->arena);
        assert_in_range (covers.n, 1, COVERS_KEPT);
        assert_true (text_is_among (ladder.items[0], covers.items, covers.n));
    }
    assert_int_equal (covers.n, COVERS_KEPT);
    is_day (covers.items[0], 3650 - COVERS_KEPT + 2);
}

/* ---- the run that builds upon it ---- */

static struct fact_generation grown (uint32_t covers, uint32_t entries, struct arena *arena)
{
    struct fact_generation generation = { .token = BASE,
                                          .sha256 = text_format (arena, "%064u", BASE),
                                          .entries = entries,
                                          .covers = covers_of (0, covers, arena) };
    generation.keys.items = arena_array (arena, 1, sizeof (struct cache_key));
    generation.keys.items[0] = (struct cache_key){ .program = TEXT_LIT ("jit_old"), .key = TEXT_LIT ("jit_old-1") };
    generation.keys.n = 1;
    generation.compile_ms = INT64_MAX;
    return generation;
}

static void seal (struct bench *bench)
{
    struct arena arena = { 0 };
    struct msg msg = { .kind = MSG_RESULT };
    struct named_number compiled = { TEXT_LIT ("compile_ms"), 700 };
    ask (bench, 0, NEXT, 1);
    sample_result (&bench->runs[0], (uint64_t[HOSTS]){ 0 }, &msg.of.result, &arena);
    msg.of.result.counters.items = &compiled;
    msg.of.result.counters.n = 1;
    tell (bench, 0, &msg);
    arena_release (&arena);
}

/* To where host0 has sealed generation NEXT, for which it was granted the lease when `base` was the newest. */
static const struct fact_generation *build_upon (struct bench *bench, const struct fact_generation *base)
{
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, base);
    audited (bench, NULL);
    token (bench, NEXT);
    seal (bench);
    stretched_fits (bench->facts, bench->facts_n);
    const struct fact *published = last_fact (bench, FACT_GENERATION_PUBLISHED);
    assert_non_null (published);
    return &published->of.generation;
}

TEST_ON (bench, a_generation_with_as_many_covers_as_a_record_holds_can_be_built_upon)
{
    struct fact_generation base = grown (GENERATION_COVERS_MAX, GENERATION_BASE_MAX_ENTRIES, &t->arena);
    const struct fact_generation *next = build_upon (bench, &base);
    assert_int_equal (next->covers.n, COVERS_KEPT);
    assert_int_equal (bench->runs[0].cache.base, BASE);
    assert_int_equal (next->keys.n, 1);
    restart (bench); /* the next process builds upon the same */
    stretched_fits (bench->facts, bench->facts_n);
}

TEST_ON (bench, one_that_has_grown_too_large_is_not_built_upon)
{
    struct fact_generation base = grown (7, GENERATION_BASE_MAX_ENTRIES + 1, &t->arena);
    const struct fact_generation *next = build_upon (bench, &base);
    assert_int_equal (last_fact (bench, FACT_WRITER_GRANTED)->of.writer_granted.base, 0);
    assert_int_equal (bench->runs[0].cache.base, 0);
    assert_int_equal (bench->runs[0].cache.base_sha256.len, 0);
    assert_int_equal (next->covers.n, 1);
    assert_int_equal (next->keys.n, 0);
    assert_int_equal (next->compile_ms, 700);
}

TEST_ON (bench, the_catalogue_is_told_what_the_ladder_uses)
{
    struct fact_generation base = grown (1, 1, &t->arena);
    const struct fact_generation *next = build_upon (bench, &base);
    static const enum effect_kind told[] = { FX_CACHE_FIND, FX_CACHE_PUBLISH };
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        const struct effect *effect = last_effect (bench, told[i]);
        assert_int_equal (effect->covers.n, 1);
        assert_text (effect->covers.items[0], next->covers.items[next->covers.n - 1]);
    }
}
