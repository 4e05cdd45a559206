/* buf.h - a growing byte buffer with a maximum size.
 *
 * Invariant: len <= capacity <= max. Appending past `max` appends nothing, sets `overflow` and keeps what is there:
 * writers need not check each call, they check once at the end. Overflow sticks: nothing is appended behind what was
 * lost until buf_clear. Not thread-safe; the pieces given must not lie in the buffer itself. */
#ifndef SLICEUP_COMMON_BASE_BUF_H
#define SLICEUP_COMMON_BASE_BUF_H

#include "common/base/text.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
    uint8_t *ptr;
    size_t len;
    size_t capacity;
    size_t max;
    bool overflow;
    bool (*drain) (const void *bytes, size_t len, void *to); /* NULL: all of it is kept */
    void *to;
};

void buf_init (struct buf *buf, size_t max); /* { .max = MAX } is an empty buffer as well */
void buf_release (struct buf *buf);
#define LOCAL_BUF __attribute__ ((cleanup (buf_release))) struct buf /* released at the end of its block */
void buf_clear (struct buf *buf);                                    /* len = 0, overflow = false; keeps the memory */
/* Between pieces that nobody looks back at: hands what is there to `drain`, if it is much, and is empty then. What `drain`
 * could not take is lost, as what finds no room is. */
void buf_drain (struct buf *buf);
void buf_add (struct buf *buf, const void *bytes, size_t len);
void buf_byte (struct buf *buf, uint8_t byte);
void buf_add_text (struct buf *buf, struct text text);
void buf_puts (struct buf *buf, const char *c_string);
void buf_printf (struct buf *buf, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
/* `text` made safe for a terminal: printable UTF-8 stays; C0, C1, DEL, invalid UTF-8, bidi controls and zero-width
 * characters become \xNN or \u{...}; at most `columns` columns wide (0: no limit), cut with an ellipsis. */
void buf_escaped (struct buf *buf, struct text text, uint32_t columns);
/* The same after `mark`; appends nothing if the text is empty. */
void buf_escaped_after (struct buf *buf, const char *mark, struct text text, uint32_t columns);
/* Appends a word for sh, quoted if sh would read it differently; a blank precedes it unless it is the first. */
void shell_word_add (struct buf *line, struct text word);
uint32_t text_columns (struct text escaped); /* width on a terminal, East Asian wide = 2 */
struct text buf_as_text (const struct buf *buf);
struct text buf_finish (struct buf *buf, struct arena *arena); /* a copy of it in `arena`; releases the buffer */
char *buf_c (struct buf *buf);                                 /* terminates (not counted in len) and returns ptr */

#endif
