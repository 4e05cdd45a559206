#include "coordinator/report/xml.h"

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
