/* links: attempt */
#include "test.h"
#include "worker/attempt/attempt_state.h"

struct found {
    struct arena arena;
    struct text lines[STACK_FRAMES_MAX];
    uint32_t n;
};

static struct found find (const char *printed)
{
    struct found found = { 0 };
    found.n = stack_frames_find (text_of (printed), text_of (printed), &found.arena, found.lines);
    return found;
}

static void is (const struct found *found, uint32_t at, const char *line)
{
    assert_true (at < found->n);
    if (!text_is (found->lines[at], line))
        fail_msg ("line %u: '%.*s', expected '%s'", at, TEXT_ARG (found->lines[at]), line);
}

TEST (a_dump_gives_the_main_thread_and_the_frames_of_the_user)
{
    struct found found = find ("step 12\n"
                               "Thread 0x00007fdf833fe6c0 (most recent call first):\n"
                               "  File \"/usr/lib/python3.11/threading.py\", line 982 in run\n"
                               "\n"
                               "Current thread 0x00007fdf85057b80 (most recent call first):\n"
                               "  File \"/usr/lib/python3.11/threading.py\", line 327 in wait\n"
                               "  File \"/env/lib/python3.11/site-packages/jax/_src/array.py\", line 9 in block\n"
                               "  File \"/home/me/train.py\", line 3 in step\n"
                               "  File \"/kit/sliceup_canary.py\", line 291 in run\n"
                               "  File \"/home/me/train.py\", line 8 in <module>\n"
                               "Traceback (most recent call last):\n"
                               "  File \"/home/me/other.py\", line 8, in <module>\n"
                               "KeyboardInterrupt\n");
    assert_int_equal (found.n, 3);
    is (&found, 0, "main thread: File \"/usr/lib/python3.11/threading.py\", line 327 in wait");
    is (&found, 1, "called from: File \"/home/me/train.py\", line 3 in step");
    is (&found, 2, "called from: File \"/home/me/train.py\", line 8 in <module>");
    arena_release (&found.arena);
}

TEST (an_interrupt_gives_the_same_the_other_way_round)
{
    struct found found = find ("Traceback (most recent call last):\n"
                               "  File \"/home/me/a.py\", line 1, in first\n"
                               "    x = 1 / 0\n"
                               "        ~~^~~\n"
                               "ZeroDivisionError: division by zero\n"
                               "[sliceup] the program is stopped: enough; its threads:\n"
                               "Traceback (most recent call last):\n"
                               "  File \"/home/me/train.py\", line 6, in <module>\n"
                               "    outer()\n"
                               "  File \"/home/me/train.py\", line 3, in inner\n"
                               "    time.sleep(900)\n"
                               "KeyboardInterrupt\n");
    assert_int_equal (found.n, 2);
    is (&found, 0, "main thread: File \"/home/me/train.py\", line 3, in inner");
    is (&found, 1, "called from: File \"/home/me/train.py\", line 6, in <module>");
    arena_release (&found.arena);
}

TEST (without_a_frame_of_the_user_all_are_shown)
{
    struct found found = find ("Current thread 0x1 (most recent call first):\n"
                               "  File \"<frozen importlib._bootstrap>\", line 1 in find\n"
                               "  File \"/env/lib/python3.11/site-packages/jax/a.py\", line 2 in b\n");
    assert_int_equal (found.n, 2);
    arena_release (&found.arena);
}

TEST (a_file_that_travelled_has_one_name_on_all_hosts)
{
    struct found found = find (
        "Current thread 0x1 (most recent call first):\n"
        "  File \"/var/tmp/sliceup/runs/39b2/h3/kits/"
        "d1244d0365bee8cb97d0e874f8d79d04b5ce340361859f34bfa63186dc0f652a/in/fault.py\", line 3 in f\n"
        "  File \"/home/me/kits/train.py\", line 9 in <module>\n");
    is (&found, 0, "main thread: File \"in/fault.py\", line 3 in f");
    is (&found, 1, "called from: File \"/home/me/kits/train.py\", line 9 in <module>");
    arena_release (&found.arena);
}

TEST (a_deep_stack_is_bounded_and_its_inner_end_stays)
{
    struct buf *printed = test_buf (t);
    buf_puts (printed, "Traceback (most recent call last):\n");
    for (int i = 0; i < 250; i++)
        buf_printf (printed, "  File \"/home/me/a.py\", line %d, in f\n    f()\n", i);
    buf_puts (printed, "KeyboardInterrupt\n");
    struct found found = find (buf_c (printed));
    assert_int_equal (found.n, STACK_FRAMES_MAX);
    is (&found, 0, "main thread: File \"/home/me/a.py\", line 249, in f");
    is (&found, 5, "called from: File \"/home/me/a.py\", line 244, in f");
    arena_release (&found.arena);
}

TEST (control_bytes_of_names_do_not_pass)
{
    struct found found = find ("Current thread 0x1 (most recent call first):\n"
                               "  File \"/home/\x1b[31m\x07.py\", line 1 in f\n");
    assert_int_equal (found.n, 1);
    for (uint32_t i = 0; i < found.lines[0].len; i++)
        assert_true (found.lines[0].ptr[i] >= ' ');
    arena_release (&found.arena);
}

TEST (what_is_no_stack_gives_nothing)
{
    static const char *const others[] = {
        "",
        "\n",
        "KeyboardInterrupt\n",
        "Traceback (most recent call last):\nKeyboardInterrupt\n",
        "Traceback (most recent call last):\n  File \"a\", line 1, in f\nValueError\nKeyboardInterrupt\n",
        "Current thread 0x1 (most recent call first):\n  <no Python frame>\n"
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct found found = find (others[i]);
        assert_int_equal (found.n, 0);
        arena_release (&found.arena);
    }
}
