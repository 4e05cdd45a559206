/* links: coordinator_run */
#include "coordinator/run/driver_private.h"
#include "test.h"

enum { MANY = 16384, FILE_MS = 2000, AGAIN_MS = 500, STEP_MS = 100, LIMIT_MS = 3600 * 1000 };

/* A slice whose hosts all want one file, and take FILE_MS for it, wherever it comes from. */
struct bench {
    struct spread *spread;
    struct spread_file file;
    uint32_t hosts, sent, most_given;
    uint32_t giver[MANY], given[MANY];
    uint64_t done_ms[MANY], next_ms[MANY]; /* done_ms 0: it has no place */
    bool has[MANY], dies[MANY], lies[MANY], unreached, quick;
};

static void bench_open (struct bench *bench)
{
    bench->hosts = 1024;
}

static void bench_close (struct bench *bench)
{
    spread_file_clear (&bench->file);
    spread_destroy (bench->spread);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

static void host_wants (struct bench *b, uint32_t host, uint64_t now_ms)
{
    enum spread_word word = spread_want (b->spread, &b->file, host, now_ms, &b->giver[host]);
    b->next_ms[host] = now_ms + AGAIN_MS;
    if (word == SPREAD_WAIT)
        return;
    b->done_ms[host] = now_ms + (b->quick && word == SPREAD_SEND ? STEP_MS : FILE_MS);
    b->giver[host] = word == SPREAD_SEND ? SPREAD_COORDINATOR : b->giver[host];
    if (word == SPREAD_SEND) {
        b->sent++;
    } else {
        assert_true (b->has[b->giver[host]]);
        uint32_t given = ++b->given[b->giver[host]];
        b->most_given = given > b->most_given ? given : b->most_given;
    }
}

static void host_ends (struct bench *b, uint32_t host)
{
    uint32_t giver = b->giver[host];
    bool lied = giver != SPREAD_COORDINATOR && (b->unreached || b->lies[giver]);
    b->done_ms[host] = 0;
    if (giver != SPREAD_COORDINATOR)
        b->given[giver]--;
    if (lied) {
        assert_int_equal (spread_fail (b->spread, host, b->unreached ? SAY_FAILED : SAY_DAMAGED), giver);
        assert_int_equal (spread_fail (b->spread, host, b->unreached ? SAY_FAILED : SAY_DAMAGED), SPREAD_COORDINATOR);
        b->done_ms[host] = UINT64_MAX; /* the coordinator sends it at once */
        b->sent++;
    } else {
        b->has[host] = true;
        spread_have (b->spread, &b->file, host, true);
    }
}

/* Returns when all that do not die have it. */
static uint64_t all_get_it (struct bench *b)
{
    uint64_t now_ms = 1000, left = b->hosts;
    b->spread = spread_make (b->hosts);
    for (; left && now_ms < LIMIT_MS; now_ms += STEP_MS) {
        left = 0;
        for (uint32_t i = 0; i < b->hosts; i++) {
            bool over = b->has[i] || b->dies[i] || b->done_ms[i] == UINT64_MAX;
            if (b->dies[i] && !b->giver[i] && now_ms == 1000)
                host_wants (b, i, now_ms); /* holds a place, and is never heard again */
            left += !over;
            if (over)
                continue;
            if (b->done_ms[i])
                spread_go_on (b->spread, i, false, now_ms);
            if (b->done_ms[i] && b->done_ms[i] <= now_ms)
                host_ends (b, i);
            else if (!b->done_ms[i] && b->next_ms[i] <= now_ms)
                host_wants (b, i, now_ms);
        }
    }
    assert_int_equal (left, 0);
    return now_ms;
}

/* In each turn of FILE_MS each that has it gives it to four more: log5 of the hosts, and a little for who asks late. */
TEST_ON (b, what_the_coordinator_sends_grows_with_the_logarithm)
{
    all_get_it (b);
    assert_in_range (b->sent, 4, 4 * 8);
    assert_true (b->most_given <= SPREAD_AT_ONCE);
}

TEST_ON (b, also_to_the_largest_slice)
{
    b->hosts = MANY;
    uint64_t ms = all_get_it (b);
    assert_in_range (b->sent, 4, 4 * 8);
    assert_true (ms < 60 * 1000);
}

TEST_ON (b, a_coordinator_that_is_faster_than_all_hosts_does_not_send_to_all)
{
    b->quick = true;
    all_get_it (b);
    assert_in_range (b->sent, 4, 24);
}

TEST_ON (b, places_of_the_dead_are_given_away)
{
    for (uint32_t i = 0; i < 6; i++)
        b->dies[i] = true;
    assert_true (all_get_it (b) < 40 * 1000);
}

TEST_ON (b, who_lies_is_asked_no_more)
{
    for (uint32_t i = 0; i < b->hosts; i += 64)
        b->lies[i] = true;
    all_get_it (b);
    assert_in_range (b->sent, 16, 16 * SPREAD_AT_ONCE + 64);
}

TEST_ON (b, wrong_bytes_are_no_sign_that_hosts_do_not_reach_each_other)
{
    for (uint32_t i = 0; i < 3; i++)
        b->lies[i] = true;
    all_get_it (b);
    assert_true (b->sent < b->hosts / 4);
}

TEST_ON (b, where_hosts_do_not_reach_each_other_the_coordinator_sends_to_all_at_once)
{
    b->unreached = true;
    assert_true (all_get_it (b) < 20 * 1000);
    assert_true (b->sent >= b->hosts);
}

TEST_ON (b, the_same_answer_while_the_place_is_held)
{
    uint32_t giver = 0;
    b->spread = spread_make (b->hosts);
    spread_have (b->spread, &b->file, 7, true);
    for (int i = 0; i < 3; i++) {
        assert_int_equal (spread_want (b->spread, &b->file, 9, 1000, &giver), SPREAD_ASK);
        assert_int_equal (giver, 7);
    }
    for (uint32_t host = 10; host < 13; host++)
        assert_int_equal (spread_want (b->spread, &b->file, host, 1000, &giver), SPREAD_ASK);
    for (uint32_t host = 13; host < 17; host++)
        assert_int_equal (spread_want (b->spread, &b->file, host, 1000, &giver), SPREAD_SEND);
    assert_int_equal (spread_want (b->spread, &b->file, 17, 1000, &giver), SPREAD_WAIT);
    spread_have (b->spread, &b->file, 9, false); /* has it, and gives it to nobody */
    assert_int_equal (spread_want (b->spread, &b->file, 17, 1000, &giver), SPREAD_ASK);
    assert_int_equal (giver, 7);
}

TEST_ON (b, a_new_pass_knows_of_nobody)
{
    uint32_t giver = 0;
    b->spread = spread_make (b->hosts);
    spread_have (b->spread, &b->file, 7, true);
    assert_int_equal (spread_want (b->spread, &b->file, 9, 1000, &giver), SPREAD_ASK);
    spread_begin (b->spread);
    spread_file_clear (&b->file);
    assert_int_equal (spread_want (b->spread, &b->file, 9, 1000, &giver), SPREAD_SEND);
}

TEST_ON (b, a_new_pass_knows_who_gave_wrong_bytes)
{
    uint32_t giver = 0;
    b->spread = spread_make (b->hosts);
    for (int pass = 0; pass < 2; pass++) {
        spread_have (b->spread, &b->file, 7, true);
        assert_int_equal (spread_want (b->spread, &b->file, 9, 1000, &giver), pass ? SPREAD_SEND : SPREAD_ASK);
        if (!pass)
            assert_int_equal (spread_fail (b->spread, 9, SAY_DAMAGED), 7);
        spread_begin (b->spread);
        spread_file_clear (&b->file);
    }
}

TEST_ON (b, who_says_it_again_and_again_is_one_giver)
{
    uint32_t giver = 0;
    b->spread = spread_make (b->hosts);
    for (uint32_t i = 0; i < 3 * b->hosts; i++)
        spread_have (b->spread, &b->file, 7, true);
    spread_have (b->spread, &b->file, 8, true);
    assert_int_equal (b->file.n, 2);
    for (uint32_t host = 20; host < 28; host++)
        assert_int_equal (spread_want (b->spread, &b->file, host, 1000, &giver), SPREAD_ASK);
}

/* The coordinator alone, with as many as ask. */
static bool sends_to_all (struct bench *b)
{
    uint32_t sends = 0, giver;
    for (uint32_t host = 100; host < 200; host++)
        sends += spread_want (b->spread, &b->file, host, 1000, &giver) == SPREAD_SEND;
    return sends == 100;
}

TEST_ON (b, one_host_that_gives_nothing_does_not_end_it_for_all)
{
    uint32_t giver = 0;
    b->spread = spread_make (b->hosts);
    spread_have (b->spread, &b->file, 7, true);
    for (uint32_t host = 20; host < 24; host++)
        assert_int_equal (spread_want (b->spread, &b->file, host, 1000, &giver), SPREAD_ASK);
    for (uint32_t host = 20; host < 24; host++)
        assert_int_equal (spread_fail (b->spread, host, SAY_FAILED), 7);
    assert_false (sends_to_all (b)); /* four places, and the others wait, but for who was let down */
    assert_int_equal (spread_want (b->spread, &b->file, 90, 1000, &giver), SPREAD_WAIT);
    assert_int_equal (spread_want (b->spread, &b->file, 20, 1000, &giver), SPREAD_SEND);
}

TEST_ON (b, where_no_host_can_open_a_port_the_coordinator_sends_to_all)
{
    uint32_t giver = 0;
    b->spread = spread_make (b->hosts);
    spread_have (b->spread, &b->file, 7, true);
    assert_int_equal (spread_want (b->spread, &b->file, 9, 1000, &giver), SPREAD_ASK);
    spread_have (b->spread, &b->file, 9, true);
    spread_begin (b->spread); /* what worked in an earlier pass says nothing */
    spread_file_clear (&b->file);
    for (uint32_t host = 0; host < 3; host++)
        spread_have (b->spread, &b->file, host, false);
    assert_true (sends_to_all (b));
}

static void three_are_let_down (struct bench *b, enum fetch_word what)
{
    uint32_t giver = 0;
    b->spread = spread_make (b->hosts);
    for (uint32_t host = 0; host < 3; host++)
        spread_have (b->spread, &b->file, host, true);
    for (uint32_t host = 20; host < 23; host++)
        assert_int_equal (spread_want (b->spread, &b->file, host, 1000, &giver), SPREAD_ASK);
    for (uint32_t host = 20; host < 23; host++)
        assert_int_equal (spread_fail (b->spread, host, what), host - 20);
}

TEST_ON (b, three_that_give_nothing_end_it_and_three_that_are_slow_or_lie_do_not)
{
    static const enum fetch_word words[] = { SAY_FAILED, SAY_DAMAGED, SAY_SLOW };
    for (int i = 0; i < 3; i++) {
        three_are_let_down (b, words[i]);
        assert_int_equal (sends_to_all (b), words[i] == SAY_FAILED);
        spread_destroy (b->spread);
        spread_file_clear (&b->file);
        b->spread = NULL;
    }
}

TEST_ON (b, hosts_that_take_long_do_not_keep_the_coordinator_for_themselves)
{
    uint32_t giver = 0;
    b->spread = spread_make (b->hosts);
    for (uint32_t host = 0; host < 4; host++)
        assert_int_equal (spread_want (b->spread, &b->file, host, 1000, &giver), SPREAD_SEND);
    for (uint64_t now_ms = 1000; now_ms < 1000 + SPREAD_LONGEST_MS; now_ms += 1000) {
        for (uint32_t host = 0; host < 4; host++)
            spread_go_on (b->spread, host, false, now_ms);
        assert_int_equal (spread_want (b->spread, &b->file, 9, now_ms, &giver), SPREAD_WAIT);
    }
    for (uint32_t host = 0; host < 4; host++) /* the four ask again first, and are served without a place */
        assert_int_equal (spread_want (b->spread, &b->file, host, 1000 + SPREAD_LONGEST_MS, &giver), SPREAD_SEND);
    for (uint32_t host = 9; host < 13; host++)
        assert_int_equal (spread_want (b->spread, &b->file, host, 1000 + SPREAD_LONGEST_MS, &giver), SPREAD_SEND);
    assert_int_equal (spread_want (b->spread, &b->file, 13, 1000 + SPREAD_LONGEST_MS, &giver), SPREAD_WAIT);
}

/* Three are let down while others get their bytes: a file that takes minutes has not come to anybody yet. */
TEST_ON (b, some_hosts_that_are_not_reached_do_not_end_it_where_others_get_bytes)
{
    for (int gets = 0; gets < 2; gets++) {
        uint32_t giver = 0;
        spread_destroy (b->spread);
        spread_file_clear (&b->file);
        b->spread = spread_make (b->hosts);
        for (uint32_t host = 0; host < 4; host++)
            spread_have (b->spread, &b->file, host, true);
        for (uint32_t host = 20; host < 24; host++)
            assert_int_equal (spread_want (b->spread, &b->file, host, 1000, &giver), SPREAD_ASK);
        spread_go_on (b->spread, 23, gets, 2000);
        for (uint32_t host = 20; host < 23; host++)
            assert_int_equal (spread_fail (b->spread, host, SAY_FAILED), host - 20);
        assert_int_equal (sends_to_all (b), !gets);
    }
}

TEST_ON (b, one_host_that_opens_no_port_counts_once_however_many_files_it_has)
{
    b->spread = spread_make (b->hosts);
    for (uint32_t i = 0; i < 9; i++)
        spread_have (b->spread, &b->file, 7, false);
    assert_false (sends_to_all (b));
}

TEST_ON (b, a_giver_that_is_too_slow_for_two_is_asked_no_more_and_others_are)
{
    uint32_t giver = 0;
    b->spread = spread_make (b->hosts);
    spread_have (b->spread, &b->file, 7, true);
    spread_have (b->spread, &b->file, 8, true);
    for (uint32_t host = 20, failed = 0; failed < 2; host++) {
        assert_int_equal (spread_want (b->spread, &b->file, host, 1000, &giver), SPREAD_ASK);
        if (giver == 7)
            assert_int_equal (spread_fail (b->spread, host, SAY_SLOW), 7);
        failed += giver == 7;
    }
    for (uint32_t host = 40; host < 42; host++) {
        assert_int_equal (spread_want (b->spread, &b->file, host, 1000, &giver), SPREAD_ASK);
        assert_int_equal (giver, 8);
    }
}
