/* links: verdict */
#include "coordinator/verdict/agree.h"
#include "coordinator/verdict/slice_variables.h"
#include "test.h"

enum { HOSTS = 4, FACTS = 3 };

struct slice {
    struct arena arena;
    struct plan_host names[HOSTS];
    struct text inherit[FACTS];
    struct rung rung;
    struct plan plan;
    struct var facts[HOSTS][FACTS];
    struct topology_host hosts[HOSTS];
};

static void slice_open (struct slice *slice)
{
    *slice = (struct slice){ .rung = { .id = TEXT_LIT ("b"), .kind = PROGRAM_COMMAND, .scope = SCOPE_SLICE } };
    for (uint32_t i = 0; i < HOSTS; i++)
        slice->names[i].name = text_format (&slice->arena, "v6e-%u", i);
    slice->plan.hosts.items = slice->names;
    slice->plan.hosts.n = HOSTS;
    slice->plan.rungs.items = &slice->rung;
    slice->plan.rungs.n = 1;
    slice->plan.profile.backend = TEXT_LIT ("tpu");
    slice->plan.profile.inherit.items = slice->inherit;
}

TEST_FIXTURE (struct slice, slice_open, TEST_ARENA)

/* One inherited variable, and what each host has; NULL: none. Each host has another variable, too. */
static void tell (struct slice *slice, const char *name, const char *const values[])
{
    slice->inherit[0] = text_of (name);
    slice->plan.profile.inherit.n = 1;
    for (uint32_t i = 0; i < slice->plan.hosts.n; i++) {
        slice->hosts[i] = (struct topology_host){ slice->facts[i], 1 + (values[i] != NULL) };
        slice->facts[i][0] = (struct var){ TEXT_LIT ("env.OTHER"), TEXT_LIT ("x") };
        slice->facts[i][1] = (struct var){ text_format (&slice->arena, "env.%s", name), text_of (values[i]) };
    }
}

/* What is found, as "3: has MEGASCALE_SLICE_ID 1, the 3 others have 0|..." */
static const char *found (struct slice *slice)
{
    struct buf all;
    struct topology_finding items[HOSTS];
    struct topology_findings all_found = { items, 0 };
    buf_init (&all, 1 << 16);
    slice_variables_judge_hosts (&slice->plan, slice->hosts, "env.", &slice->arena, &all_found);
    for (uint32_t i = 0; i < all_found.n; i++) {
        const struct topology_finding *one = &all_found.items[i];
        assert_int_equal (one->owner, OWNER_LAUNCH);
        assert_true (one->next.len > 0 && text_equal (one->fact, slice->inherit[0]));
        buf_printf (&all, "%s%u: %.*s", all.len ? "|" : "", one->host, TEXT_ARG (one->what));
    }
    return buf_finish (&all, &slice->arena).ptr;
}

