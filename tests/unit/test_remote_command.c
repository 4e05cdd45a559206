/* links: model */
#include "common/model/remote_command.h"
#include "test.h"

static int take_all (struct text bytes, struct remote_command *command, struct err *err)
{
    static struct frame_reader reader;
    struct frame frame;
    int rc = 0, read;
    reader = (struct frame_reader){ 0 };
    while (rc == 0 && (read = frame_read (&reader, &bytes, &frame, err)) > 0)
        rc = remote_command_take (command, &frame, err);
    return rc;
}

TEST (words_are_kept_or_given_to_a_shell)
{
    static const char *const plain[] = { "ls", "-l", "a b" }, *const pipe[] = { "uptime | cut -c1-20" },
                             *const one[] = { "/bin/ls" };
    struct remote_command command = { 0 };
    assert_int_equal (remote_command_set_words (&command, plain, 3, NULL), 0);
    assert_int_equal (command.words_n, 3);
    assert_string_equal (command.words[2], "a b");
    command = (struct remote_command){ 0 };
    assert_int_equal (remote_command_set_words (&command, pipe, 1, NULL), 0);
    assert_int_equal (command.words_n, 3);
    assert_string_equal (command.words[0], "/bin/sh");
    assert_string_equal (command.words[1], "-c");
    assert_string_equal (command.words[2], pipe[0]);
    command = (struct remote_command){ 0 };
    assert_int_equal (remote_command_set_words (&command, one, 1, NULL), 0);
    assert_int_equal (command.words_n, 1);
}

TEST (too_much_is_refused)
{
    static char long_word[FRAME_MAX_BYTES + 2];
    static const char *many[REMOTE_WORDS_MAX + 1];
    static struct remote_command command;
    const char *const none[] = { "" }, *const words[] = { long_word };
    memset (long_word, 'x', sizeof long_word - 1);
    assert_int_equal (remote_command_set_words (&command, none, 1, &t->err), -1);
    assert_int_equal (remote_command_set_words (&command, words, 1, &t->err), -1);
    assert_has (t->err.text, "put it into a file");
    for (int i = 0; i <= REMOTE_WORDS_MAX; i++)
        many[i] = "x";
    assert_int_equal (remote_command_set_words (&command, many, REMOTE_WORDS_MAX + 1, &t->err), -1);
    assert_int_equal (t->err.code, ERR_USAGE);
}

TEST (a_command_comes_back)
{
    static struct remote_command sent = { .host = "v3", .rank = 3, .timeout_ms = 600000, .silence_ms = 30000 }, taken;
    struct buf *bytes = test_buf (t);
    const char *const words[] = { "echo", "", "a\nb" };
    taken = (struct remote_command){ 0 };
    assert_int_equal (remote_command_set_words (&sent, words, 3, NULL), 0);
    remote_command_put (&sent, bytes);
    assert_int_equal (take_all (buf_as_text (bytes), &taken, NULL), 0);
    assert_true (taken.begun);
    assert_int_equal (taken.words_n, 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal (taken.words[i], words[i]);
    assert_null (taken.words[3]);
    assert_string_equal (taken.host, "v3");
    assert_int_equal (taken.rank, 3);
    assert_int_equal (taken.timeout_ms, 600000);
    assert_int_equal (taken.silence_ms, 30000);
    arena_release (&taken.arena);
}

TEST (half_a_command_is_refused)
{
    static const char *const wrong[] = {
        "b 0\n",                                /* nothing */
        "w 2\nlsh 2\nv0b 0\n",                  /* no timeout */
        "w 2\nlst 1\n5b 0\n",                   /* no host */
        "h 2\nv0t 1\n5b 0\n",                   /* no word */
        "w 2\nlsh 2\nv0t 11\n99999999999b 0\n", /* too long a timeout */
        "w 2\nlsh 2\nv0t 1\n-b 0\n",
        "z 0\n",
        "k 0\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        static struct remote_command command;
        struct err err = { 0 };
        command = (struct remote_command){ 0 };
        if (take_all (text_of (wrong[i]), &command, &err) != -1 || command.begun)
            fail_msg ("%zu was taken", i);
        assert_int_equal (err.code, ERR_PARSE);
        arena_release (&command.arena);
    }
    struct remote_command command = { 0 };
    assert_int_equal (take_all ((struct text){ "w 3\na\0b", 7 }, &command, NULL), -1);
    arena_release (&command.arena);
}

TEST (an_end_comes_back)
{
    static struct frame_reader reader;
    const struct remote_end sent = { REMOTE_NOT_STARTED, 0, 2, 1, 4711, TEXT_LIT ("cannot start 'x y': no") };
    struct remote_end taken;
    struct frame frame;
    struct buf *bytes = test_buf (t);
    remote_end_put (&sent, bytes);
    struct text input = buf_as_text (bytes);
    assert_int_equal (frame_read (&reader, &input, &frame, NULL), 1);
    assert_int_equal (frame.letter, REMOTE_END);
    assert_int_equal (remote_end_take (frame.bytes, &taken, NULL), 0);
    assert_true (taken.how == sent.how && taken.number == 0 && taken.strays == 2 && taken.unkillable == 1 &&
                 taken.took_ms == 4711);
    assert_text (taken.why, sent.why);
}

TEST (a_broken_end_is_refused)
{
    static const char *const wrong[] = { "",
                                         "exited",
                                         "exited 0 0 0 0",
                                         "exited 256 0 0 0 ",
                                         "none 0 0 0 0 ",
                                         "gone 0 0 0 0 ",
                                         "exited -1 0 0 0 ",
                                         "exited 0 4294967296 0 0 ",
                                         "exited 0 0 0 x " };
    struct remote_end end;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (remote_end_take (text_of (wrong[i]), &end, NULL) != -1)
            fail_msg ("'%s' was taken", wrong[i]);
    assert_int_equal (remote_end_take (text_of ("signalled 9 0 0 1 "), &end, NULL), 0);
    assert_int_equal (end.number, 9);
}
