#include "common/base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_BYTES = 256 };

void buf_init (struct buf *buf, size_t max)
{
    assert (max < SIZE_MAX);
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

/* One byte more than `capacity` is allocated: the terminator of buf_c has its place even at `max`. */
static void grow_to (struct buf *buf, size_t capacity)
{
    buf->ptr = mem_grow (buf->ptr, capacity + 1, 1);
    buf->capacity = capacity;
}

/* Makes room for `more` bytes, or marks the overflow. Overflow sticks until buf_clear: a short piece behind a lost one
 * would make the bytes lie. */
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

void buf_text (struct buf *buf, struct text text)
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

struct text buf_take (struct buf *buf, struct arena *arena)
{
    struct text taken = text_copy (arena, buf_as_text (buf));
    buf_release (buf);
    return taken;
}

char *buf_c (struct buf *buf)
{
    if (!buf->ptr)
        grow_to (buf, 0);
    buf->ptr[buf->len] = '\0';
    return (char *) buf->ptr;
}
