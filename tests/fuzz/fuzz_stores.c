/* fuzz_stores.c - no bytes of a file that somebody kept crash their reader: manifests of sealed generations, of which one has
 * one spelling only, pins, results that a worker kept, and what a plugin's process says. */
#include <assert.h>

#include "common/cache/generation.h"
#include "common/model/requirements.h"
#include "common/model/result.h"
#include "common/wire/wire.h"
#include "worker/probe/child_report.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

enum { INPUT_MAX_BYTES = 1 << 20 };

static struct arena arena;

static void read_manifest (struct text input)
{
    struct manifest manifest;
    struct err err = { 0 };
    LOCAL_BUF again = { .max = INPUT_MAX_BYTES };
    if (manifest_parse (input, &arena, &manifest, &err) != 0) {
        assert (err.code == ERR_DAMAGE || err.code == ERR_LIMIT);
        return;
    }
    for (uint32_t i = 0, number; i < manifest.n; i++)
        assert (tree_path_valid (manifest.items[i].at.path) &&
                manifest_find (&manifest, manifest.items[i].at.path, &number) && number == i);
    manifest_print (&manifest, &again);
    assert (!again.overflow && text_equal (buf_as_text (&again), input));
}

static void read_pins (struct text input)
{
    struct requirements pins;
    struct err err = { 0 };
    if (requirements_parse (input, "pins.txt", &arena, &pins, &err) == 0)
        (void) requirements_keep_for (&pins, "3.11.7", "x86_64", &err);
    else
        assert (err.code != ERR_NONE);
}

static void read_record (struct text input, const struct record *record, void *into)
{
    static struct buf again;
    if (again.max == 0)
        buf_init (&again, INPUT_MAX_BYTES);
    if (wire_get_record (input, record, into, &arena, NULL) != 0)
        return;
    assert (record_check (record, into, NULL));
    buf_clear (&again);
    wire_put_record (&again, record, into);
    assert (!again.overflow && again.len <= input.len);
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    struct result result;
    struct probe_statement statement;
    if (len > INPUT_MAX_BYTES)
        return 0;
    struct text input = { (const char *) bytes, (uint32_t) len };
    read_manifest (input);
    read_pins (input);
    read_record (input, &result_record, &result);
    read_record (input, &probe_statement_record, &statement);
    arena_reset (&arena);
    return 0;
}