struct one {
    const char *name, *values[HOSTS], *found;
};
static const struct one cases[] = {
    { "MEGASCALE_SLICE_ID", { "0", "0", "0", "1" }, "3: has MEGASCALE_SLICE_ID 1, the 3 others have 0" },
    { "MEGASCALE_SLICE_ID", { "0", "0", "0", "0" }, "" },
    { "MEGASCALE_SLICE_ID",
      { "2", "0", "0", "1" },
      "0: has MEGASCALE_SLICE_ID 2, and no value is shared by most hosts|1: has MEGASCALE_SLICE_ID 0, and no value is "
      "shared by most hosts|2: has MEGASCALE_SLICE_ID 0, and no value is shared by most hosts|3: has "
      "MEGASCALE_SLICE_ID 1, and no value is shared by most hosts" },
    { "TPU_TOPOLOGY", { "4x4", NULL, "4x4", "4x4" }, "1: has no TPU_TOPOLOGY, the 3 others have 4x4" },
    { "TPU_TOPOLOGY",
      { "4x4", NULL, "4x4", "2x4" },
      "0: has TPU_TOPOLOGY 4x4, and no value is shared by most hosts|1: has no TPU_TOPOLOGY, and no value is shared by "
      "most hosts|2: has TPU_TOPOLOGY 4x4, and no value is shared by most hosts|3: has TPU_TOPOLOGY 2x4, and no value "
      "is shared by most hosts" },
    { "TPU_TOPOLOGY", { NULL, NULL, "2x4", NULL }, "2: has TPU_TOPOLOGY 2x4, the 3 others have none" },
    { "TPU_WORKER_ID", { "0", "1", "2", "3" }, "" },
    { "TPU_WORKER_ID",
      { "0", "1", "2", "1" },
      "3: has TPU_WORKER_ID 1, which is the place of v6e-1, expected 3, its place in the slice file" },
    { "TPU_WORKER_ID", { "0", "1", "2", "7" }, "3: has TPU_WORKER_ID 7, expected 3, its place in the slice file" },
    { "TPU_WORKER_ID", { "0", "1", "two", "3" }, "2: has TPU_WORKER_ID two, expected 2, its place in the slice file" },
    { "TPU_WORKER_ID", { "0", NULL, "2", "3" }, "1: has no TPU_WORKER_ID, the 3 others have one" },
    { "CLOUD_TPU_TASK_ID",
      { "1", "1", "2", "3" },
      "0: has CLOUD_TPU_TASK_ID 1, which is the place of v6e-1, expected 0, its place in the slice file" },
    { "TPU_WORKER_HOSTNAMES", { "a,b,c,d", "a,b,c,d", "a,b,c,d", "a,b,c,d" }, "" },
    { "TPU_WORKER_HOSTNAMES",
      { "a,b,c,d", "a,b,c,d", "b,a,c,d", "a,b,c,d" },
      "2: has TPU_WORKER_HOSTNAMES b,a,c,d, the 3 others have a,b,c,d" },
    { "TPU_WORKER_HOSTNAMES",
      { "a ... 9000 bytes, words 0f", "a ... 9000 bytes, words 0f", "a ... 9000 bytes, words 0f",
        "a ... 9000 bytes, words 0f" },
      "" },
    { "TPU_HOST_BOUNDS", { "2,2,1", "2,2,1", "2,2,1", "2,2,1" }, "" },
    { "TPU_HOST_BOUNDS",
      { "2,2,1", "1,1,1", "2,2,1", "2,2,1" },
      "1: has TPU_HOST_BOUNDS 1,1,1, the 3 others have 2,2,1" },
    { "LIBTPU_INIT_ARGS", { "--a --b", "--b --a", "--a --b --a", "--b  --a" }, "" },
    { "LIBTPU_INIT_ARGS",
      { "--a --b", "--a", "--a --b", "--b --a" },
      "1: has LIBTPU_INIT_ARGS --a, the 3 others have --a --b" },
    { "XLA_FLAGS", { "", "--a", "--a", "--a" }, "0: has no XLA_FLAGS, the 3 others have --a" },
    { "XLA_FLAGS", { "", NULL, NULL, "set to nothing" }, "" },
    { "TPU_TOPOLOGY", { "", "4x4", "4x4", "4x4" }, "0: has TPU_TOPOLOGY set to nothing, the 3 others have 4x4" },
    { "OTHER", { "0", "1", "2", "2" }, "" },
    { "TPU_SKIP_MDS_QUERY", { "1", "true", "false", "1" }, "" },
    { "TPU_SKIP_MDS_QUERY", { "1", "", "true", "1" }, "1: has no TPU_SKIP_MDS_QUERY, the 3 others have one" },
    { "MEGASCALE_NUM_SLICES", { "1", "1", "1", "1" }, "" },
    { "MEGASCALE_NUM_SLICES", { "", "", "", "" }, "" },
    { "MEGASCALE_NUM_SLICES", { "1", "1", "2", "1" }, "2: has MEGASCALE_NUM_SLICES 2, the 3 others have 1" },
};

TEST_ON (slice, each_rule_names_variable_value_and_the_others)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tell (slice, cases[i].name, cases[i].values);
        if (strcmp (found (slice), cases[i].found) != 0)
            fail_msg ("case %zu: %s", i, found (slice));
    }
}

TEST_ON (slice, lists_and_grids_have_as_many_as_there_are_hosts)
{
    static const struct {
        const char *name, *value, *found; /* on all hosts */
    } all[] = {
        { "TPU_WORKER_HOSTNAMES", "a,b,c", "has TPU_WORKER_HOSTNAMES a,b,c, expected the names of 4 hosts" },
        { "TPU_PROCESS_ADDRESSES", "local", "has TPU_PROCESS_ADDRESSES local, expected the names of 4 hosts" },
        { "TPU_PROCESS_BOUNDS", "1,2,1",
          "has TPU_PROCESS_BOUNDS 1,2,1, expected a grid such as 2,2,1 that makes 4 hosts" },
        { "TPU_HOST_BOUNDS", "big", "has TPU_HOST_BOUNDS big, expected a grid such as 2,2,1 that makes 4 hosts" },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        tell (slice, all[i].name, (const char *const[]){ all[i].value, all[i].value, all[i].value, all[i].value });
        const char *text = found (slice);
        for (uint32_t host = 0; host < HOSTS; host++) {
            assert_has (text, all[i].found);
            text = strstr (text, all[i].found) + 1;
        }
    }
}

