/* links: simulated view */
#include "test.h"
#include "view_fixture.h"

#include "coordinator/story/board.h"

/* At a climb of the rung; NULL: there was none. */
static const struct board_attempt *board_last_attempt (const struct board *board, uint32_t host, uint32_t rung)
{
    const struct board_host *of = &board->hosts[host];
    for (uint32_t i = of->attempts.n; i > 0; i--)
        if (of->attempts.items[i - 1].key.rung == rung && of->attempts.items[i - 1].purpose != PURPOSE_ISOLATION)
            return &of->attempts.items[i - 1];
    return NULL;
}

static const struct board_attempt *attempt_at (const struct show *show, uint32_t host, uint32_t at)
{
    return &show->board->hosts[host].attempts.items[at];
}

static void ended_after (struct show *show, uint32_t host, const char *phase, uint64_t ms, const char *fact_value)
{
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED };
    struct named_number phases[] = { { text_of (phase), ms }, { TEXT_LIT ("gate:start"), 40 } };
    struct var told[] = { { TEXT_LIT ("kernel"), text_of (fact_value) }, { TEXT_LIT ("os"), TEXT_LIT ("linux") } };
    struct result *result = &fact.of.attempt_ended.result;
    fact.of.attempt_ended.host = host;
    *result = (struct result){ .key = show->board->key, .ending = ENDING_EXITED, .duration_ms = ms + 40 };
    result->phases.items = phases;
    result->facts.items = told;
    result->phases.n = result->facts.n = 2;
    show_fact (show, fact);
}

static void assert_word (const struct show *show, uint32_t word, const char *text)
{
    assert_text (board_word (show->board, word), text);
}

TEST_FIXTURE (struct show, TEST_NOTHING, show_release)

TEST_ON (show, an_attempt_keeps_its_phases_and_its_verdict)
{
    struct verdict verdict = { .host = 1, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER };
    show_gathered (show, 2);
    show->at_ms = 1000;
    show_began (show, FACTS, PASS_ONCE, 1, 2);
    show->at_ms = 1500;
    ended_after (show, 0, "run", 400, "6.1");
    const struct board_attempt *attempt = attempt_at (show, 0, 0);
    assert_true (attempt->ended && !attempt->judged);
    assert_int_equal (attempt->began_ms, 1000);
    assert_int_equal (attempt->ended_ms, 1500);
    assert_int_equal (attempt->duration_ms, 440);
    assert_int_equal (attempt->spans_n, 2);
    assert_word (show, attempt->spans[0].word, "run");
    assert_int_equal (attempt->spans[0].ms, 400);
    assert_word (show, attempt->spans[1].word, "gate:start");
    show->at_ms = 2000;
    show_pass_ended (show, OUTCOME_FAILED, 1000, &verdict, 1);
    assert_int_equal (attempt_at (show, 0, 0)->outcome, OUTCOME_PASSED);
    assert_int_equal (attempt_at (show, 1, 0)->outcome, OUTCOME_CASCADE);
    assert_true (attempt_at (show, 1, 0)->judged && attempt_at (show, 1, 0)->ended);
    assert_int_equal (attempt_at (show, 1, 0)->ended_ms, 2000);
    assert_ptr_equal (board_last_attempt (show->board, 1, FACTS), attempt_at (show, 1, 0));
    assert_null (board_last_attempt (show->board, 1, TINY));
}

TEST_ON (show, what_was_blocked_is_an_attempt_of_its_own)
{
    struct verdict verdict = { .host = 0, .outcome = OUTCOME_BLOCKED, .owner = OWNER_HOST };
    struct fact fact = { .kind = FACT_PASS_ENDED };
    show_gathered (show, 2);
    fact.of.pass_ended = (struct fact_pass_ended){ .key = { TINY, PASS_ONCE, 0 }, .outcome = OUTCOME_BLOCKED };
    fact.of.pass_ended.verdicts.items = &verdict;
    fact.of.pass_ended.verdicts.n = 1;
    show_fact (show, fact);
    assert_int_equal (show->board->hosts[0].attempts.n, 1);
    assert_int_equal (board_last_attempt (show->board, 0, TINY)->outcome, OUTCOME_BLOCKED);
    assert_int_equal (show->board->hosts[1].attempts.n, 0);
}

