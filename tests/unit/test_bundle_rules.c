/* links: verdict */
#include "common/model/requirements.h"
#include "coordinator/verdict/judge.h"
#include "test.h"

static struct var jax_parts[] = { { TEXT_LIT ("jax"), TEXT_LIT ("0.4.32") }, { TEXT_LIT ("libtpu"), TEXT_LIT ("*") } };
static struct var good_parts[] = { { TEXT_LIT ("jax"), TEXT_LIT ("0.7.1") },
                                   { TEXT_LIT ("libtpu"), TEXT_LIT ("0.0.20.*") } };
static struct var alone_parts[] = { { TEXT_LIT ("torch-xla"), TEXT_LIT ("2.9.0") },
                                    { TEXT_LIT ("jax"), TEXT_LIT ("absent") } };
static struct text tpu_only[] = { TEXT_LIT ("tpu") };
static struct bundle_rule rules[] = {
    { .id = TEXT_LIT ("bad-jax"),
      .word = BUNDLE_BAD,
      .backends = { tpu_only, 1 },
      .parts = { jax_parts, 2 },
      .why = TEXT_LIT ("it corrupts data"),
      .source = TEXT_LIT ("the change log") },
    { .id = TEXT_LIT ("good-jax"),
      .word = BUNDLE_GOOD,
      .backends = { tpu_only, 1 },
      .parts = { good_parts, 2 },
      .source = TEXT_LIT ("its setup.py") },
    { .id = TEXT_LIT ("alone"), .word = BUNDLE_GOOD, .parts = { alone_parts, 2 }, .source = TEXT_LIT ("s") },
};
static struct plan plan = { .bundles = { rules, 3 }, .profile.backend = TEXT_LIT ("tpu") };

TEST (versions_are_ordered_as_their_packages_are)
{
    static const char *const rising[] = { "0.0.2",       "0.0.6.dev1", "0.0.6a1",
                                          "0.0.6b2",     "0.0.6rc1",   "0.0.6",
                                          "0.0.6.post1", "0.0.10",     "0.0.24.dev20250929+nightly",
                                          "0.0.24",      "1",          "2.15.0" };
    for (size_t i = 0; i < sizeof rising / sizeof rising[0]; i++)
        for (size_t k = 0; k < sizeof rising / sizeof rising[0]; k++) {
            int order = package_version_compare (text_of (rising[i]), text_of (rising[k]));
            if ((order < 0) != (i < k) || (order > 0) != (i > k))
                fail_msg ("%s and %s compare as %d", rising[i], rising[k], order);
        }
    assert_int_equal (package_version_compare (TEXT_LIT ("2.9"), TEXT_LIT ("2.9.0")), 0);
}

