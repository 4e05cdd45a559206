/* links: simulated view */
/* A receipt can be read back, however long a run was and whatever its workers said. */
#include "coordinator/story/board.h"
#include "coordinator/view/receipt_text.h"
#include "sample.h"
#include "stretched.h"
#include "test.h"

struct scene {
    struct arena arena;
    struct board *fold;
    struct fact fact;
};

static void scene_open (struct scene *scene, uint32_t hosts)
{
    *scene = (struct scene){ .fold = board_create (BOARD_JUDGED_EVIDENCE), .fact = { .kind = FACT_RUN_OPENED } };
    sample_plan (&scene->fact.of.run_opened.plan, hosts, &scene->arena);
    board_apply (scene->fold, &scene->fact);
}

/* All of a kind as large as they may be, for host 0 and rung 0. */
static struct fact *next_fact (struct scene *scene, enum fact_kind kind)
{
    scene->fact = (struct fact){ .kind = kind, .index = scene->fact.index + 1 };
    return &scene->fact;
}

static void taken_is_readable (struct scene *scene, struct slice_receipt *receipt)
{
    struct slice_receipt read;
    struct err err = { 0 };
    struct buf json, why;
    buf_init (&json, 512 << 20);
    buf_init (&why, 256);
    board_make_receipt (scene->fold, &scene->arena, receipt);
    if (!record_check (&slice_receipt_record, receipt, &why))
        fail_msg ("%s", buf_c (&why));
    receipt_json (receipt, &(const struct drift_query){ 0 }, &json);
    if (receipt_from_json (buf_as_text (&json), &read, &scene->arena, &err) != 0)
        fail_msg ("%s", err.text);
    buf_release (&why);
    buf_release (&json);
}

static void scene_close (struct scene *scene)
{
    board_destroy (scene->fold);
    arena_release (&scene->arena);
}

TEST_FIXTURE (struct scene, TEST_NOTHING, scene_close)

static bool says (const struct slice_receipt *receipt, const char *words)
{
    for (uint32_t i = 0; i < receipt->recoveries.n; i++)
        if (text_find (receipt->recoveries.items[i].what, text_of (words), NULL))
            return true;
    return false;
}

TEST_ON (scene, a_run_that_was_resumed_without_end)
{
    enum { REJOINS = 70000 };
    struct slice_receipt receipt;
    scene_open (scene, 2);
    for (uint32_t i = 0; i <= REJOINS; i++) {
        struct fact *fact = next_fact (scene, FACT_HOST_JOINED);
        fact->of.host_joined.session = i;
        board_apply (scene->fold, fact);
    }
    taken_is_readable (scene, &receipt);
    assert_true (says (&receipt, "4465 more entries are left out"));
    assert_true (says (&receipt, "host0 joined again (session 1)"));
}

static void tell (struct scene *scene, struct result *result, uint32_t attempt)
{
    struct fact *fact = next_fact (scene, FACT_ATTEMPT_ENDED);
    fact->of.attempt_ended.result = *result;
    fact->of.attempt_ended.result.key = (struct attempt_key){ 1, PASS_COLD, attempt };
    board_apply (scene->fold, fact);
    fact = next_fact (scene, FACT_PASS_ENDED);
    struct verdict verdict;
    stretch (&verdict_record, &verdict, 1, &scene->arena);
    verdict.host = 0;
    fact->of.pass_ended.key = (struct attempt_key){ 1, PASS_COLD, attempt };
    fact->of.pass_ended.verdicts.items = &verdict;
    fact->of.pass_ended.verdicts.n = 1;
    board_apply (scene->fold, fact);
}

/* Each attempt has other names for everything, so nothing of it replaces what was said before. */
static void rename_all (var_list *vars, uint32_t attempt, struct arena *arena)
{
    for (uint32_t i = 0; i < vars->n; i++)
        vars->items[i].name = text_format (arena, "%u of %u", i, attempt);
}

