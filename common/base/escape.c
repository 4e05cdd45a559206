/* The part of buf.h that makes text safe for a terminal. */
#include "common/base/buf.h"
#include "common/base/utf8.h"

#include <stdio.h>
#include <string.h>

/* One character of the text, or one byte that belongs to none, as it will be written. */
struct piece {
    char bytes[16];
    uint32_t len;
    uint32_t columns;
    uint32_t read;
};

static void piece_escape (struct piece *piece, const char *format, uint32_t value)
{
    piece->len = (uint32_t) snprintf (piece->bytes, sizeof piece->bytes, format, value);
    piece->columns = piece->len;
}

static struct piece piece_at (struct text text, uint32_t at)
{
    struct piece piece = { .len = 0 };
    uint32_t character = (unsigned char) text.ptr[at];
    uint32_t bytes = utf8_next (text, at, &character);
    piece.read = bytes ? bytes : 1;
    if (bytes && utf8_is_printable (character)) {
        memcpy (piece.bytes, text.ptr + at, bytes);
        piece.len = bytes;
        piece.columns = utf8_columns (character);
    } else if (bytes <= 1) {
        piece_escape (&piece, "\\x%02x", character);
    } else {
        piece_escape (&piece, "\\u{%x}", character);
    }
    return piece;
}

void buf_escaped (struct buf *buf, struct text text, uint32_t columns)
{
    static const char ellipsis[] = "\xE2\x80\xA6"; /* U+2026, one column */
    size_t start = buf->len;
    size_t cut = start; /* the longest part that leaves a column for the ellipsis */
    uint64_t wide = 0;
    for (uint32_t at = 0; at < text.len && !buf->overflow;) {
        struct piece piece = piece_at (text, at);
        at += piece.read;
        wide += piece.columns;
        if (columns && wide > columns) {
            buf->len = cut;
            buf_puts (buf, ellipsis);
            break;
        }
        buf_add (buf, piece.bytes, piece.len);
        if (wide < columns)
            cut = buf->len;
    }
    if (buf->overflow)
        buf->len = start;
}

uint32_t text_columns (struct text escaped)
{
    uint32_t columns = 0;
    for (uint32_t at = 0; at < escaped.len;) {
        uint32_t character = 0;
        uint32_t bytes = utf8_next (escaped, at, &character);
        columns += bytes ? utf8_columns (character) : 1;
        at += bytes ? bytes : 1;
    }
    return columns;
}

void buf_escaped_after (struct buf *buf, const char *mark, struct text text, uint32_t columns)
{
    if (text.len)
        buf_puts (buf, mark);
    buf_escaped (buf, text, columns);
}