TEST_ON (slice, of_two_hosts_each_is_told_the_other)
{
    slice->plan.hosts.n = 2;
    tell (slice, "MEGASCALE_SLICE_ID", (const char *const[]){ "0", "1" });
    assert_string_equal (found (slice),
                         "0: has MEGASCALE_SLICE_ID 0, the other has 1|1: has MEGASCALE_SLICE_ID 1, the other has 0");
    tell (slice, "TPU_SKIP_MDS_QUERY", (const char *const[]){ NULL, "1" });
    assert_string_equal (
        found (slice),
        "0: has no TPU_SKIP_MDS_QUERY, the other has one|1: has TPU_SKIP_MDS_QUERY 1, the other has none");
}

/* Nobody is in the majority, and the slice file has a word in it. */
TEST_ON (slice, of_divided_hosts_the_one_that_fits_is_right)
{
    slice->plan.hosts.n = 2;
    slice->plan.profile.accelerator = TEXT_LIT ("v6e-8");
    tell (slice, "TPU_HOST_BOUNDS", (const char *const[]){ "1,2,1", "1,1,1" });
    assert_string_equal (found (slice), "1: has TPU_HOST_BOUNDS 1,1,1, the other has 1,2,1");
    slice->plan.profile.topology = TEXT_LIT ("4x2");
    slice->plan.machine.bounds = TEXT_LIT ("2,2,1");
    tell (slice, "TPU_HOST_BOUNDS", (const char *const[]){ "1,2,1", "1,2,1" }); /* which way it lies is the cloud's */
    assert_string_equal (found (slice), "");
    tell (slice, "TPU_HOST_BOUNDS", (const char *const[]){ "2,1,1", "1,2,1" }); /* 4x2: the first is the usual way */
    assert_has (found (slice), "1: has TPU_HOST_BOUNDS 1,2,1");
    assert_has_not (found (slice), "0: has");
    tell (slice, "TPU_PROCESS_ADDRESSES", (const char *const[]){ "", NULL });
    assert_has (found (slice), "0: has TPU_PROCESS_ADDRESSES set to nothing");
    assert_has_not (found (slice), "1: has");
    tell (slice, "TPU_PROCESS_PORT", (const char *const[]){ "8471", "9999" });
    assert_has (found (slice), "1: has TPU_PROCESS_PORT 9999, the other has 8471");
    tell (slice, "TPU_WORKER_ID", (const char *const[]){ NULL, "1" });
    assert_string_equal (found (slice), "0: has no TPU_WORKER_ID, the other has one");
    tell (slice, "TPU_ACCELERATOR_TYPE", (const char *const[]){ "v5p-8", "v6e-8" });
    assert_string_equal (found (slice), "0: has TPU_ACCELERATOR_TYPE v5p-8, the other has v6e-8");
}

TEST_ON (slice, a_grid_of_another_shape_is_wrong_on_all)
{
    slice->plan.machine = (struct machine_type){ .id = TEXT_LIT ("four"), .bounds = TEXT_LIT ("2,2,1") };
    slice->plan.profile.topology = TEXT_LIT ("4x4");
    tell (slice, "TPU_HOST_BOUNDS", (const char *const[]){ "4,1,1", "4,1,1", "4,1,1", "4,1,1" });
    assert_has (found (slice),
                "3: has TPU_HOST_BOUNDS 4,1,1, expected a grid of the sizes 2,2,1, which hosts of type four "
                "make of 4x4");
    tell (slice, "TPU_HOST_BOUNDS", (const char *const[]){ "2,2,1", "2,2,1", "2,2,1", "2,2,1" });
    assert_string_equal (found (slice), "");
}

TEST_ON (slice, a_slice_of_several_is_wrong_on_all)
{
    tell (slice, "MEGASCALE_NUM_SLICES", (const char *const[]){ "2", "2", "2", "2" });
    assert_has (found (slice), "3: has MEGASCALE_NUM_SLICES 2, expected 1");
}

/* Who could not tell all of its variables may have what it does not tell. */
TEST_ON (slice, what_is_left_out_is_not_missing)
{
    tell (slice, "TPU_TOPOLOGY", (const char *const[]){ "4x4", NULL, "4x4", "4x4" });
    slice->facts[1][0] = (struct var){ TEXT_LIT ("env.left_out"), TEXT_LIT ("3") };
    assert_string_equal (found (slice), "");
    slice->facts[1][0].name = TEXT_LIT ("env.OTHER");
    slice->hosts[2].facts_n = 0;
    assert_string_equal (found (slice), "1: has no TPU_TOPOLOGY, most hosts have 4x4");
}

