/* utf8.h - finds characters in bytes that may be invalid UTF-8.
 *
 * It has its own tables, no locale: a host's environment does not change what is printable. Pure; any thread. */
#ifndef SLICEUP_COMMON_BASE_UTF8_H
#define SLICEUP_COMMON_BASE_UTF8_H

#include "common/base/text.h"
#include <stdbool.h>
#include <stdint.h>

/* Reads the character at byte `at` (< text.len): its length in bytes, 1 to 4, or 0 when no valid one begins there
 * (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF). */
uint32_t utf8_next (struct text text, uint32_t at, uint32_t *character);
/* May be printed on a terminal as it is. Not printable: controls, bidi controls, invisible characters, combining marks,
 * private use, and code points that Unicode will never assign. */
bool utf8_is_printable (uint32_t character);
uint32_t utf8_columns (uint32_t character); /* of a printable one: 1, or 2 when East Asian wide */
/* A copy in `arena`: valid UTF-8 without NUL; invalid bytes become U+FFFD; cut between characters to at most
 * `max_bytes`. Control characters stay: whoever prints the text escapes it. */
struct text text_repair_utf8 (struct arena *arena, struct text raw, uint32_t max_bytes);

#endif
