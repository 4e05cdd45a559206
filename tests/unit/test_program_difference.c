/* links: verdict */
#include "coordinator/verdict/agree.h"
#include "test.h"

static struct arena arena;

static void vars (var_list *list, struct var *items, uint32_t n)
{
    list->items = items;
    list->n = n;
}

static void expect (const struct result *mine, const struct result *theirs, const char *wanted)
{
    struct text said = program_difference_text (mine, theirs, false, &arena);
    if (!text_is (said, wanted))
        fail_msg ("said '%.*s', expected '%s'", TEXT_ARG (said), wanted);
}

TEST (flags_are_sets_of_words)
{
    struct var a = { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--xla_b --xla_a --xla_b") };
    struct var b = { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--xla_a   --xla_b") };
    struct var c = { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--xla_a --xla_c=1") };
    struct result mine = { 0 }, theirs = { 0 };
    vars ((var_list *) &mine.policy, &a, 1);
    vars ((var_list *) &theirs.policy, &b, 1);
    expect (&mine, &theirs, "");
    vars ((var_list *) &theirs.policy, &c, 1);
    expect (
        &mine, &theirs,
        "XLA_FLAGS has --xla_b, the other hosts do not have it; XLA_FLAGS lacks --xla_c=1, the other hosts have it");
}

TEST (a_variable_may_be_on_one_side_only)
{
    struct var a = { TEXT_LIT ("JAX_PLATFORMS"), TEXT_LIT ("cpu") }, b = { TEXT_LIT ("TPU_WORKER_ID"), TEXT_LIT ("3") };
    struct result mine = { 0 }, theirs = { 0 };
    vars ((var_list *) &mine.policy, &a, 1);
    vars ((var_list *) &theirs.policy, &b, 1);
    expect (&mine, &theirs, "JAX_PLATFORMS has cpu, the other hosts do not have it");
    expect (&theirs, &mine, "JAX_PLATFORMS lacks cpu, the other hosts have it");
}

TEST (packages_and_programs_are_named)
{
    struct var a[] = { { TEXT_LIT ("jax"), TEXT_LIT ("0.10.2") }, { TEXT_LIT ("jaxlib"), TEXT_LIT ("0.10.1") } };
    struct var b[] = { { TEXT_LIT ("jax"), TEXT_LIT ("0.10.2") }, { TEXT_LIT ("jaxlib"), TEXT_LIT ("0.10.2") } };
    struct program_fingerprint p = { TEXT_LIT ("tiny"), TEXT_LIT ("0123456789abcdef") },
                               q = { TEXT_LIT ("tiny"), TEXT_LIT ("ffff456789abcdef") };
    struct result mine = { 0 }, theirs = { 0 };
    vars ((var_list *) &mine.bundle, a, 2);
    vars ((var_list *) &theirs.bundle, b, 2);
    mine.programs.items = &p;
    theirs.programs.items = &q;
    mine.programs.n = theirs.programs.n = 1;
    expect (&mine, &theirs,
            "jaxlib is 0.10.1, on the other hosts 0.10.2; program tiny has digest 0123456789ab, on the other hosts "
            "ffff456789ab");
    q.name = TEXT_LIT ("small"); /* another program has another digest */
    expect (&mine, &theirs, "jaxlib is 0.10.1, on the other hosts 0.10.2");
    q.name = p.name;
    theirs.bundle.n = 1;
    q.fingerprint = p.fingerprint;
    expect (&mine, &theirs, "jaxlib 0.10.1 is on this host only");
    expect (&theirs, &mine, "jaxlib is missing on this host");
}

/* A program of its own, or nothing to compare: then the flags alone are not the reason. */
TEST (flags_alone_differ_where_the_program_is_the_same)
{
    struct var a = { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--a --b") },
               b = { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--b --a") };
    struct program_fingerprint p = { TEXT_LIT ("tiny"), TEXT_LIT ("01") }, q = p;
    struct result mine = { 0 }, theirs = { 0 };
    vars ((var_list *) &mine.policy, &a, 1);
    vars ((var_list *) &theirs.policy, &b, 1);
    mine.programs.items = &p;
    theirs.programs.items = &q;
    mine.programs.n = theirs.programs.n = 1;
    assert_false (program_differs_by_flags (&mine, &theirs, &arena));
    b.value = TEXT_LIT ("--b");
    assert_true (program_differs_by_flags (&mine, &theirs, &arena));
    b = (struct var){ TEXT_LIT ("JAX_PLATFORMS"), TEXT_LIT ("cpu") };
    assert_true (program_differs_by_flags (&theirs, &mine, &arena));
    q.fingerprint = TEXT_LIT ("02");
    assert_false (program_differs_by_flags (&mine, &theirs, &arena));
    q = p;
    theirs.programs.n = 0;
    assert_false (program_differs_by_flags (&mine, &theirs, &arena));
    mine.programs.n = 0;
    assert_false (program_differs_by_flags (&mine, &theirs, &arena));
    mine.programs.n = theirs.programs.n = 1;
    theirs.policy.n = 0;
    assert_false (program_differs_by_flags (&mine, &theirs, &arena));
}

TEST (of_two_hosts_there_is_one_other)
{
    struct var a = { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--a") }, b = { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--b") };
    struct result mine = { 0 }, theirs = { 0 };
    vars ((var_list *) &mine.policy, &a, 1);
    vars ((var_list *) &theirs.policy, &b, 1);
    struct text said = program_difference_text (&mine, &theirs, true, &arena);
    assert_text (said, "XLA_FLAGS has --a, the other host does not have it; XLA_FLAGS lacks --b, the other host "
                       "has it");
}

/* Who died before it said what it has is not said to lack everything. */
TEST (silence_is_no_difference)
{
    struct var a = { TEXT_LIT ("jax"), TEXT_LIT ("0.10.2") };
    struct result mine = { 0 }, theirs = { 0 };
    vars ((var_list *) &mine.bundle, &a, 1);
    vars ((var_list *) &mine.policy, &a, 1);
    expect (&mine, &theirs, "");
    expect (&theirs, &mine, "");
}

TEST (many_differences_are_counted)
{
    struct var a = { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("a b c d e f") }, b = { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("") };
    struct result mine = { 0 }, theirs = { 0 };
    vars ((var_list *) &mine.policy, &a, 1);
    vars ((var_list *) &theirs.policy, &b, 1);
    struct text said = program_difference_text (&mine, &theirs, false, &arena);
    assert_has (said, "has d, the other hosts do not have it; and 2 more");
}

static int arena_is_released (void **state)
{
    (void) state;
    arena_release (&arena);
    return 0;
}

TEST_GROUP (NULL, arena_is_released)

TEST (of_many_differences_some_are_told_and_the_others_counted)
{
    struct var a[DIFFERENCE_SHOWN + 2], b[DIFFERENCE_SHOWN + 2], c = { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--a --b") },
                                                                 d = { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("") };
    struct program_fingerprint p = { TEXT_LIT ("tiny"), TEXT_LIT ("01") }, q = { TEXT_LIT ("tiny"), TEXT_LIT ("02") };
    struct result mine = { .programs = { &p, 1 } }, theirs = { .programs = { &q, 1 } };
    for (uint32_t i = 0; i < DIFFERENCE_SHOWN + 2; i++) {
        a[i] = (struct var){ text_format (&arena, "p%u", i), TEXT_LIT ("1") };
        b[i] = (struct var){ a[i].name, TEXT_LIT ("2") };
    }
    a[0].name = b[0].name = TEXT_LIT (RESULT_PACKAGES "list"); /* how many there are, and no package */
    vars ((var_list *) &mine.bundle, a, DIFFERENCE_SHOWN + 2);
    vars ((var_list *) &theirs.bundle, b, DIFFERENCE_SHOWN + 2);
    assert_has (program_difference_text (&mine, &theirs, false, &arena), "; and 2 more");
    mine.policy.items = &c;
    theirs.policy.items = &d;
    mine.policy.n = theirs.policy.n = 1;
    struct text said = program_difference_text (&mine, &theirs, false, &arena);
    assert_has (said, "; and 4 more");
    assert_false (text_find (said, TEXT_LIT ("tiny"), NULL) || text_find (said, TEXT_LIT (RESULT_PACKAGES), NULL));
}