TEST_ON (scene, a_worker_that_says_all_it_can_in_every_attempt)
{
    struct slice_receipt receipt;
    struct result result = { 0 };
    scene_open (scene, 2);
    stretch (&result_record, &result, 0, &scene->arena);
    result.keys.n = 1; /* large, and of each attempt its own */
    result.metrics.n = 1;
    for (uint32_t attempt = 1; attempt <= 20; attempt++) {
        rename_all (&result.facts, attempt, &scene->arena);
        rename_all (&result.bundle, attempt, &scene->arena);
        rename_all (&result.policy, attempt, &scene->arena);
        tell (scene, &result, attempt);
    }
    taken_is_readable (scene, &receipt);
    assert_int_equal (receipt.hosts.items[0].rungs.n, 20);
    assert_true (says (&receipt, "more entries are left out"));
}

TEST_ON (scene, a_host_that_is_lost_with_many_words)
{
    struct slice_receipt receipt;
    scene_open (scene, 2);
    struct fact *fact = next_fact (scene, FACT_HOST_LOST);
    stretch (fact_record_of_kind (FACT_HOST_LOST), &fact->of, 3, &scene->arena);
    fact->of.host_lost.host = 1;
    board_apply (scene->fold, fact);
    taken_is_readable (scene, &receipt);
    assert_true (says (&receipt, "host1 was lost: "));
    assert_false (says (&receipt, "left out")); /* a text that is cut short is there */
}

/* Host 2 of 2, and a rung above the last: what a damaged journal may hold. */
static void facts_about_what_the_plan_does_not_have (struct board *fold, uint32_t hosts, uint32_t rungs)
{
    struct attempt_key of_no_rung = { rungs, PASS_ONCE, 1 };
    struct fact strays[] = {
        { .kind = FACT_HOST_JOINED, .of.host_joined.host = hosts },
        { .kind = FACT_HOST_LOST, .of.host_lost.host = hosts },
        { .kind = FACT_HOST_RETURNED, .of.host_suspected.host = hosts },
        { .kind = FACT_HOST_ASKED, .of.host_asked.host = hosts },
        { .kind = FACT_PASS_BEGAN, .of.pass_began.key = of_no_rung },
        { .kind = FACT_ATTEMPT_ENDED, .of.attempt_ended.host = hosts },
        { .kind = FACT_ATTEMPT_ENDED, .of.attempt_ended.result.key = of_no_rung },
        { .kind = FACT_PASS_ENDED, .of.pass_ended = { of_no_rung, .outcome = OUTCOME_PASSED } },
        { .kind = FACT_CONFLICT_SEEN, .of.conflict_seen.host = hosts },
        { .kind = FACT_CONFLICT_SEEN, .of.conflict_seen.key = of_no_rung },
        { .kind = FACT_SUSPECTS_NAMED, .of.suspects_named = { of_no_rung, .suspects = { &hosts, 1 } } },
        { .kind = FACT_RUN_ENDED, .of.run_ended.outcome = OUTCOME_BLOCKED },
    };
    for (size_t i = 0; i < sizeof (strays) / sizeof (strays[0]); i++)
        board_apply (fold, &strays[i]);
}

TEST (a_damaged_journal_that_names_what_the_plan_does_not_have)
{
    struct scene scene = { .fold = board_create (BOARD_JUDGED_EVIDENCE) };
    struct slice_receipt receipt;
    facts_about_what_the_plan_does_not_have (scene.fold, 0, 0); /* before there is a plan */
    board_destroy (scene.fold);
    scene_open (&scene, 2);
    board_apply (scene.fold, &scene.fact); /* the run is opened once */
    facts_about_what_the_plan_does_not_have (scene.fold, 2, scene.fold->plan.rungs.n);
    taken_is_readable (&scene, &receipt);
    assert_int_equal (receipt.hosts.n, 2);
    assert_int_equal (receipt.hosts.items[0].rungs.n + receipt.hosts.items[1].rungs.n, 0);
    assert_int_equal (receipt.times.n + receipt.recoveries.n, 0);
    scene_close (&scene);
}
