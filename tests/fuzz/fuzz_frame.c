/* fuzz_frame.c - no bytes crash the reader of frames, or of a command and its end, or pass their bounds; what is accepted comes
 * back the same when it is written and read again. */
#include <assert.h>

#include "common/model/remote_command.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

static struct frame_reader reader;
static struct remote_command command, again;

static void check_end (struct text bytes)
{
    struct remote_end end, back;
    struct buf out;
    struct frame frame;
    if (remote_end_take (bytes, &end, NULL) < 0)
        return;
    static struct frame_reader second;
    second = (struct frame_reader){ 0 };
    buf_init (&out, 4096);
    remote_end_put (&end, &out);
    struct text input = buf_as_text (&out);
    assert (frame_read (&second, &input, &frame, NULL) == 1 && remote_end_take (frame.bytes, &back, NULL) == 0);
    assert (back.how == end.how && back.number == end.number && back.strays == end.strays &&
            back.took_ms == end.took_ms);
    buf_release (&out);
}

static void check_command (void)
{
    struct buf out;
    struct frame frame;
    static struct frame_reader second;
    buf_init (&out, 2 * REMOTE_WORDS_MAX_BYTES + FRAME_MAX_BYTES);
    remote_command_put (&command, &out);
    assert (!out.overflow);
    second = (struct frame_reader){ 0 };
    again = (struct remote_command){ 0 };
    for (struct text input = buf_as_text (&out); frame_read (&second, &input, &frame, NULL) > 0;)
        assert (remote_command_take (&again, &frame, NULL) == 0);
    assert (again.begun && again.words_n == command.words_n && again.timeout_ms == command.timeout_ms);
    arena_release (&again.arena);
    buf_release (&out);
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    struct text input = { (const char *) bytes, (uint32_t) (len < (1 << 20) ? len : 1 << 20) };
    struct frame frame;
    reader = (struct frame_reader){ 0 };
    command = (struct remote_command){ 0 };
    for (int rc = 0; rc == 0 && frame_read (&reader, &input, &frame, NULL) > 0;) {
        assert (frame.bytes.len <= FRAME_MAX_BYTES);
        check_end (frame.bytes);
        if (!command.begun)
            rc = remote_command_take (&command, &frame, NULL);
    }
    if (command.begun)
        check_command ();
    arena_release (&command.arena);
    return 0;
}
