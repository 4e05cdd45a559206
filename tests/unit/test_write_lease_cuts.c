/* links: simulated */
/* A coordinator that dies between any two facts of a run with a cache: what was decided and not recorded is decided
 * again, what was recorded is not lost. */
#include "test.h"
#include "write_lease_fixture.h"

enum { TURNS_MAX = 200, TOKEN_OF_CUTS = 100 };
enum tampering { UNTOUCHED, FOUND_BY_COORDINATOR, FOUND_BY_READER };
struct pilot {
    struct bench bench;
    enum tampering tampering;
    uint32_t answered;
    uint64_t token;
};

/* The published generation, if it is to be found changed and was not yet. */
static const struct finding *spoiled (struct pilot *pilot, enum tampering by, struct finding *finding)
{
    const struct fact *published = last_fact (&pilot->bench, FACT_GENERATION_PUBLISHED);
    if (pilot->tampering != by || !published || last_fact (&pilot->bench, FACT_CACHE_VIOLATED))
        return NULL;
    *finding = changed;
    finding->token = published->of.generation.token;
    return finding;
}

static void pilot_answers (struct pilot *pilot)
{
    struct bench *bench = &pilot->bench;
    for (; pilot->answered < bench->effects_n && !coord_ended (bench->coord, NULL); pilot->answered++) {
        struct cache_root_finding seen = { 0 };
        switch (bench->effects[pilot->answered].kind) {
        case FX_CACHE_FIND: found (bench, NULL); break;
        case FX_TOKEN: token (bench, ++pilot->token); break;
        case FX_CACHE_AUDIT:
            audited (bench, spoiled (pilot, FOUND_BY_COORDINATOR, &seen.finding) ? &seen : NULL);
            break;
        default: break;
        }
    }
}

static void pilot_runs (struct pilot *pilot, uint32_t host)
{
    struct bench *bench = &pilot->bench;
    struct finding finding;
    bool reader = bench->runs[host].cache.role == CACHE_ROLE_READER;
    bench->ordered[host] = false;
    if (bench->runs[host].cache.role == CACHE_ROLE_WRITER)
        ask (bench, host, bench->runs[host].cache.token, 1);
    end_run_of (bench, host, reader ? spoiled (pilot, FOUND_BY_READER, &finding) : NULL);
}

static void pilot_to_the_end (struct pilot *pilot)
{
    struct bench *bench = &pilot->bench;
    for (uint32_t turn = 0; turn < TURNS_MAX && !coord_ended (bench->coord, NULL); turn++) {
        pilot_answers (pilot);
        for (uint32_t host = 0; host < HOSTS; host++) {
            struct msg beat = { .kind = MSG_HEARTBEAT };
            if (bench->ordered[host])
                pilot_runs (pilot, host);
            else
                tell (bench, host, &beat);
        }
        tick_at (bench, bench->now_ms + 2500);
    }
}

static uint32_t publications (const struct bench *bench, uint64_t token)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < bench->facts_n; i++)
        n += bench->facts[i].kind == FACT_GENERATION_PUBLISHED && bench->facts[i].of.generation.token == token;
    return n;
}

static void expect_end (const struct pilot *pilot, uint32_t cut)
{
    assert_int_equal (
        publications (&pilot->bench, last_fact (&pilot->bench, FACT_GENERATION_PUBLISHED)->of.generation.token), 1);
    const struct fact *ended = last_fact (&pilot->bench, FACT_RUN_ENDED);
    if (!ended || ended->of.run_ended.outcome != OUTCOME_PASSED ||
        ended->of.run_ended.exit_status != (pilot->tampering ? 4 : 0))
        fail_msg ("died after fact %u (%s): %.*s", cut, fact_name (pilot->bench.facts[cut - 1].kind),
                  TEXT_ARG (ended ? ended->of.run_ended.sentence : TEXT_LIT ("no end")));
}

static void resume_after (const struct pilot *whole, uint32_t cut)
{
    struct pilot pilot = { .tampering = whole->tampering, .token = TOKEN_OF_CUTS };
    struct bench *bench = &pilot.bench;
    *bench = (struct bench){ .plan = whole->bench.plan, .now_ms = 1000, .facts_n = cut };
    outbox_init (&bench->out);
    memcpy (bench->facts, whole->bench.facts, cut * sizeof (struct fact));
    restart_at (bench, 0);
    all_join (bench);
    pilot_to_the_end (&pilot);
    expect_end (&pilot, cut);
    bench_close (bench);
}

TEST (a_coordinator_that_dies_after_any_fact_is_resumed)
{
    for (enum tampering tampering = UNTOUCHED; tampering <= FOUND_BY_READER; tampering++) {
        struct pilot whole = { .tampering = tampering };
        bench_open (&whole.bench, CACHE_SINGLE_WRITER);
        pilot_to_the_end (&whole);
        expect_end (&whole, whole.bench.facts_n);
        for (uint32_t cut = 2; cut < whole.bench.facts_n; cut++)
            resume_after (&whole, cut);
        bench_close (&whole.bench);
    }
}
