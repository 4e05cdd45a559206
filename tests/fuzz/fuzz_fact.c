/* fuzz_fact.c - no bytes crash the reader of facts, and what it accepts is sound: within its table, MessagePack to
 * another reader as well, and the same value when it is written and read again. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/wire.h"
#include "tests/wire/compare.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

/* Longer ones only make it slow; what a long one can hold more of, a short one can hold as well. */
enum { INPUT_MAX_BYTES = 1 << 20 };

static struct arena arena;
static struct buf again;

static void check_sound (struct text input, const struct fact *fact)
{
    const struct record *body = fact_record_of_kind (fact->kind);
    struct fact back;

    struct compared found = compare_readers (input, WIRE_RECORD_ITEMS_MAX);
    assert (!found.differs && !found.reason && found.len == input.len);
    assert (record_check (body, &fact->of, NULL));
    buf_clear (&again);
    wire_put_fact (&again, fact);
    assert (!again.overflow && again.len <= input.len);
    assert (wire_get_fact (buf_as_text (&again), &back, &arena, NULL) == 0);
    assert (back.kind == fact->kind && back.index == fact->index && back.at_ms == fact->at_ms &&
            back.wall_ms == fact->wall_ms);
    assert (record_equal (body, &back.of, &fact->of));
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    struct fact fact;
    struct err err;

    if (len > INPUT_MAX_BYTES)
        return 0;
    if (again.max == 0)
        buf_init (&again, INPUT_MAX_BYTES);
    struct text input = { (const char *) bytes, (uint32_t) len };
    if (wire_get_fact (input, &fact, &arena, &err) == 0)
        check_sound (input, &fact);
    else
        assert (err.code != ERR_NONE && strnlen (err.text, sizeof err.text) < sizeof err.text);
    arena_reset (&arena);
    return 0;
}
