/* fuzz_msg.c - no bytes crash the reader of messages, and what it accepts is sound: within its table, MessagePack to
 * another reader as well, and the same value when it is written and read again. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/wire.h"
#include "tests/wire/compare.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

static struct arena arena;
static struct buf again;

static void check_sound (struct text input, const struct msg *msg)
{
    const struct record *body = msg_record_of_kind (msg->kind);
    struct msg back;

    struct compared found = compare_readers (input, WIRE_ITEMS_MAX);
    assert (!found.differs && !found.reason && found.len == input.len);
    assert (!body || record_check (body, &msg->of, NULL));
    buf_clear (&again);
    wire_put_msg (&again, msg);
    assert (!again.overflow && again.len <= input.len);
    assert (wire_get_msg (buf_as_text (&again), &back, &arena, NULL) == 0);
    assert (back.kind == msg->kind && back.epoch == msg->epoch && back.session == msg->session &&
            back.seq == msg->seq && back.ack == msg->ack && text_equal (back.run_id, msg->run_id));
    assert (!body || record_equal (body, &back.of, &msg->of));
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    struct msg msg;
    struct err err;

    if (len > MSG_MAX_BYTES + 1)
        return 0;
    if (again.max == 0)
        buf_init (&again, MSG_MAX_BYTES);
    struct text input = { (const char *) bytes, (uint32_t) len };
    if (wire_get_msg (input, &msg, &arena, &err) == 0)
        check_sound (input, &msg);
    else
        assert (err.code != ERR_NONE && strnlen (err.text, sizeof err.text) < sizeof err.text);
    arena_reset (&arena);
    return 0;
}
