/* links: model */
#include "common/model/outcome.h"
#include "test.h"

TEST (the_words_are_those_of_the_receipt)
{
    static const char *const outcomes[] = { "none", "passed", "not-reached", "cascade",  "blocked",
                                            "lost", "failed", "timed-out",   "cancelled" };
    static const char *const owners[] = { "none", "device",  "launch", "bundle",   "cache",   "compiler",
                                          "peer", "program", "host",   "platform", "sliceup", "unknown" };
    assert_int_equal (outcome_names.n, sizeof outcomes / sizeof outcomes[0]);
    assert_int_equal (owner_names.n, sizeof owners / sizeof owners[0]);
    for (uint32_t i = 0; i < outcome_names.n; i++)
        assert_string_equal (outcome_names.of[i], outcomes[i]);
    for (uint32_t i = 0; i < owner_names.n; i++)
        assert_string_equal (owner_names.of[i], owners[i]);
}

TEST (a_word_of_nothing_is_not_found)
{
    uint32_t owner = 0;
    assert_false (enum_value_of (&owner_names, (struct text){ 0 }, &owner));
    assert_false (enum_value_of (&owner_names, TEXT_LIT ("frontend"), &owner));
    assert_string_equal (enum_name_of (&owner_names, OWNER_N), "?");
}

TEST (a_second_owner_is_said_behind_the_first_and_leaves_neither_certain)
{
    char said[OWNERS_TEXT_BYTES];
    assert_string_equal (owners_print (OWNER_LAUNCH, OWNER_HOST, said), "how it was launched, else the host");
    assert_string_equal (owners_print (OWNER_PEER, OWNER_NONE, said), "another host");
    for (uint32_t i = 1; i < OWNER_N; i++)
        for (uint32_t k = 1; k < OWNER_N; k++)
            assert_true (strlen (owners_print ((enum owner) i, (enum owner) k, said)) < OWNERS_TEXT_BYTES - 1);
    assert_int_equal (certainty_of_owner (OWNER_LAUNCH, OWNER_HOST, false), CERTAINTY_LIKELY);
    assert_int_equal (certainty_of_owner (OWNER_LAUNCH, OWNER_NONE, false), CERTAINTY_KNOWN);
}

TEST (the_worst_is_the_one_that_matters_more)
{
    static const enum outcome rising[] = { OUTCOME_NONE,      OUTCOME_PASSED,    OUTCOME_NOT_REACHED,
                                           OUTCOME_CASCADE,   OUTCOME_CANCELLED, OUTCOME_BLOCKED,
                                           OUTCOME_TIMED_OUT, OUTCOME_LOST,      OUTCOME_FAILED };
    enum { N = sizeof rising / sizeof rising[0] };
    assert_int_equal (N, OUTCOME_N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            assert_int_equal (outcome_worst (rising[i], rising[j]), rising[i > j ? i : j]);
    for (int i = 1; i < N; i++)
        assert_int_equal (outcome_order[N - 1 - i], rising[i]);
}
