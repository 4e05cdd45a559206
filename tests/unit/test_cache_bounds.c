/* links: simulated */
/* Whatever a catalogue, a cache root and the writer say at their longest: what is recorded of it fits its records. */
#include "stretched.h"
#include "test.h"
#include "write_lease_fixture.h"

enum { BASE = 3000, NEXT, ROOT_FINDINGS = 1024 };

static struct fact_generation longest (struct arena *arena)
{
    struct fact_generation generation = { 0 };
    stretch (fact_record_of_kind (FACT_GENERATION_ADOPTED), &generation, 1,
             arena); /* host 0, which writes, speaks in another voice */
    generation.token = BASE;
    generation.entries = 1;
    return generation;
}

/* Good in what lets it pass, and full to the brim beside that. */
static void say_at_length (struct bench *bench, uint32_t host, bool finds)
{
    struct arena arena = { 0 };
    struct msg msg = { .kind = MSG_RESULT };
    struct result good, *said = &msg.of.result;
    sample_result (&bench->runs[host], (uint64_t[HOSTS]){ 0 }, &good, &arena);
    stretch (&result_record, said, host, &arena);
    said->key = good.key;
    said->ending = good.ending;
    said->code = said->bad_lines = 0;
    said->failure = (struct text){ 0 };
    said->backend = good.backend;
    said->cache = good.cache;
    said->cache_state = good.cache_state;
    said->seal.token = good.seal.token;
    memcpy (said->counters.items, good.counters.items, good.counters.n * sizeof (struct named_number));
    said->counters.items[good.counters.n] = (struct named_number){ TEXT_LIT ("compile_ms"), INT64_MAX };
    said->checks.n = 0;
    if (!finds)
        said->findings.n = 0;
    for (uint32_t i = 0; i < said->findings.n; i++) {
        said->findings.items[i].kind = (enum finding_kind) (FINDING_EXTRA + i % 3);
        said->findings.items[i].token = bench->runs[host].cache.token;
    }
    tell (bench, host, &msg);
    stretched_fits (bench->facts, bench->facts_n);
    arena_release (&arena);
}

static void open_longest (struct bench *bench, struct arena *arena)
{
    struct fact_generation base = longest (arena);
    bench_open (bench, CACHE_SINGLE_WRITER);
    found (bench, &base);
    audited (bench, NULL);
    token (bench, NEXT);
    ask (bench, 0, NEXT, 1);
}

TEST_FIXTURE (struct bench, TEST_NOTHING, bench_close)

TEST_ON (bench, a_generation_is_published_whatever_its_writer_says)
{
    open_longest (bench, &t->arena);
    say_at_length (bench, 0, false);
    const struct fact *published = last_fact (bench, FACT_GENERATION_PUBLISHED);
    assert_non_null (published);
    assert_int_equal (published->of.generation.keys.n, GENERATION_KEYS_MAX);
}

TEST_ON (bench, what_readers_find_is_recorded_whatever_it_is_called)
{
    open_longest (bench, &t->arena);
    say_at_length (bench, 0, false);
    audited (bench, NULL);
    for (uint32_t host = 0; host < HOSTS; host++)
        say_at_length (bench, host, true);
    assert_non_null (last_fact (bench, FACT_CACHE_VIOLATED));
    assert_non_null (last_fact (bench, FACT_GENERATION_DROPPED));
}

TEST_ON (bench, what_lies_in_the_root_is_recorded_whatever_it_is_called)
{
    static struct cache_root_finding findings[ROOT_FINDINGS];
    for (uint32_t i = 0; i < ROOT_FINDINGS; i++) {
        stretch (&finding_record, &findings[i].finding, i % STRETCHED_VOICES, &t->arena);
        findings[i].finding.kind = (enum finding_kind) (1 + i % (finding_kind_names.n - 1));
        findings[i].finding.token = i;
        findings[i].run = stretched_text (0, 2 * RUN_ID_BYTES);
    }
    open_longest (bench, &t->arena);
    say_at_length (bench, 0, false);
    struct core_input in = { .kind = IN_CACHE_AUDITED, .findings = findings, .findings_n = ROOT_FINDINGS };
    step (bench, &in);
    stretched_fits (bench->facts, bench->facts_n);
}

TEST_ON (bench, what_the_catalogue_complains_of_is_recorded)
{
    struct text longest_text = stretched_text (3, TEXT_MAX_BYTES);
    const struct core_input answers[] = {
        { .kind = IN_CACHE_FOUND, .text = longest_text },
        { .kind = IN_CACHE_AUDITED, .text = longest_text },
        { .kind = IN_TOKEN, .lease_owner = { stretched_text (0, NAME_MAX_BYTES), INT64_MAX, INT64_MAX } },
        { .kind = IN_TOKEN, .text = longest_text },
    };
    bench_open (bench, CACHE_SINGLE_WRITER);
    bench->plan.cache.root = stretched_text (1, PATH_MAX_BYTES);
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        if (answers[i].kind == IN_TOKEN && answers[i].text.len) { /* it is asked once more */
            bench->now_ms += LEASE_TERM_MS;
            step (bench, &(struct core_input){ .kind = IN_TICK });
            step (bench, &answers[0]);
        }
        step (bench, &answers[i]);
        stretched_fits (bench->facts, bench->facts_n);
    }
    assert_true (coord_ended (bench->coord, NULL));
}