TEST_ON (show, facts_are_those_that_were_told_last)
{
    show_gathered (show, 2);
    for (uint32_t attempt = 1; attempt <= 2; attempt++) {
        show_began (show, FACTS, PASS_ONCE, attempt, 2);
        ended_after (show, 0, "run", 1, attempt == 1 ? "6.1" : "6.2");
        ended_after (show, 1, "run", 1, "6.2");
        show_pass_ended (show, OUTCOME_PASSED, 1, NULL, 0);
    }
    const struct board_host *host = show->board->hosts;
    assert_int_equal (host->facts.n, 2);
    assert_word (show, host->facts.items[0].name, "kernel");
    assert_word (show, host->facts.items[0].value, "6.2");
    assert_int_equal (host->facts.items[0].value, host[1].facts.items[0].value); /* equal texts are one word */
}

TEST_ON (show, the_oldest_attempts_make_room)
{
    show_gathered (show, 1);
    for (uint32_t i = 1; i <= BOARD_ATTEMPTS_MAX + 3; i++) {
        show_began (show, FACTS, PASS_ONCE, i, 1);
        ended_after (show, 0, "run", i, "6.1");
    }
    assert_int_equal (show->board->hosts[0].attempts.n, BOARD_ATTEMPTS_MAX);
    assert_int_equal (show->board->hosts[0].attempts_left_out, 3);
    assert_int_equal (attempt_at (show, 0, 0)->key.attempt, 4);
    assert_int_equal (attempt_at (show, 0, BOARD_ATTEMPTS_MAX - 1)->spans[0].ms, BOARD_ATTEMPTS_MAX + 3);
}

TEST_ON (show, only_what_is_shown_otherwise_has_changed)
{
    show_gathered (show, 2);
    show_began (show, TINY, PASS_COLD, 1, 2);
    assert_int_equal (show->board->rungs[TINY].changed, show->board->revision);
    assert_true (show->board->rungs[FACTS].changed < show->board->revision);
    show_phase (show, 0, "compile", 10);
    assert_int_equal (show->board->hosts[0].changed, show->board->revision);
    assert_true (show->board->hosts[1].changed < show->board->revision);
    uint64_t before = show->board->revision;
    show->at_ms += 1000;
    show_phase (show, 0, "compile", 1010);
    assert_int_equal (show->board->hosts[0].changed, before);
    show_at_gate (show, 0, "start");
    assert_int_equal (show->board->hosts[0].changed, show->board->revision);
    show_suspected (show, 1, 5000);
    assert_int_equal (show->board->hosts[1].changed, show->board->revision);
    show_failed (show, 0, TEXT_LIT ("no chip"));
    assert_int_equal (show->board->rungs[TINY].passes[PASS_COLD].groups.items[0].changed, show->board->revision);
}

static void compiled (struct show *show, uint32_t host, uint64_t requests, uint64_t hits, uint64_t ms)
{
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED };
    struct named_number told[] = { { TEXT_LIT ("compile_requests"), requests },
                                   { TEXT_LIT ("cache_hits"), hits },
                                   { TEXT_LIT ("compile_ms"), ms } };
    fact.of.attempt_ended.host = host;
    fact.of.attempt_ended.result = (struct result){ .key = show->board->key, .ending = ENDING_EXITED };
    fact.of.attempt_ended.result.counters.items = told;
    fact.of.attempt_ended.result.counters.n = 3;
    show_fact (show, fact);
}

TEST_ON (show, what_was_compiled_only_grows)
{
    const struct board_compiling *sum;
    show_gathered (show, 2);
    sum = &show->board->compiling;
    show_began (show, FACTS, PASS_ONCE, 1, 2);
    compiled (show, 0, 5, 0, 1000);
    compiled (show, 0, 5, 0, 1000); /* a result that comes twice is one */
    assert_int_equal (sum->compile_ms, 1000);
    assert_int_equal (sum->hits + sum->misses, 0); /* a pass without a cache */
    show_pass_ended (show, OUTCOME_PASSED, 1, NULL, 0);
    show_began (show, TINY, PASS_RESTORED, 1, 2);
    compiled (show, 0, 7, 4, 100);
    compiled (show, 1, 2, INT64_MAX, INT64_MAX);
    assert_int_equal (sum->misses, 3);
    assert_int_equal (sum->hits, INT64_MAX);
    assert_int_equal (sum->compile_ms, INT64_MAX);
}

