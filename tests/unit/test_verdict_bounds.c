/* links: simulated */
/* Whatever a worker says at its longest: what the coordinator makes of it fits its own records. A fact that does not is
 * the end of the run (coordinator/run/driver_out.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "retry_fixture.h"
#include "stretched.h"

/* Names as long as a configuration may have them, and hosts that do not fold. */
static void name_at_length (struct plan *plan)
{
    static char names[HOSTS][HOST_NAME_MAX_BYTES + 1];
    plan->slice = plan->ladder = plan->rungs.items[0].id = stretched_text (0, ID_MAX_BYTES);
    plan->cache.root = stretched_text (1, PATH_MAX_BYTES);
    for (uint32_t i = 0; i < HOSTS; i++) {
        memset (names[i], (char) ('e' + i), HOST_NAME_MAX_BYTES);
        plan->hosts.items[i].name = text_of (names[i]);
    }
    for (uint32_t i = 0; i < plan->rungs.items[0].metrics.n; i++)
        plan->rungs.items[0].metrics.items[i] = stretched_text (0, WORD_MAX_BYTES);
    for (uint32_t i = 0; i < plan->signatures.n; i++)
        plan->signatures.items[i].id = stretched_text (0, ID_MAX_BYTES);
}

static void survey_of_tpus (struct plan *plan)
{
    plan->profile.backend = TEXT_LIT ("tpu");
    plan->profile.accelerator = TEXT_LIT ("v6e-16");
    plan->rungs.items[0] = (struct rung){ .id = TEXT_LIT ("facts"),
                                          .kind = PROGRAM_BUILTIN,
                                          .builtin = TEXT_LIT ("facts"),
                                          .scope = SCOPE_HOST,
                                          .timeout_ms = 60000 };
    name_at_length (plan);
}

static void restore (struct plan *plan)
{
    survey_of_tpus (plan);
    plan->rungs.items[0].builtin = TEXT_LIT ("restore");
}

static void survey_of_storage (struct plan *plan)
{
    survey_of_tpus (plan);
    plan->rungs.items[0].builtin = TEXT_LIT ("cache");
}

static void of_a_slice (struct plan *plan)
{
    plan->limits.retries = 0;
    name_at_length (plan);
}

enum { LONG_FACTS = 6 };

/* Facts of a slice that look like an answer for as long as they go on. */
static struct var *long_facts (uint32_t host, struct arena *arena)
{
    static const char *const names[] = { "tpu.accelerator_type", "tpu.topology",  "tpu.chips_per_host_bounds",
                                         "tpu.host_bounds",      "tpu.worker_id", "tpu.worker_hostnames" };
    struct var *facts = arena_array (arena, LONG_FACTS, sizeof *facts);
    char *grid = arena_alloc (arena, TEXT_MAX_BYTES);
    for (uint32_t i = 0; i < TEXT_MAX_BYTES; i++)
        grid[i] = i % 2 ? ',' : '1';
    grid[TEXT_MAX_BYTES - 1] = '7';
    for (uint32_t i = 0; i < LONG_FACTS; i++)
        facts[i] = (struct var){ text_of (names[i]),
                                 i == host % 4 || i > 3 ? (struct text){ grid, TEXT_MAX_BYTES } : (struct text){ 0 } };
    return facts;
}

/* What a worker says at its longest, once a host: it is large, and only a few fields of it change from run to run. */
struct voices {
    struct result said[HOSTS];
    struct arena arena;
};

static void voices_open (struct voices *voices)
{
    *voices = (struct voices){ 0 };
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct result *result = &voices->said[host];
        stretch (&result_record, result, host, &voices->arena);
        result->done = result->spoke = true;
        memcpy (result->facts.items, long_facts (host, &voices->arena), LONG_FACTS * sizeof (struct var));
    }
}

/* What the judge is to find, so that it does not always stop at the same. */
enum flaw { FLAW_NONE = 0, FLAW_DIFFERS, FLAW_FINDINGS, FLAW_CHECKS, FLAW_LINES, FLAWS };

