/* fuzz_walker.c - on every input the bounded walker and msgpack-c's unpacker agree, and where the walker is stricter
 * one of the reasons in tests/wire/compare.h says why. Seeds: those of messages and facts. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/wire/compare.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

/* The smaller one is for the count itself, which a short input can pass. */
enum { INPUT_MAX_BYTES = 64 * 1024, FEW_ITEMS = 40 };

static void check_agreed (struct text input, uint32_t items_max)
{
    struct compared found = compare_readers (input, items_max);
    if (!found.differs)
        return;
    fprintf (stderr, "%s, %zu bytes, at most %u items; unpacker: %s\n", found.differs, found.len, items_max,
             found.reason ? found.reason : "accepted");
    abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    if (len > INPUT_MAX_BYTES)
        return 0;
    struct text input = { (const char *) bytes, (uint32_t) len };
    check_agreed (input, WIRE_ITEMS_MAX);
    check_agreed (input, FEW_ITEMS);
    return 0;
}
