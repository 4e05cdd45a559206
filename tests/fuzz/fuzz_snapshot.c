/* fuzz_snapshot.c - no question and no answer of a monitor, and no key file, crashes those who read it; pieces of an answer lie
 * within it, and what is written is read the same. */
#include <assert.h>

#include "coordinator/monitor/key_file.h"
#include "coordinator/monitor/monitors.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

static void read_question (struct text input)
{
    char out[QUESTION_MAX_BYTES + 1];
    struct snapshot_position position, back;
    if (input.len > QUESTION_MAX_BYTES || !snapshot_parse_question (input, &position))
        return;
    struct text again = { out, (uint32_t) snapshot_write_question (&position, out) };
    assert (snapshot_parse_question (again, &back) && back.index == position.index && back.offset == position.offset);
}

static void read_answer (struct text frame)
{
    struct snapshot_piece piece;
    if (!snapshot_is_answer (frame))
        return;
    (void) snapshot_has_flag (frame, SNAPSHOT_LAST);
    for (uint32_t at = SNAPSHOT_HEAD_BYTES, before = 0; snapshot_next_piece (frame, &at, &piece); before = at) {
        assert (at > before && at <= frame.len);
        assert (piece.bytes.ptr >= frame.ptr && piece.bytes.ptr + piece.bytes.len <= frame.ptr + frame.len);
        assert (piece.offset <= piece.size_bytes && piece.bytes.len <= piece.size_bytes - piece.offset);
    }
}

static void read_certificate (struct text input)
{
    struct link_keys keys;
    struct certificate *certificate = input.len <= CERTIFICATE_MAX_BYTES ? certificate_parse (input) : NULL;
    if (certificate && certificate_keys (certificate, &keys))
        (void) certificate_meta (certificate, "address");
    certificate_release (certificate);
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    if (len > ANSWER_MAX_BYTES)
        return 0;
    struct text input = { (const char *) bytes, (uint32_t) len };
    read_question (input);
    read_answer (input);
    read_certificate (input);
    return 0;
}
