/* links: coordinator_run */
#include "common/base/mem.h"
#include "coordinator/run/driver_private.h"
#include "test.h"

/* An effect for `host`, whose text is its number. */
static void hold (struct held_effect_queue *queue, uint64_t after_index, uint32_t host)
{
    char text[16];
    snprintf (text, sizeof text, "effect %u", host);
    struct held_effect *held = held_add (queue, after_index);
    held->host = host;
    held_copy_bytes (held, text_of (text));
    memset (text, 'x', sizeof text); /* what is held is held by a copy */
}

static void expect_next (struct held_effect_queue *queue, uint64_t durable_index, uint32_t host)
{
    char text[16];
    snprintf (text, sizeof text, "effect %u", host);
    const struct held_effect *held = held_ready (queue, durable_index);
    assert_non_null (held);
    assert_int_equal (held->host, host);
    assert_text (held->bytes, text);
    held_done (queue);
}

TEST_FIXTURE (struct held_effect_queue, TEST_NOTHING, held_release)

TEST_ON (queue, what_goes_in_first_comes_out_first)
{
    uint32_t in = 0, out = 0;
    assert_null (held_ready (queue, UINT64_MAX));
    for (uint32_t round = 0; round < 100; round++) { /* it grows while its first one is anywhere */
        for (uint32_t i = 0; i < 7; i++)
            hold (queue, 0, in++);
        for (uint32_t i = 0; i < 4; i++)
            expect_next (queue, 0, out++);
        assert_int_equal (queue->n, in - out);
    }
    while (out < in)
        expect_next (queue, 0, out++);
    assert_null (held_ready (queue, UINT64_MAX));
}

TEST_ON (queue, none_comes_before_its_facts_are_durable)
{
    hold (queue, 5, 0);
    hold (queue, 5, 1);
    hold (queue, 7, 2);
    assert_null (held_ready (queue, 0));
    assert_null (held_ready (queue, 4));
    expect_next (queue, 5, 0);
    expect_next (queue, 5, 1);
    assert_null (held_ready (queue, 6));
    expect_next (queue, 8, 2);
}

/* What waits for nothing still waits for what was decided before it. */
TEST_ON (queue, none_overtakes_another)
{
    hold (queue, 9, 0);
    hold (queue, 0, 1);
    assert_null (held_ready (queue, 8));
    expect_next (queue, 9, 0);
    expect_next (queue, 9, 1);
}

TEST_ON (queue, a_place_holds_nothing_of_the_one_before)
{
    const struct held_effect empty = { .after_index = 3 };
    for (uint32_t i = 0; i < 200; i++) { /* each place is used several times */
        struct held_effect *held = held_add (queue, 3);
        assert_memory_equal (held, &empty, sizeof empty);
        held->token = held->host = held->flag = 1;
        held->storage = text_copy (&held->arena, TEXT_LIT ("a text in its arena"));
        held_copy_bytes (held, TEXT_LIT ("bytes"));
        assert_ptr_equal (held_ready (queue, 3), held);
        held_done (queue);
    }
}

TEST (no_bytes_can_be_owned)
{
    struct held_effect_queue queue = { 0 };
    held_copy_bytes (held_add (&queue, 0), (struct text){ 0 });
    const struct held_effect *held = held_ready (&queue, 0);
    assert_int_equal (held->bytes.len, 0);
    assert_non_null (held->bytes.ptr);
    held_done (&queue);
    held_release (&queue);
}

/* The leak checker tells what is left behind. */
TEST (release_lets_go_of_all_that_still_waits)
{
    struct held_effect_queue queue = { 0 };
    for (uint32_t i = 0; i < 100; i++) {
        hold (&queue, i, i);
        struct held_effect *held = held_add (&queue, i);
        held->storage = text_copy (&held->arena, TEXT_LIT ("a text in its arena"));
        if (i % 10 == 0)
            held_done (&queue);
    }
    assert_true (queue.n > 100);
    held_release (&queue);
    assert_int_equal (queue.n, 0);
    assert_null (held_ready (&queue, UINT64_MAX));
}
