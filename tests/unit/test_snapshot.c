/* links: monitor */
#include "common/base/rng.h"
#include "coordinator/monitor/monitors.h"
#include "test.h"

TEST (a_question_is_read_as_it_was_asked)
{
    const struct snapshot_position places[] = { { 1, 0 }, { 77, 4096 }, { INT64_MAX, UINT32_MAX } };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char question[QUESTION_MAX_BYTES + 1];
        struct snapshot_position got = { 0 };
        size_t len = snapshot_write_question (&places[i], question);
        assert_true (snapshot_parse_question ((struct text){ question, (uint32_t) len }, &got));
        assert_int_equal (got.index, places[i].index);
        assert_int_equal (got.offset, places[i].offset);
    }
}

TEST (what_is_no_question_for_facts_is_none)
{
    static const char *const odd[] = {
        "",
        "listen",
        "facts",
        "facts ",
        "facts 1",
        "facts 1 ",
        "facts  1 0",
        "facts 0 0",
        "facts 1 0 ",
        "facts 1 -1",
        "facts -1 0",
        "facts 1 4294967296",
        "facts 9223372036854775808 0",
        "facts 18446744073709551616 0",
        "facts 1 0 0",
        "Facts 1 0",
        "facts 1\n0",
        "facts 0x1 0",
    };
    struct snapshot_position position = { 5, 6 };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        if (snapshot_parse_question (text_of (odd[i]), &position))
            fail_msg ("'%s' was taken", odd[i]);
    assert_false (snapshot_parse_question ((struct text){ "facts 1\0 0", 10 }, &position));
    assert_int_equal (position.index, 5);
    assert_int_equal (position.offset, 6);
}

/* As the coordinator cuts and the monitor joins: the same bytes come out, whatever their sizes. */
TEST (facts_that_are_cut_into_frames_come_out_whole)
{
    enum { BYTES = 200000 };
    struct rng rng = rng_seed (3);
    char *bytes = malloc (BYTES);
    for (int i = 0; i < BYTES; i++)
        bytes[i] = (char) rng_next (&rng);
    struct buf frame, joined;
    buf_init (&frame, ANSWER_MAX_BYTES);
    buf_init (&joined, BYTES);
    struct snapshot_piece piece = { .index = 9, .size_bytes = BYTES, .bytes = { bytes, BYTES } };
    for (int frames = 0; piece.bytes.len > 0; frames++) {
        struct snapshot_piece got;
        uint32_t at = SNAPSHOT_HEAD_BYTES;
        assert_true (frames < 8);
        snapshot_begin_answer (&frame);
        uint32_t put = snapshot_put_piece (&frame, &piece);
        assert_true (put > 0 && frame.len <= ANSWER_MAX_BYTES && !frame.overflow);
        assert_true (snapshot_next_piece (buf_as_text (&frame), &at, &got));
        assert_int_equal (got.index, 9);
        assert_int_equal (got.size_bytes, BYTES);
        assert_int_equal (got.offset, joined.len);
        assert_int_equal (got.bytes.len, put);
        buf_add_text (&joined, got.bytes);
        assert_false (snapshot_next_piece (buf_as_text (&frame), &at, &got));
        piece.offset += put;
        piece.bytes = (struct text){ bytes + piece.offset, BYTES - piece.offset };
    }
    assert_int_equal (joined.len, BYTES);
    assert_memory_equal (joined.ptr, bytes, BYTES);
    buf_release (&joined);
    buf_release (&frame);
    free (bytes);
}

TEST (flags_are_told_apart_and_events_are_no_answers)
{
    struct buf frame;
    buf_init (&frame, ANSWER_MAX_BYTES);
    snapshot_begin_answer (&frame);
    assert_true (snapshot_is_answer (buf_as_text (&frame)));
    assert_false (snapshot_has_flag (buf_as_text (&frame), SNAPSHOT_LAST));
    snapshot_set_flag (&frame, SNAPSHOT_LAST);
    assert_true (snapshot_has_flag (buf_as_text (&frame), SNAPSHOT_LAST));
    assert_false (snapshot_has_flag (buf_as_text (&frame), SNAPSHOT_END));
    assert_false (snapshot_is_answer (text_of ("\x95\x01")));
    assert_false (snapshot_is_answer (text_of ("S")));
    assert_false (snapshot_is_answer (text_of ("")));
    buf_release (&frame);
}

/* Every prefix of a good frame, and frames with any byte changed: never a byte from beyond, which the sanitizer would
 * see. */
TEST (damaged_answers_are_never_read_beyond)
{
    struct rng rng = rng_seed (11);
    struct buf frame;
    buf_init (&frame, 256);
    snapshot_begin_answer (&frame);
    for (uint64_t i = 1; i <= 4; i++) {
        const struct snapshot_piece piece = { .index = i, .size_bytes = 10, .bytes = { "0123456789", 10 } };
        assert_int_equal (snapshot_put_piece (&frame, &piece), 10);
    }
    for (int round = 0; round < 20000; round++) {
        struct snapshot_piece piece;
        uint32_t at = SNAPSHOT_HEAD_BYTES, len = (uint32_t) rng_below (&rng, frame.len + 1), pieces = 0;
        char *copy = malloc (len + 1);
        memcpy (copy, frame.ptr, len);
        if (len > 0 && round % 2)
            copy[rng_below (&rng, len)] = (char) rng_next (&rng);
        char *exact = malloc (len ? len : 1);
        memcpy (exact, copy, len);
        while (snapshot_next_piece ((struct text){ exact, len }, &at, &piece)) {
            assert_true (at <= len && piece.bytes.ptr + piece.bytes.len <= exact + len);
            assert_true (piece.offset <= piece.size_bytes && piece.bytes.len <= piece.size_bytes - piece.offset);
            assert_true (++pieces <= 12);
        }
        free (exact);
        free (copy);
    }
    buf_release (&frame);
}
