/* fuzz_evidence.c - whatever a program says on its channel, line by line, its result stays within its bounds: it fits a
 * message beside what the worker adds, and is sound by its table, the same when it is written and read again.
 *
 * The first byte says what its RUN asks; the rest are lines. */
#include <assert.h>

#include "common/wire/wire.h"
#include "worker/protocol/evidence.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

enum { ASKS_COLD = 1, ASKS_METRICS = 2, ASKS_COMPILE = 4, ASKS_NOTHING = 8, MEMORY_MAX_BYTES = 1 << 20 };

static struct text required[] = { TEXT_LIT ("loss"), TEXT_LIT ("devices") };

static struct msg_run run_of (unsigned asks)
{
    struct msg_run run = { .world = 2, .key = { .pass = asks & ASKS_COLD ? PASS_COLD : PASS_RESTORED, .attempt = 1 } };
    run.rung.id = TEXT_LIT ("tiny");
    run.rung.warm = asks & ASKS_COMPILE ? WARM_AOT : WARM_SOLO;
    if (asks & ASKS_METRICS) {
        run.rung.metrics.items = required;
        run.rung.metrics.n = sizeof required / sizeof required[0];
    }
    return run;
}

static void check_sound (struct evidence *evidence)
{
    static struct arena arena;
    struct result back;
    LOCAL_BUF out = { .max = MSG_MAX_BYTES };
    evidence->result.key = (struct attempt_key){ .pass = PASS_ONCE, .attempt = 1 };
    assert (evidence->arena.used_bytes < MEMORY_MAX_BYTES);
    assert (record_check (&result_record, &evidence->result, NULL));
    wire_put_record (&out, &result_record, &evidence->result);
    assert (!out.overflow);
    assert (wire_get_record (buf_as_text (&out), &result_record, &back, &arena, NULL) == 0);
    assert (record_equal (&result_record, &evidence->result, &back));
    arena_reset (&arena);
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    struct evidence evidence;
    struct statement statement;
    struct text line;
    if (len == 0)
        return 0;
    struct msg_run run = run_of (bytes[0]);
    struct text rest = { (const char *) bytes + 1, (uint32_t) (len - 1) };
    evidence_init (&evidence, TEXT_LIT ("0123456789abcdef"));
    if (!(bytes[0] & ASKS_NOTHING))
        evidence_expect (&evidence, &run);
    while (text_cut (&rest, '\n', &line)) {
        if (line.len > LINE_MAX_BYTES)
            continue; /* the channel refuses it */
        evidence_take (&evidence, line, &statement);
        assert (statement.kind <= STATEMENT_BAD_GATE);
    }
    check_sound (&evidence);
    evidence_release (&evidence);
    return 0;
}
