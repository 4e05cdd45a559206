/* links: verdict */
#include "cases.h"
#include "coordinator/verdict/agree.h"
#include "coordinator/verdict/judge.h"
#include "record_path.h"

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

static void variable_case (struct test *t, const struct test_case *of, struct buf *got)
{
    struct slice *slice = arena_alloc (&t->arena, sizeof *slice);
    const char *values[HOSTS] = { NULL };
    uint32_t n = 0, at;
    slice_open (slice);
    for (struct text rest = case_text (of, "values"); n < HOSTS && rest.ptr; n++) {
        bool more = text_find (rest, TEXT_LIT (" | "), &at);
        struct text value = { rest.ptr, more ? at : rest.len };
        values[n] = text_is (value, "(none)") ? NULL : text_is (value, "\"\"") ? "" : text_copy (&t->arena, value).ptr;
        rest = more ? (struct text){ rest.ptr + at + 3, rest.len - at - 3 } : (struct text){ 0 };
    }
    slice->plan.hosts.n = n;
    for (struct text lines = case_text (of, "plan"); lines.len > 0;) {
        struct text line = case_next_line (&lines);
        assert_true (text_find (line, TEXT_LIT (" = "), &at));
        record_path_set (&plan_record, &slice->plan, (struct text){ line.ptr, at },
                         (struct text){ line.ptr + at + 3, line.len - at - 3 }, &t->arena);
    }
    tell (slice, text_copy (&t->arena, case_text (of, "variable")).ptr, values);
    for (const char *c = found (slice); *c; c++)
        buf_byte (got, *c == '|' ? '\n' : (uint8_t) *c);
    arena_release (&slice->arena);
}

TEST (each_rule_names_variable_value_and_the_others)
{
    cases_run ("slice_variables", variable_case);
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

TEST_ON (slice, what_the_profile_makes_of_a_number_is_compared)
{
    struct var set = { TEXT_LIT ("OMPI_COMM_WORLD_RANK"), TEXT_LIT ("0") };
    slice->plan.hosts.n = 2;
    tell (slice, "OMPI_COMM_WORLD_RANK", (const char *const[]){ "0", "1" });
    assert_string_equal (found (slice), "");
    slice->plan.profile.slice_env.set.items = &set;
    slice->plan.profile.slice_env.set.n = 1;
    assert_true (strstr (found (slice), "0: has OMPI_COMM_WORLD_RANK 0, and so have v6e-[0-1] all"));
    set.value = TEXT_LIT ("{rank}");
    assert_string_equal (found (slice), "");
}

static size_t bytes_a_host (uint32_t hosts)
{
    static struct slice slice;
    slice_open (&slice);
    struct topology_host *told = arena_array (&slice.arena, hosts, sizeof *told);
    struct topology_findings found = { arena_array (&slice.arena, hosts, sizeof *found.items), 0 };
    struct var rank = { TEXT_LIT ("env.RANK"), TEXT_LIT ("0") };
    slice.plan.hosts.items = arena_array (&slice.arena, hosts, sizeof *slice.plan.hosts.items);
    slice.plan.hosts.n = hosts;
    slice.inherit[0] = TEXT_LIT ("RANK");
    slice.plan.profile.inherit.n = 1;
    for (uint32_t i = 0; i < hosts; i++) {
        slice.plan.hosts.items[i].name = text_format (&slice.arena, "v6e-%u", i);
        told[i] = (struct topology_host){ &rank, 1 };
    }
    size_t before = slice.arena.used_bytes;
    slice_variables_judge_hosts (&slice.plan, told, "env.", &slice.arena, &found);
    size_t bytes = (slice.arena.used_bytes - before) / hosts;
    assert_int_equal (found.n, hosts);
    assert_has (text_copy (&slice.arena, found.items[hosts - 1].what).ptr, "has RANK 0, and so have v6e-[0-");
    arena_release (&slice.arena);
    return bytes;
}

/* A list of all hosts for each of them would be a gigabyte for the largest slice. */
TEST (a_host_takes_no_more_in_a_large_slice)
{
    assert_in_range (bytes_a_host (4096), 1, 2 * bytes_a_host (256));
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
