/* alone: courier */
/* What the host says last is passed on, in whatever order sshd tells of it. */
#include "coordinator/courier/bootstrap_session.h"
#include "test.h"

/* A program that has ended; its words come after so many looks, then the end of its output. */
struct late {
    struct transport transport;
    uint32_t looks;
    bool said, held_open;
};

static size_t late_watch (struct transport *transport, bool to_send, struct pollfd entries[TRANSPORT_FDS_MAX])
{
    (void) transport, (void) to_send, (void) entries;
    return 0;
}

static ssize_t late_receive (struct transport *transport, enum transport_stream stream, void *bytes, size_t max)
{
    struct late *late = (struct late *) transport;
    if (stream == TRANSPORT_ERROR || late->looks > 0) {
        late->looks -= stream == TRANSPORT_OUTPUT;
        return 0;
    }
    if (late->said)
        return late->held_open ? 0 : -1;
    assert_true (max >= 5);
    memcpy (bytes, "words", 5);
    late->said = true;
    return 5;
}

static ssize_t late_say (struct transport *transport, const void *bytes, size_t len)
{
    (void) transport, (void) bytes;
    return (ssize_t) len;
}

static bool late_ended (struct transport *transport, struct buf *how)
{
    (void) transport;
    buf_puts (how, "exit status 0");
    return true;
}

static const struct transport_ops ops = {
    .watch = late_watch, .receive = late_receive, .say = late_say, .ended = late_ended
};

/* What came out of the courier. */
static struct text passed_on (struct late *late, struct arena *arena)
{
    int in[2], out[2], kept = dup (STDOUT_FILENO);
    char bytes[64];
    assert_int_equal (pipe2 (in, O_CLOEXEC), 0);
    assert_int_equal (pipe2 (out, O_CLOEXEC), 0);
    fflush (stdout);
    assert_int_equal (dup2 (out[1], STDOUT_FILENO), STDOUT_FILENO);
    struct courier_input input;
    input_init (&input, in[0]);
    late->transport.ops = &ops;
    command_pipe_run (&input, &late->transport);
    input_release (&input);
    dup2 (kept, STDOUT_FILENO);
    close (out[1]);
    ssize_t n = read (out[0], bytes, sizeof bytes);
    close (out[0]);
    close (in[0]);
    close (in[1]);
    close (kept);
    return text_copy (arena, (struct text){ bytes, n > 0 ? (uint32_t) n : 0 });
}

TEST (words_that_come_behind_the_exit_status_are_passed_on)
{
    struct late late = { .looks = 5 };
    assert_text (passed_on (&late, &t->arena), "words");
}

TEST (output_that_somebody_holds_open_is_not_waited_for_without_end)
{
    struct late late = { .held_open = true };
    assert_text (passed_on (&late, &t->arena), "words");
}