static struct result flawed (const struct voices *voices, uint32_t host, enum flaw flaw)
{
    struct result result = voices->said[host];
    if (flaw != FLAW_FINDINGS)
        result.findings.n = 0;
    if (flaw != FLAW_CHECKS)
        result.checks.n = 0;
    if (flaw != FLAW_LINES)
        result.bad_lines = 0;
    bool differs = flaw == FLAW_DIFFERS; /* in what all hosts of a slice must have alike */
    result.bundle.items[0].name = differs ? TEXT_LIT ("fingerprint") : TEXT_LIT ("name");
    result.policy.items[0].name = differs ? TEXT_LIT ("XLA_FLAGS") : TEXT_LIT ("name");
    return result;
}

static void run_stretched (const struct voices *voices, void (*with) (struct plan *), enum ending ending, uint32_t code,
                           enum flaw flaw)
{
    struct bench bench;
    bench_open_with (&bench, with);
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct msg msg = { .kind = MSG_RESULT, .of.result = flawed (voices, host, flaw) };
        msg.of.result.key = bench.runs[host].key;
        msg.of.result.ending = ending;
        msg.of.result.code = code;
        tell (&bench, host, &msg);
    }
    assert_true (count (&bench, FACT_PASS_ENDED) > 0);
    stretched_fits (bench.facts, bench.facts_n);
    bench_close (&bench);
}

/* What a program said counts only when it ended well; what was found in its cache, always. */
static void run_endings (const struct voices *voices, void (*with) (struct plan *))
{
    for (enum flaw flaw = FLAW_NONE; flaw < FLAWS; flaw++)
        run_stretched (voices, with, ENDING_EXITED, 0, flaw);
    for (uint32_t ending = ENDING_EXITED; ending < ending_names.n; ending++) {
        run_stretched (voices, with, (enum ending) ending, 1, FLAW_NONE);
        run_stretched (voices, with, (enum ending) ending, 1, FLAW_FINDINGS);
    }
}

static void every_fact_fits_whatever_a_worker_says (void **state)
{
    (void) state;
    void (*const plans[]) (struct plan *) = { of_a_slice, survey_of_tpus, restore, survey_of_storage };
    struct voices voices;
    voices_open (&voices);
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++)
        run_endings (&voices, plans[i]);
    arena_release (&voices.arena);
}

/* ---- what comes in beside results ---- */

static void feed (struct bench *bench, const struct core_input *in)
{
    step (bench, in);
    stretched_fits (bench->facts, bench->facts_n);
}

/* `knows`: of facts that the journal lacks, when it says hello. */
static void say (struct bench *bench, uint32_t host, enum msg_kind kind, bool knows)
{
    struct arena arena = { 0 };
    struct msg msg = { .kind = kind };
    stretch (msg_record_of_kind (kind), &msg.of, host, &arena);
    if (kind == MSG_HELLO && !knows)
        msg.of.hello.told_epoch = msg.of.hello.told_index = 0;
    tell (bench, host, &msg);
    stretched_fits (bench->facts, bench->facts_n);
    arena_release (&arena);
}

static void every_fact_fits_whatever_else_comes_in (void **state)
{
    (void) state;
    struct text longest = stretched_text (3, TEXT_MAX_BYTES);
    for (enum msg_kind kind = MSG_HELLO; msg_is_from_worker (kind); kind++) {
        struct bench bench;
        bench_open_with (&bench, of_a_slice);
        for (uint32_t host = 0; host < HOSTS; host++)
            say (&bench, host, kind, false);
        for (uint32_t host = 0; host < HOSTS; host++)
            feed (&bench, &(struct core_input){ .kind = IN_WORKER_EXITED, .host = host, .text = longest });
        assert_true (coord_ended (bench.coord, NULL));
        bench_close (&bench);
    }
}

static void what_a_worker_knows_and_the_journal_lacks_fits (void **state)
{
    (void) state;
    struct bench bench;
    bench_open_with (&bench, of_a_slice);
    say (&bench, 3, MSG_HELLO, true);
    assert_int_equal (count (&bench, FACT_LOSS_TOLD), 1);
    bench_close (&bench);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_fact_fits_whatever_a_worker_says),
        cmocka_unit_test (every_fact_fits_whatever_else_comes_in),
        cmocka_unit_test (what_a_worker_knows_and_the_journal_lacks_fits),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