TEST_ON (slice, what_no_slice_program_inherits_is_not_looked_at)
{
    struct var set = { TEXT_LIT ("MEGASCALE_SLICE_ID"), TEXT_LIT ("{rank}") };
    tell (slice, "MEGASCALE_SLICE_ID", (const char *const[]){ "0", "0", "0", "1" });
    assert_true (strlen (found (slice)) > 0);
    slice->plan.profile.slice_env.set.items = &set;
    slice->plan.profile.slice_env.set.n = 1;
    assert_string_equal (found (slice), "");
    slice->plan.profile.slice_env.set.n = 0;
    slice->rung.scope = SCOPE_HOST;
    assert_string_equal (found (slice), "");
    slice->rung.scope = SCOPE_SLICE;
    slice->plan.profile.backend = TEXT_LIT ("cpu");
    assert_string_equal (found (slice), "");
    slice->plan.profile.backend = TEXT_LIT ("tpu");
    slice->plan.profile.inherit.n = 0;
    assert_string_equal (found (slice), "");
}

/* ---- in a pass ---- */

struct told_pass {
    struct result results[HOSTS];
    const struct result *of[HOSTS];
    uint32_t hosts[HOSTS];
    struct verdict verdicts[HOSTS];
};

static struct agree_case make_pass (struct slice *slice, struct told_pass *pass, enum outcome outcome)
{
    for (uint32_t i = 0; i < HOSTS; i++) {
        pass->of[i] = &pass->results[i];
        pass->hosts[i] = i;
        pass->verdicts[i] = (struct verdict){ .host = i, .outcome = outcome, .owner = OWNER_UNKNOWN };
    }
    return (struct agree_case){ &slice->plan, pass->of, pass->hosts, HOSTS, false };
}

TEST_ON (slice, the_facts_rung_ends_before_any_program_waits)
{
    static struct told_pass pass;
    struct agree_case of = make_pass (slice, &pass, OUTCOME_PASSED);
    tell (slice, "MEGASCALE_SLICE_ID", (const char *const[]){ "0", "0", "0", "1" });
    for (uint32_t i = 0; i < HOSTS; i++) {
        pass.results[i].facts.items = slice->facts[i];
        pass.results[i].facts.n = slice->hosts[i].facts_n;
    }
    agree_topology (&of, pass.verdicts, &slice->arena);
    assert_int_equal (pass.verdicts[0].outcome, OUTCOME_PASSED);
    assert_int_equal (pass.verdicts[3].outcome, OUTCOME_FAILED);
    assert_text (pass.verdicts[3].cause, "has MEGASCALE_SLICE_ID 1, the 3 others have 0");
}

/* A ladder without a rung of facts: the programs said what they saw before they hung. */
TEST_ON (slice, a_hang_is_explained_by_what_programs_saw)
{
    static struct told_pass pass;
    static struct var seen[HOSTS];
    bool culprits[HOSTS] = { false };
    struct agree_case of = make_pass (slice, &pass, OUTCOME_TIMED_OUT);
    tell (slice, "TPU_WORKER_ID", (const char *const[]){ "0", "1", "2", "2" });
    for (uint32_t i = 0; i < HOSTS; i++) {
        seen[i] = (struct var){ TEXT_LIT ("TPU_WORKER_ID"), slice->facts[i][1].value };
        pass.results[i].policy.items = &seen[i];
        pass.results[i].policy.n = 1;
        pass.verdicts[i].cause = TEXT_LIT ("it hung");
        pass.results[i].ending = ENDING_CANCELLED;
    }
    agree_variables (&of, pass.verdicts, culprits, &slice->arena);
    assert_true (culprits[3] && !culprits[2]);
    assert_text (pass.verdicts[2].cause, "it hung");
    assert_int_equal (pass.verdicts[3].outcome, OUTCOME_FAILED);
    assert_int_equal (pass.verdicts[3].owner, OWNER_LAUNCH);
    assert_text (pass.verdicts[3].cause, "has TPU_WORKER_ID 2, which is the place of v6e-2, expected 3, its "
                                         "place in the slice file; it hung");
    pass.results[3].ending = ENDING_TIMEOUT;
    culprits[3] = false;
    agree_variables (&of, pass.verdicts, culprits, &slice->arena);
    assert_false (culprits[3]);
    of.independent = true;
    pass.verdicts[3].cause = TEXT_LIT ("it hung");
    agree_variables (&of, pass.verdicts, culprits, &slice->arena);
    assert_text (pass.verdicts[3].cause, "it hung");
}
