#include "coordinator/cli/page.h"

#include <string.h>

enum { INDENT = 2, NAME_COLUMNS = 26 };

/* From column `at` on; lines after the first begin at `indent`. */
static void wrap (struct buf *out, struct text words, uint32_t at, uint32_t indent)
{
    bool first = true;
    for (; words.len; first = false) {
        struct text word = text_take_until (&words, ' ');
        bool fits = first || at + 1 + word.len <= PAGE_COLUMNS;
        if (!fits)
            buf_printf (out, "\n%*s", (int) indent, "");
        else if (!first)
            buf_byte (out, ' ');
        at = (fits ? at + !first : indent) + word.len;
        buf_add_text (out, word);
    }
    buf_byte (out, '\n');
}

/* man(7): a line must not begin with what is a request there. */
static void add_roff (struct buf *out, struct text line)
{
    for (uint32_t i = 0; i < line.len; i++)
        switch (line.ptr[i]) {
        case '\\': buf_puts (out, "\\e"); break;
        case '-': buf_puts (out, "\\-"); break;
        case '\'': buf_puts (out, "\\(aq"); break;
        case '.': buf_puts (out, i ? "." : "\\&."); break;
        default: buf_byte (out, (uint8_t) line.ptr[i]);
        }
    buf_byte (out, '\n');
}

void page_add_section (const struct page *page, const char *title)
{
    buf_printf (page->out, page->man ? ".SH %s\n" : "\n%s:\n", title);
}

void page_add_prose (const struct page *page, const char *prose, uint32_t columns)
{
    struct text rest = text_of (prose);
    while (rest.len) {
        struct text line = text_take_until (&rest, '\n');
        bool kept = line.len && line.ptr[0] == ' ';
        if (page->man && !line.len)
            buf_puts (page->out, ".PP\n");
        else if (page->man) {
            buf_puts (page->out, kept ? ".br\n" : "");
            add_roff (page->out, line);
        } else if (kept || !line.len)
            buf_printf (page->out, "%.*s\n", TEXT_ARG (line));
        else {
            buf_printf (page->out, "%*s", (int) columns, "");
            wrap (page->out, line, columns, columns);
        }
    }
}

void page_add_row (const struct page *page, const char *name, const char *text)
{
    uint32_t at = INDENT + NAME_COLUMNS, len = (uint32_t) strlen (name);
    if (page->man) {
        buf_puts (page->out, ".TP\n.B ");
        add_roff (page->out, text_of (name));
        add_roff (page->out, text_of (text));
        return;
    }
    buf_printf (page->out, "%*s%-*s", INDENT, "", NAME_COLUMNS, name);
    if (len + 2 > NAME_COLUMNS) {
        while (page->out->len && page->out->ptr[page->out->len - 1] == ' ')
            page->out->len--;
        buf_printf (page->out, "\n%*s", (int) at, "");
    }
    wrap (page->out, text_of (text), at, at);
}

void page_add_lines (const struct page *page, const char *lines)
{
    struct text rest = text_of (lines);
    buf_puts (page->out, page->man ? ".nf\n" : "");
    while (rest.len) {
        struct text line = text_take_until (&rest, '\n');
        if (page->man)
            add_roff (page->out, line);
        else
            buf_printf (page->out, "%*s%.*s\n", INDENT, "", TEXT_ARG (line));
    }
    buf_puts (page->out, page->man ? ".fi\n" : "");
}
