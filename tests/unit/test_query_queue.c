/* links: monitor */
/* Whose question is answered next: turns of keys, not of questions. */
#include "coordinator/monitor/monitors.h"
#include "test.h"

enum { LATELY_MS = 10000 };

static struct hub_monitor who (uint32_t key, uint32_t connection)
{
    struct hub_monitor query = { .key = key };
    memcpy (query.id + 1, &connection, sizeof (connection));
    return query;
}

static void ask (struct query_queue *query_queue, uint32_t key, uint32_t connection, uint64_t index, uint64_t now_ms)
{
    struct hub_monitor from = who (key, connection);
    query_queue_add (query_queue, &from, &(struct snapshot_position){ .index = index }, now_ms);
}

/* The key that is served next, at once and wholly; 0: nobody. */
static uint32_t serve (struct query_queue *query_queue, uint64_t *index)
{
    struct hub_monitor from;
    struct snapshot_position position;
    if (!query_queue_next (query_queue, &from, &position))
        return 0;
    query_queue_done (query_queue, &from, true);
    *index = position.index;
    return from.key;
}

TEST_FIXTURE (struct query_queue, TEST_NOTHING, TEST_NOTHING)

TEST_ON (query_queue, one_question_waits_for_each_connection_and_the_latest_counts)
{
    uint64_t index = 0;
    for (uint64_t i = 1; i <= 1000; i++)
        ask (query_queue, 1, 7, i, i);
    assert_int_equal (serve (query_queue, &index), 1);
    assert_int_equal (index, 1000);
    assert_int_equal (serve (query_queue, &index), 0);
}

TEST_ON (query_queue, whoever_asks_most_gets_no_more_turns)
{
    uint32_t turns[4] = { 0 };
    uint64_t index = 0;
    for (uint32_t round = 0; round < 300; round++) {
        for (uint32_t connection = 0; connection < QUERY_QUEUE_A_KEY; connection++)
            ask (query_queue, 1, connection, 1, round);
        ask (query_queue, 2, 100, 1, round);
        ask (query_queue, 3, 200, 1, round);
        turns[serve (query_queue, &index)]++;
    }
    for (uint32_t key = 1; key <= 3; key++)
        assert_int_equal (turns[key], 100);
}

TEST_ON (query_queue, connections_of_one_key_take_turns_as_well)
{
    uint32_t turns[QUERY_QUEUE_A_KEY] = { 0 };
    for (uint32_t round = 0; round < 10 * QUERY_QUEUE_A_KEY; round++) {
        struct hub_monitor from;
        struct snapshot_position position;
        for (uint32_t connection = 0; connection < QUERY_QUEUE_A_KEY; connection++)
            ask (query_queue, 1, connection, connection + 1, round);
        assert_true (query_queue_next (query_queue, &from, &position));
        turns[position.index - 1]++;
        query_queue_done (query_queue, &from, false);
    }
    for (uint32_t connection = 0; connection < QUERY_QUEUE_A_KEY; connection++)
        assert_int_equal (turns[connection], 10);
}

/* The next one is not begun before the last one is made, whoever asks. */
TEST_ON (query_queue, a_connection_is_served_once_at_a_time)
{
    struct hub_monitor first, second;
    struct snapshot_position position;
    ask (query_queue, 1, 1, 5, 0);
    assert_true (query_queue_next (query_queue, &first, &position));
    ask (query_queue, 1, 1, 6, 1);
    assert_false (query_queue_next (query_queue, &second, &position));
    query_queue_done (query_queue, &first, false);
    assert_true (query_queue_next (query_queue, &second, &position));
    assert_int_equal (position.index, 6);
}

/* It connects anew for each question: that is no new turn, and drives out only its own. */
TEST_ON (query_queue, new_connections_of_a_key_gain_it_nothing)
{
    uint32_t turns[3] = { 0 };
    uint64_t index = 0;
    for (uint32_t round = 0; round < 1000; round++) {
        ask (query_queue, 1, round, 1, round);
        if (round % 10 == 0)
            ask (query_queue, 2, 1, 1, round);
        if (round % 5 == 0)
            turns[serve (query_queue, &index)]++;
    }
    assert_int_equal (turns[2], 100);
    assert_true (query_queue->n <= QUERY_QUEUE_A_KEY + 1);
}

TEST_ON (query_queue, every_key_has_its_place)
{
    uint64_t index = 0;
    for (uint32_t key = 1; key <= MONITOR_KEYS; key++)
        for (uint32_t connection = 0; connection < 2 * QUERY_QUEUE_A_KEY; connection++)
            ask (query_queue, key, connection, 1, key);
    assert_int_equal (query_queue->n, QUERY_QUEUE_MAX);
    bool served[MONITOR_KEYS + 1] = { false };
    for (uint32_t i = 0; i < MONITOR_KEYS; i++)
        served[serve (query_queue, &index)] = true;
    for (uint32_t key = 1; key <= MONITOR_KEYS; key++)
        assert_true (served[key]);
    ask (query_queue, MONITOR_KEYS + 1, 1, 1, 100000); /* keys of an earlier coordinator are out of use */
    assert_int_equal (query_queue->n, QUERY_QUEUE_MAX);
    assert_int_equal (serve (query_queue, &index), MONITOR_KEYS + 1);
}

static uint32_t pending (const struct query_queue *query_queue, uint64_t now_ms)
{
    struct hub_monitor from;
    uint32_t at = 0, n = 0;
    while (query_queue_next_pending (query_queue, now_ms, LATELY_MS, &at, &from))
        n++;
    return n;
}

TEST_ON (query_queue, after_the_end_those_who_asked_lately_are_to_be_told)
{
    uint64_t index = 0;
    ask (query_queue, 1, 1, 1, 1000);
    ask (query_queue, 2, 1, 1, 9000);
    ask (query_queue, 3, 1, 1, 9000);
    while (serve (query_queue, &index))
        ; /* they know all there was by then */
    query_queue_note_run_ended (query_queue);
    assert_int_equal (pending (query_queue, 9500), 3);
    assert_int_equal (pending (query_queue, 12000), 2); /* the first has not asked for long */
    struct hub_monitor gone = who (3, 1);
    query_queue_note_gone (query_queue, &gone);
    assert_int_equal (pending (query_queue, 12000), 1);
    ask (query_queue, 2, 1, 5, 12000);
    assert_int_equal (pending (query_queue, 12000), 1);
    assert_int_equal (serve (query_queue, &index), 2);
    assert_int_equal (pending (query_queue, 12000), 0);
    ask (query_queue, 3, 1, 5, 12000); /* it is there after all */
    assert_int_equal (pending (query_queue, 12000), 1);
}
