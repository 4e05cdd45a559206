/* links: simulated */
/* Whatever a worker says at its longest: what the coordinator makes of it fits its own records. A fact that does not is the
 * end of the run (coordinator/io/driver_out.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "retry_fixture.h"

/* Host 3 speaks in letters of two bytes. */
static struct text longest (uint32_t host, uint64_t max)
{
    static char bytes[HOSTS][TEXT_MAX_BYTES];
    uint32_t len = max < TEXT_MAX_BYTES ? (uint32_t) max : TEXT_MAX_BYTES;
    for (uint32_t i = 0; i < TEXT_MAX_BYTES; i++)
        bytes[host][i] = host < 3 ? (char) ('a' + host) : "\xc3\xa9"[i % 2];
    return (struct text) { bytes[host], host < 3 ? len : len / 2 * 2 };
}

/* Each text of it is as long as it may be, each list has one item. */
static void stretch (const struct record *record, char *value, uint32_t host, struct arena *arena)
{
    for (uint32_t i = 0; i < record->fields_n; i++) {
        const struct field *field = &record->fields[i];
        void *at = value + field->offset;
        if (field->kind == FIELD_TEXT)
            *(struct text *) at = longest (host, field->max);
        if (field->kind == FIELD_RECORD)
            stretch (field->of, at, host, arena);
        if (field->kind != FIELD_LIST || field->item != FIELD_RECORD)
            continue;
        struct any_list *list = at;
        list->items = arena_array (arena, 1, field_item_bytes (field));
        list->n = 1;
        stretch (field->of, list->items, host, arena);
    }
}

static void survey_of_tpus (struct plan *plan)
{
    plan->profile.backend = TEXT_LIT ("tpu");
    plan->profile.accelerator = TEXT_LIT ("v6e-16");
    plan->rungs.items[0] = (struct rung) { .id = TEXT_LIT ("facts"), .kind = PROGRAM_BUILTIN, .builtin = TEXT_LIT ("facts"),
                                           .scope = SCOPE_HOST, .timeout_ms = 60000 };
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

static void as_it_is (struct plan *plan)
{
    plan->limits.retries = 0;
}

/* Facts of a slice that look like an answer for as long as they go on. */
static struct var *long_facts (uint32_t host, struct arena *arena)
{
    static const char *const names[] = { "tpu.accelerator_type", "tpu.topology", "tpu.chips_per_host_bounds", "tpu.host_bounds",
                                         "tpu.worker_id", "tpu.worker_hostnames" };
    struct var *facts = arena_array (arena, 6, sizeof *facts);
    char *grid = arena_alloc (arena, TEXT_MAX_BYTES);
    for (uint32_t i = 0; i < TEXT_MAX_BYTES; i++)
        grid[i] = i % 2 ? ',' : '1';
    grid[TEXT_MAX_BYTES - 1] = '7';
    for (uint32_t i = 0; i < 6; i++)
        facts[i] = (struct var) { text_of (names[i]), i == host % 4 || i > 3 ? (struct text) { grid, TEXT_MAX_BYTES }
                                                                             : (struct text) { 0 } };
    return facts;
}

/* `differ`: in what all hosts of a slice must have alike. */
static void end_stretched (struct bench *bench, uint32_t host, enum ending ending, uint32_t code, bool differ)
{
    struct msg msg = { .kind = MSG_RESULT };
    struct result *result = &msg.of.result;
    stretch (&result_record, (char *) result, host, &bench->arena);
    result->key = bench->runs[host].key;
    result->ending = ending;
    result->code = code;
    result->done = result->spoke = true;
    result->checks.n = 0;
    result->findings.n = 0;
    result->bad_lines = 0;
    result->facts.items = long_facts (host, &bench->arena);
    result->facts.n = 6;
    if (differ) {
        result->bundle.items[0].name = TEXT_LIT ("fingerprint");
        result->policy.items[0].name = TEXT_LIT ("XLA_FLAGS");
    }
    tell (bench, host, &msg);
}

static void expect_bounded (const struct bench *bench)
{
    for (uint32_t i = 0; i < bench->facts_n; i++)
        if (!record_check (fact_body (bench->facts[i].kind), &bench->facts[i].of, NULL))
            fail_msg ("fact %u, %s, is out of its bounds", i, fact_name (bench->facts[i].kind));
}

static void run_stretched (void (*with) (struct plan *), enum ending ending, uint32_t code, bool differ)
{
    struct bench bench;
    bench_open_with (&bench, with);
    for (uint32_t host = 0; host < HOSTS; host++)
        end_stretched (&bench, host, ending, code, differ);
    assert_true (count (&bench, FACT_PASS_ENDED) > 0);
    expect_bounded (&bench);
    bench_close (&bench);
}

static void every_fact_fits_whatever_a_worker_says (void **state)
{
    (void) state;
    void (*const plans[]) (struct plan *) = { as_it_is, survey_of_tpus, restore, survey_of_storage };
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++)
        for (uint32_t ending = ENDING_EXITED; ending < ending_names.n; ending++)
            for (uint32_t code = 0; code < 2; code++) {
                run_stretched (plans[i], (enum ending) ending, code, false);
                run_stretched (plans[i], (enum ending) ending, code, true);
            }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_fact_fits_whatever_a_worker_says),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
