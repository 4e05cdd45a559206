#include "coordinator/view/markdown.h"

#include <string.h>

enum { SAFE_BYTES_MAX = 4 << 20, FENCE_LEAST = 3 };

void markdown_text (struct buf *out, struct text text)
{
    struct buf safe;
    buf_init (&safe, SAFE_BYTES_MAX);
    buf_escaped (&safe, text, 0);
    for (size_t i = 0; i < safe.len; i++) {
        uint8_t c = safe.ptr[i];
        if (c && strchr ("|<>&`*_[]\\~#@!$", c))
            buf_printf (out, "&#%u;", c);
        else
            buf_byte (out, c);
    }
    buf_release (&safe);
}

void markdown_paragraph (struct buf *out, const char *mark, const char *lead, struct text text)
{
    buf_printf (out, "%s%s", mark, lead);
    markdown_text (out, text);
    buf_printf (out, "%s\n\n", mark);
}

void markdown_item (struct buf *out, const char *lead, struct text text)
{
    buf_printf (out, "- %s", lead);
    markdown_text (out, text);
    buf_byte (out, '\n');
}

void markdown_table (struct buf *out, const char *columns)
{
    buf_printf (out, "| %s |\n|", columns);
    for (const char *bar = columns; bar; bar = strchr (bar, '|') ? strchr (bar, '|') + 1 : NULL)
        buf_puts (out, " --- |");
    buf_byte (out, '\n');
}

void markdown_cell (struct buf *out, struct text text)
{
    buf_puts (out, "| ");
    markdown_text (out, text);
    buf_byte (out, ' ');
}

void markdown_row_end (struct buf *out)
{
    buf_puts (out, "|\n");
}

static uint32_t longest_row (struct text text, char c)
{
    uint32_t longest = 0, row = 0;
    for (uint32_t i = 0; i < text.len; i++) {
        row = text.ptr[i] == c ? row + 1 : 0;
        longest = row > longest ? row : longest;
    }
    return longest;
}

static void add_fence (struct buf *out, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        buf_byte (out, '`');
    buf_byte (out, '\n');
}

void markdown_code (struct buf *out, struct text lines)
{
    uint32_t fence = longest_row (lines, '`') + 1;
    fence = fence < FENCE_LEAST ? FENCE_LEAST : fence;
    if (lines.len == 0)
        return;
    add_fence (out, fence);
    while (lines.len) {
        buf_escaped (out, text_take_until (&lines, '\n'), 0);
        buf_byte (out, '\n');
    }
    add_fence (out, fence);
    buf_byte (out, '\n');
}
