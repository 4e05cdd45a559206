#include "common/base/buf.h"

#include "common/base/utf8.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_BYTES = 256, DRAIN_BYTES = 1 << 20 };

void buf_init (struct buf *buf, size_t max)
{
    *buf = (struct buf){ .max = max };
}

void buf_release (struct buf *buf)
{
    mem_free (buf->ptr);
    buf_init (buf, buf->max);
}

void buf_clear (struct buf *buf)
{
    buf->len = 0;
    buf->overflow = false;
}

void buf_drain (struct buf *buf)
{
    if (!buf->drain || buf->len < DRAIN_BYTES || buf->overflow)
        return;
    buf->overflow = !buf->drain (buf->ptr, buf->len, buf->to);
    buf->len = 0;
}

/* One byte more than `capacity` is allocated: the terminator of buf_c has its place even at `max`. */
static void grow_to (struct buf *buf, size_t capacity)
{
    assert (capacity < SIZE_MAX);
    buf->ptr = mem_grow (buf->ptr, capacity + 1, 1);
    buf->capacity = capacity;
}

/* Makes room for `more` bytes, or sets overflow. It stays set until buf_clear: nothing may follow a lost piece. */
static bool reserve (struct buf *buf, size_t more)
{
    if (buf->overflow || more > buf->max - buf->len) {
        buf->overflow = true;
        return false;
    }
    if (buf->ptr && buf->len + more <= buf->capacity)
        return true;
    size_t capacity = buf->capacity > SIZE_MAX / 2 ? buf->max : 2 * buf->capacity;
    if (capacity < FIRST_BYTES)
        capacity = FIRST_BYTES;
    if (capacity < buf->len + more)
        capacity = buf->len + more;
    grow_to (buf, capacity < buf->max ? capacity : buf->max);
    return true;
}

void buf_add (struct buf *buf, const void *bytes, size_t len)
{
    if (!reserve (buf, len) || len == 0)
        return;
    memcpy (buf->ptr + buf->len, bytes, len);
    buf->len += len;
}

void buf_byte (struct buf *buf, uint8_t byte)
{
    buf_add (buf, &byte, 1);
}

void buf_add_text (struct buf *buf, struct text text)
{
    buf_add (buf, text.ptr, text.len);
}

void buf_puts (struct buf *buf, const char *c_string)
{
    buf_add (buf, c_string, strlen (c_string));
}

void buf_printf (struct buf *buf, const char *format, ...)
{
    if (!reserve (buf, 0))
        return;
    va_list args, again;
    va_start (args, format);
    va_copy (again, args);
    size_t room = buf->capacity - buf->len + 1;
    int len = vsnprintf ((char *) buf->ptr + buf->len, room, format, args);
    va_end (args);
    assert (len >= 0);
    if ((size_t) len >= room && reserve (buf, (size_t) len)) {
        int written = vsnprintf ((char *) buf->ptr + buf->len, (size_t) len + 1, format, again);
        assert (written == len);
        len = written;
    }
    va_end (again);
    if (!buf->overflow)
        buf->len += (size_t) len;
}

struct text buf_as_text (const struct buf *buf)
{
    assert (buf->len <= UINT32_MAX);
    return (struct text){ .ptr = buf->ptr ? (const char *) buf->ptr : "", .len = (uint32_t) buf->len };
}

struct text buf_finish (struct buf *buf, struct arena *arena)
{
    struct text copy = text_copy (arena, buf_as_text (buf));
    buf_release (buf);
    return copy;
}

char *buf_c (struct buf *buf)
{
    if (!buf->ptr)
        grow_to (buf, 0);
    buf->ptr[buf->len] = '\0';
    return (char *) buf->ptr;
}

/* ---- text made safe for a terminal ---- */

/* One character of the text, or one invalid byte, as it will be written. */
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

void shell_word_add (struct buf *line, struct text word)
{
    buf_puts (line, line->len ? " " : "");
    if (word.len > 0 && text_span (word, "/._-+=:,@%") == word.len) {
        buf_add_text (line, word);
        return;
    }
    buf_byte (line, '\'');
    for (uint32_t i = 0; i < word.len; i++)
        if (word.ptr[i] == '\'')
            buf_puts (line, "'\\''");
        else
            buf_byte (line, word.ptr[i]);
    buf_byte (line, '\'');
}