static void granted (struct show *show, uint64_t token)
{
    struct fact fact = { .kind = FACT_WRITER_GRANTED };
    fact.of.writer_granted = (struct fact_writer_granted){ .token = token, .host = 1 };
    show_fact (show, fact);
}

TEST_ON (show, a_lease_is_held_until_its_writer_ends)
{
    struct fact lost = { .kind = FACT_LEASE_LOST };
    show_gathered (show, 2);
    granted (show, 4);
    show_began (show, TINY, PASS_COLD, 1, 2);
    ended_after (show, 0, "run", 1, "6.1");
    assert_int_equal (show->board->lease_token, 4);
    ended_after (show, 1, "run", 1, "6.1");
    assert_int_equal (show->board->lease_token, 0);
    granted (show, 5);
    show_fact (show, lost);
    assert_int_equal (show->board->lease_token, 0);
    assert_int_equal (show->board->leases_lost_n, 1);
}

/* As the receipt has it, which tests/unit/test_scene_whole.c holds beside whole runs. */
TEST_ON (show, whoever_is_left_behind_or_lost_has_that_as_an_attempt)
{
    struct fact left = { .kind = FACT_HOSTS_LEFT_BEHIND };
    struct verdict verdict = { .host = 2, .outcome = OUTCOME_LOST, .owner = OWNER_HOST };
    show_gathered (show, 3);
    show_lost (show, 2, TEXT_LIT ("silent"));
    left.of.hosts_left_behind.rung = FACTS;
    left.of.hosts_left_behind.verdicts.items = &verdict;
    left.of.hosts_left_behind.verdicts.n = 1;
    show_fact (show, left);
    const struct board_attempt *last = board_last_attempt (show->board, 2, FACTS);
    assert_non_null (last);
    assert_int_equal (last->outcome, OUTCOME_LOST);
    assert_int_equal (show->board->rungs[ALL].changed, show->board->revision);
    show_began (show, TINY, PASS_COLD, 1, 1);
    show_lost (show, 1, TEXT_LIT ("silent"));
    show_run_ended (show, OUTCOME_LOST, 1, TEXT_LIT ("over"));
    assert_null (board_last_attempt (show->board, 2, TINY)); /* told already */
    last = board_last_attempt (show->board, 1, TINY);
    assert_non_null (last);
    assert_int_equal (last->outcome, OUTCOME_LOST);
    assert_int_equal (last->owner, OWNER_HOST);
}

TEST_ON (show, whoever_comes_back_is_accounted_for_anew)
{
    struct verdict verdict = { .host = 1, .outcome = OUTCOME_LOST, .owner = OWNER_HOST };
    show_gathered (show, 2);
    show_began (show, FACTS, PASS_ONCE, 1, 2);
    show_lost (show, 1, TEXT_LIT ("silent"));
    show_pass_ended (show, OUTCOME_LOST, 9, &verdict, 1);
    show_joined (show, 1);
    show_began (show, TINY, PASS_COLD, 1, 1);
    show_lost (show, 1, TEXT_LIT ("silent again"));
    show_run_ended (show, OUTCOME_LOST, 1, TEXT_LIT ("over"));
    assert_non_null (board_last_attempt (show->board, 1, TINY));
}

TEST (words_are_bounded_and_found_again)
{
    struct board_words *words = board_words_create ();
    char text[BOARD_WORD_MAX_BYTES + 8];
    memset (text, 'x', sizeof (text));
    uint32_t lengthy = board_words_take (words, (struct text){ text, sizeof (text) });
    assert_int_equal (board_words_text (words, lengthy).len, BOARD_WORD_MAX_BYTES);
    for (uint32_t i = 0; i < 5000; i++) {
        snprintf (text, sizeof (text), "word %u", i);
        assert_int_equal (board_words_take (words, text_of (text)), lengthy + 1 + i);
    }
    for (uint32_t i = 0; i < 5000; i++) {
        snprintf (text, sizeof (text), "word %u", i);
        assert_int_equal (board_words_take (words, text_of (text)), lengthy + 1 + i);
    }
    assert_int_equal (board_words_take (words, (struct text){ 0 }), 0);
    assert_int_equal (board_words_text (words, 1 << 30).len, 0);
    board_words_destroy (words);
}
