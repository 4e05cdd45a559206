#include "coordinator/report/report.h"

#include <string.h>

static const char *reference_of (char byte)
{
    switch (byte) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

void xml_text (struct buf *out, struct text text, uint32_t columns)
{
    struct buf escaped;
    buf_init (&escaped, UINT32_MAX);
    buf_escaped (&escaped, text, columns);
    for (size_t i = 0; i < escaped.len; i++) {
        const char *reference = reference_of ((char) escaped.ptr[i]);
        if (reference)
            buf_puts (out, reference);
        else
            buf_byte (out, escaped.ptr[i]);
    }
    buf_release (&escaped);
}

void xml_lines (struct buf *out, struct text lines)
{
    while (lines.len) {
        xml_text (out, text_take_until (&lines, '\n'), 0);
        buf_byte (out, '\n');
    }
}

void xml_attribute (struct buf *out, const char *name, struct text value, uint32_t columns)
{
    buf_printf (out, " %s=\"", name);
    xml_text (out, value, columns);
    buf_byte (out, '"');
}

/* ---- proto ---- */

enum wire_type { VARINT = 0, FIXED64 = 1, LENGTH = 2 };
enum { VARINT_MAX_BYTES = 10 };

/* Seven bits a byte, the lowest first; the eighth says that more follow. */
static uint32_t varint (uint64_t value, uint8_t out[VARINT_MAX_BYTES])
{
    uint32_t n = 0;
    for (; value >= 0x80; value >>= 7)
        out[n++] = (uint8_t) (value | 0x80);
    out[n++] = (uint8_t) value;
    return n;
}

static void add_varint (struct buf *out, uint64_t value)
{
    uint8_t bytes[VARINT_MAX_BYTES];
    buf_add (out, bytes, varint (value, bytes));
}

static void add_tag (struct buf *out, uint32_t field, enum wire_type type)
{
    add_varint (out, field << 3 | type);
}

void proto_number (struct buf *out, uint32_t field, uint64_t value)
{
    add_tag (out, field, VARINT);
    add_varint (out, value);
}

void proto_fixed64 (struct buf *out, uint32_t field, uint64_t value)
{
    add_tag (out, field, FIXED64);
    for (uint32_t i = 0; i < 8; i++)
        buf_byte (out, (uint8_t) (value >> 8 * i));
}

void proto_text (struct buf *out, uint32_t field, struct text value)
{
    add_tag (out, field, LENGTH);
    add_varint (out, value.len);
    buf_add_text (out, value);
}

size_t proto_open (struct buf *out, uint32_t field)
{
    add_tag (out, field, LENGTH);
    return out->len;
}

void proto_close (struct buf *out, size_t opened)
{
    uint8_t bytes[VARINT_MAX_BYTES];
    size_t len = out->len - opened;
    uint32_t n = varint (len, bytes);
    buf_add (out, bytes, n);
    if (out->overflow)
        return;
    memmove (out->ptr + opened + n, out->ptr + opened, len);
    memcpy (out->ptr + opened, bytes, n);
}
