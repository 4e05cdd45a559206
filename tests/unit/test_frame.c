/* links: base */
#include "common/base/frame.h"
#include "test.h"

TEST (frames_come_back_in_pieces_of_any_size)
{
    static char largest[FRAME_MAX_BYTES];
    memset (largest, 'x', sizeof largest);
    const struct text bodies[] = {
        TEXT_LIT ("hello"), TEXT_LIT (""), TEXT_LIT ("o 5\nx\0y"), { largest, sizeof largest }
    };
    for (uint32_t piece = 1; piece < 40000; piece = piece * 3 + 1) {
        static struct frame_reader reader;
        struct buf all;
        uint32_t n = 0;
        reader = (struct frame_reader){ 0 };
        buf_init (&all, 1 << 20);
        for (uint32_t i = 0; i < 4; i++)
            frame_put (&all, (char) ('a' + i), bodies[i]);
        for (size_t at = 0; at < all.len; at += piece) {
            struct text input = { (char *) all.ptr + at, (uint32_t) (all.len - at < piece ? all.len - at : piece) };
            struct frame frame;
            int rc;
            while ((rc = frame_read (&reader, &input, &frame, NULL)) > 0) {
                assert_int_equal (frame.letter, 'a' + (int) n);
                assert_text (frame.bytes, bodies[n]);
                n++;
            }
            assert_int_equal (rc, 0);
        }
        assert_int_equal (n, 4);
        buf_release (&all);
    }
}

TEST (what_is_no_frame_is_refused)
{
    static const char *const wrong[] = { "\n",     "o\n",        "o \n",    "o 05\n", "O 5\n",  "o 5 \n", "o 16385\n",
                                         "o -1\n", "o 99999999", "hello\n", "o  5\n", " o 5\n", "o +5\n" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        static struct frame_reader reader;
        struct text input = text_of (wrong[i]);
        struct frame frame;
        struct err err = { 0 };
        reader = (struct frame_reader){ 0 };
        if (frame_read (&reader, &input, &frame, &err) != -1)
            fail_msg ("'%s' was taken", wrong[i]);
        assert_int_equal (err.code, ERR_PARSE);
    }
}

/* No bytes make a reader hold or hand out more than it has room for, however they are cut. */
TEST (no_bytes_pass_the_bounds)
{
    struct rng rng = rng_seed (7);
    for (int round = 0; round < 20000; round++) {
        static struct frame_reader reader;
        char bytes[64];
        struct frame frame;
        int rc = 1;
        reader = (struct frame_reader){ 0 };
        for (int cut = 0; cut < 3 && rc >= 0; cut++) {
            uint32_t len = (uint32_t) rng_below (&rng, sizeof bytes);
            for (uint32_t i = 0; i < len; i++)
                bytes[i] = "o x1209\n\0k"[rng_below (&rng, 10)];
            struct text input = { bytes, len };
            while ((rc = frame_read (&reader, &input, &frame, NULL)) > 0)
                assert_true (frame.bytes.len <= FRAME_MAX_BYTES);
            assert_true (rc < 0 || input.len == 0);
        }
        assert_true (reader.head_len <= FRAME_HEAD_MAX_BYTES && reader.len <= FRAME_MAX_BYTES);
    }
}