TEST (a_pattern_fits_what_it_says)
{
    static const struct {
        const char *pattern, *version;
        bool fits;
    } cases[] = {
        { "0.4.32", "0.4.32", true },
        { "0.4.32", "0.4.33", false },
        { "0.4.32", "0.4.3", false },
        { "2.8.0", "2.8", true },
        { "2.8.0", "2.8.0+cpu", true },
        { "2.8.0+cpu", "2.8.0", false },
        { "2.8.0+cpu", "2.8.0+cpu", true },
        { "0.0.20.*", "0.0.20", true },
        { "0.0.20.*", "0.0.20.1", true },
        { "0.0.20.*", "0.0.2", false },
        { "0.0.20.*", "0.0.201", false },
        { "<0.0.6", "0.0.5.9", true },
        { "<0.0.6", "0.0.6", false },
        { "<0.0.6", "0.0.6.1", false },
        { "<0.0.6", "0.0.10", false },
        { "<=0.0.6", "0.0.6", true },
        { ">0.0.6", "0.0.6", false },
        { ">=0.0.23", "0.0.23", true },
        { ">=0.0.23", "0.0.3", false },
        { "*", "0.1.dev20241010", true },
        { "*", "", false },
        { "absent", "", true },
        { "absent", "1.0", false },
        { "<0.0.6", "", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true (package_version_pattern_valid (text_of (cases[i].pattern)));
        if (package_version_fits (text_of (cases[i].version), text_of (cases[i].pattern)) != cases[i].fits)
            fail_msg ("%s and %s", cases[i].pattern, cases[i].version);
    }
}

TEST (what_is_no_pattern_is_refused)
{
    static const char *const bad[] = { "", "<", "latest", "0.0.*.1", "*.1", "1 2", "==1", "~=1.0", "<*", "1.*.*" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (package_version_pattern_valid (text_of (bad[i])))
            fail_msg ("%s is taken for a pattern", bad[i]);
}

static const char *match (var_list bundle, const char *backend, enum bundle_word word)
{
    const struct bundle_rule *rule = bundle_rules_find (&plan, &bundle, text_of (backend), word);
    return rule ? rule->id.ptr : "none";
}
#define VARS(...) ((struct var[]){ __VA_ARGS__ })
#define BUNDLE(...) ((var_list){ VARS (__VA_ARGS__), sizeof VARS (__VA_ARGS__) / sizeof (struct var) })
#define V(n, v)                                                                                                        \
    {                                                                                                                  \
        TEXT_LIT (n), TEXT_LIT (v)                                                                                     \
    }

TEST (a_rule_is_met_when_all_its_parts_are_there)
{
    assert_string_equal (match (BUNDLE (V ("jax", "0.4.32"), V ("libtpu", "0.0.2")), "tpu", BUNDLE_BAD), "bad-jax");
    assert_string_equal (match (BUNDLE (V ("jax", "0.4.32")), "tpu", BUNDLE_BAD), "none");
    assert_string_equal (match (BUNDLE (V ("jax", "0.4.32"), V ("libtpu", "0.0.2")), "cpu", BUNDLE_BAD), "none");
    assert_string_equal (match (BUNDLE (V ("jax", "0.4.32"), V ("libtpu", "0.0.2")), "tpu", BUNDLE_GOOD), "none");
    assert_string_equal (match (BUNDLE (V ("jax", "0.7.1"), V ("libtpu", "0.0.20.1")), "tpu", BUNDLE_GOOD), "good-jax");
    assert_string_equal (match (BUNDLE (V ("torch-xla", "2.9.0")), "cpu", BUNDLE_GOOD), "alone");
    assert_string_equal (match (BUNDLE (V ("torch-xla", "2.9.0"), V ("jax", "0.7.1")), "cpu", BUNDLE_GOOD), "none");
}

TEST (what_is_known_and_what_is_not_is_noted)
{
    struct result_note note;
    var_list good = BUNDLE (V ("jax", "0.7.1"), V ("libtpu", "0.0.20.1"), V ("numpy", "2.0"));
    var_list other = BUNDLE (V ("jax", "0.9.9"), V ("libtpu", "0.0.99"), V ("numpy", "2.0"));
    var_list bad = BUNDLE (V ("jax", "0.4.32"), V ("libtpu", "0.0.2"));
    var_list foreign = BUNDLE (V ("six", "1.17.0"));
    assert_true (bundle_rules_make_note (&plan, &good, &t->arena, &note));
    assert_string_equal (note.text.ptr, "jax 0.7.1 with libtpu 0.0.20.1 is known good (good-jax: its setup.py)");
    assert_true (bundle_rules_make_note (&plan, &other, &t->arena, &note));
    assert_string_equal (note.text.ptr, "not known: jax 0.9.9, libtpu 0.0.99 on tpu is in no list of versions that "
                                        "work or fail together (configs/bundles)");
    assert_false (bundle_rules_make_note (&plan, &bad, &t->arena, &note));
    assert_false (bundle_rules_make_note (&plan, &foreign, &t->arena, &note));
}

static struct verdict judge (struct rung *rung, var_list bundle, struct arena *arena)
{
    struct result result = { .ending = ENDING_EXITED, .done = true };
    struct judge_case of = { .plan = &plan, .rung = rung, .result = &result, .key.pass = PASS_ONCE, .world = 1 };
    struct verdict verdict;
    result.bundle.items = bundle.items;
    result.bundle.n = bundle.n;
    judge_result (&of, arena, &verdict);
    record_copy (&verdict_record, &verdict, &verdict, arena);
    return verdict;
}

TEST (an_environment_that_is_known_bad_fails_and_says_why)
{
    struct rung restore = { .id = TEXT_LIT ("e"), .kind = PROGRAM_BUILTIN, .builtin = TEXT_LIT ("restore") };
    struct rung facts = { .id = TEXT_LIT ("f"), .kind = PROGRAM_BUILTIN, .builtin = TEXT_LIT ("facts") };
    var_list bad = BUNDLE (V ("jax", "0.4.32"), V ("libtpu", "0.0.2"));
    struct verdict verdict = judge (&restore, bad, &t->arena);
    assert_int_equal (verdict.outcome, OUTCOME_FAILED);
    assert_int_equal (verdict.owner, OWNER_BUNDLE);
    assert_string_equal (verdict.cause.ptr,
                         "jax 0.4.32 with libtpu 0.0.2 is known bad: it corrupts data (the change log)");
    assert_int_equal (judge (&facts, bad, &t->arena).outcome, OUTCOME_PASSED);
    assert_int_equal (judge (&restore, BUNDLE (V ("jax", "0.9.9"), V ("libtpu", "0.0.2")), &t->arena).outcome,
                      OUTCOME_PASSED);
}
