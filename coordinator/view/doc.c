#include "coordinator/view/doc.h"

#include <string.h>

#include "common/model/hostset.h"

enum { LINE_BYTES_MAX = 4 << 20, FENCE_LEAST = 3 };

struct doc doc_begin (struct buf *out, bool markdown)
{
    struct doc doc = { .out = out, .markdown = markdown, .style = { .unicode = true } };
    buf_init (&doc.line, LINE_BYTES_MAX);
    return doc;
}

void doc_end (struct doc *doc)
{
    buf_release (&doc->line);
}

void doc_text (struct doc *doc, struct text text)
{
    if (doc->markdown)
        buf_add_text (&doc->line, text);
    else
        buf_escaped (&doc->line, text, doc->columns);
}

void doc_hosts (struct doc *doc, const struct text *names, uint32_t n)
{
    if (doc->markdown)
        hostset_fold (names, n, &doc->line);
    else
        hostset_fold_escaped (names, n, doc->columns, &doc->line);
}

/* ---- blocks ---- */

static void doc_add_references (struct doc *doc, struct text text)
{
    struct buf safe;
    buf_init (&safe, LINE_BYTES_MAX);
    buf_escaped (&safe, text, 0);
    for (size_t i = 0; i < safe.len; i++) {
        uint8_t c = safe.ptr[i];
        if (c && strchr ("|<>&`*_[]\\~#@!$", c))
            buf_printf (doc->out, "&#%u;", c);
        else
            buf_byte (doc->out, c);
    }
    buf_release (&safe);
}

static void doc_put_markdown (struct doc *doc, const char *lead, const char *behind)
{
    if (lead) {
        buf_puts (doc->out, lead);
        doc_add_references (doc, buf_as_text (&doc->line));
        buf_puts (doc->out, behind);
    }
    buf_clear (&doc->line);
}

void doc_put (struct doc *doc, const char *lead, const char *markdown_lead)
{
    if (doc->markdown) {
        doc_put_markdown (doc, markdown_lead, "\n\n");
        return;
    }
    if (lead) {
        struct line line = line_begin (doc->out, &doc->style);
        if (doc->paint != PAINT_NONE)
            line_paint (&line, doc->paint);
        line_puts (&line, lead);
        line_text (&line, buf_as_text (&doc->line));
        line_end (&line);
    }
    buf_clear (&doc->line);
}

void doc_put_strong (struct doc *doc, const char *lead)
{
    if (doc->markdown)
        doc_put_markdown (doc, "**", "**\n\n");
    else
        doc_put (doc, lead, NULL);
}

void doc_put_item (struct doc *doc, const char *lead, const char *markdown_lead)
{
    if (doc->markdown)
        doc_put_markdown (doc, markdown_lead, "\n");
    else
        doc_put (doc, lead, NULL);
}

void doc_say (struct doc *doc, const char *lead, const char *markdown_lead, struct text text)
{
    if (text.len == 0)
        return;
    doc_text (doc, text);
    doc_put (doc, lead, markdown_lead);
}

/* ---- tables ---- */

void doc_table (struct doc *doc, const char *columns)
{
    buf_printf (doc->out, "| %s |\n|", columns);
    for (const char *bar = columns; bar; bar = strchr (bar, '|') ? strchr (bar, '|') + 1 : NULL)
        buf_puts (doc->out, " --- |");
    buf_byte (doc->out, '\n');
}

void doc_cell (struct doc *doc, struct text text)
{
    buf_add_text (&doc->line, text);
    doc_put_markdown (doc, "| ", " ");
}

void doc_row_end (struct doc *doc)
{
    buf_puts (doc->out, "|\n");
}

/* ---- code ---- */

static uint32_t longest_row (struct text text, char c)
{
    uint32_t longest = 0, row = 0;
    for (uint32_t i = 0; i < text.len; i++) {
        row = text.ptr[i] == c ? row + 1 : 0;
        longest = row > longest ? row : longest;
    }
    return longest;
}

void doc_code (struct doc *doc, struct text lines)
{
    uint32_t fence = longest_row (lines, '`') + 1;
    if (lines.len == 0)
        return;
    for (uint32_t end = 0; end < 2; end++) {
        for (uint32_t i = 0; i < fence || i < FENCE_LEAST; i++)
            buf_byte (doc->out, '`');
        buf_byte (doc->out, '\n');
        for (struct text line; end == 0 && lines.len;) {
            line = text_take_until (&lines, '\n');
            buf_escaped (doc->out, line, 0);
            buf_byte (doc->out, '\n');
        }
    }
    buf_byte (doc->out, '\n');
}
