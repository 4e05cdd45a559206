#include "coordinator/view/line.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/utf8.h"
#include "common/model/hostset.h"

enum { PIECE_MAX_BYTES = 1 << 20, PRINTED_MAX_BYTES = 1024, CELL_MAX_BYTES = 4096 };

static uint32_t limit (const struct style *style)
{
    return style->columns == 0 ? UINT32_MAX : style->columns < STYLE_COLUMNS_MIN ? STYLE_COLUMNS_MIN : style->columns;
}

struct line line_begin (struct buf *out, const struct style *style)
{
    return (struct line){ .out = out, .style = style, .cut_bytes = out->len };
}

/* Columns left before the cut; UINT32_MAX when lines are never cut. */
static uint32_t line_room (const struct line *line)
{
    uint32_t most = limit (line->style);
    return most == UINT32_MAX ? most : most - line->columns;
}

/* Puts a piece that stands or falls as a whole. */
static void line_put (struct line *line, const char *bytes, uint32_t len, uint32_t columns)
{
    uint32_t most = limit (line->style), mark = line->style->unicode ? 1 : 2, character = 0;
    if (line->full)
        return;
    for (uint32_t at = 0; line->put && at < len; line->put (line, character))
        at += utf8_next ((struct text){ bytes, len }, at, &character);
    if (line->put)
        return;
    if (columns > line_room (line)) {
        line->out->len = line->cut_bytes;
        buf_puts (line->out, line->style->unicode ? "\xE2\x80\xA6" : "..");
        line->full = true;
        return;
    }
    buf_add (line->out, bytes, len);
    line->columns += columns;
    if (most == UINT32_MAX || line->columns <= most - mark)
        line->cut_bytes = line->out->len;
}

static void put_character (struct line *line, const char *bytes, uint32_t len, uint32_t character)
{
    if (character < 0x80 || line->style->unicode) {
        line_put (line, bytes, len, utf8_columns (character));
        return;
    }
    char spelled[16];
    int n = snprintf (spelled, sizeof (spelled), "\\u{%x}", character);
    line_put (line, spelled, (uint32_t) n, (uint32_t) n);
}

void line_text (struct line *line, struct text text)
{
    if (line->full || text.len == 0)
        return;
    LOCAL_BUF safe = { .max = PIECE_MAX_BYTES };
    buf_escaped (&safe, line->put ? text_clip (text, CELL_MAX_BYTES) : text, 0);
    struct text pieces = buf_as_text (&safe);
    for (uint32_t at = 0, len; at < pieces.len && !line->full; at += len) {
        uint32_t character = 0;
        len = utf8_next (pieces, at, &character);
        put_character (line, pieces.ptr + at, len, character);
    }
}

void line_puts (struct line *line, const char *c_string)
{
    line_text (line, text_of (c_string));
}

void line_printf (struct line *line, const char *format, ...)
{
    char printed[PRINTED_MAX_BYTES];
    va_list args;
    va_start (args, format);
    vsnprintf (printed, sizeof (printed), format, args);
    va_end (args);
    line_puts (line, printed);
}

void line_paint (struct line *line, enum paint paint)
{
    static const char *const codes[] = {
        [PAINT_NONE] = "\x1b[0m",  [PAINT_GOOD] = "\x1b[32m", [PAINT_BAD] = "\x1b[1;31m",
        [PAINT_WARN] = "\x1b[33m", [PAINT_FAINT] = "\x1b[2m", [PAINT_STRONG] = "\x1b[1m",
    };
    line->paint = paint;
    if (line->put || !line->style->color || line->full)
        return;
    buf_puts (line->out, codes[paint]);
    line->painted = true;
}

void line_pad (struct line *line, uint32_t column)
{
    if (line->put && column > line->room)
        column = line->room;
    while (line->columns < column && !line->full)
        line_put (line, " ", 1, 1);
}

void line_end (struct line *line)
{
    if (line->painted)
        buf_puts (line->out, "\x1b[0m");
    buf_byte (line->out, '\n');
}

void line_painted (struct line *line, enum paint paint, struct text text)
{
    line_paint (line, paint);
    line_text (line, text);
    line_paint (line, PAINT_NONE);
}

void line_cell (struct line *line, struct text text, uint32_t most, uint32_t columns)
{
    struct style style = { .unicode = line->style->unicode, .columns = most };
    uint32_t to = line->columns + columns;
    LOCAL_BUF cell = { .max = CELL_MAX_BYTES };
    struct line inner = line_begin (&cell, &style);
    line_text (&inner, text);
    line_text (line, buf_as_text (&cell));
    line_pad (line, to);
}

void line_column (struct line *line, const struct line_column *column, struct text text)
{
    line_cell (line, text, column->columns > STYLE_COLUMNS_MIN ? column->columns - 1 : 0, column->columns);
}

void line_print_heads (struct buf *out, const struct style *style, const char *indent,
                       const struct line_column *columns, uint32_t n)
{
    struct line line = line_begin (out, style);
    line_paint (&line, PAINT_FAINT);
    line_puts (&line, indent);
    for (uint32_t i = 0; i < n; i++)
        line_column (&line, &columns[i], text_of (columns[i].head));
    line_end (&line);
}

void line_print_painted (struct buf *out, const struct style *style, enum paint paint, struct text text)
{
    struct line line = line_begin (out, style);
    if (paint != PAINT_NONE)
        line_paint (&line, paint);
    line_text (&line, text);
    line_end (&line);
}

void style_print_text (const struct style *style, struct text text, struct buf *out)
{
    struct style uncut = { .unicode = style->unicode };
    struct line line = line_begin (out, &uncut);
    line_text (&line, text);
}

bool style_locale_is_utf8 (const char *lc_all, const char *lc_ctype, const char *lang)
{
    const char *set = lc_all && lc_all[0] ? lc_all : lc_ctype && lc_ctype[0] ? lc_ctype : lang ? lang : "";
    const char *dot = strchr (set, '.');
    return dot && (strncasecmp (dot, ".utf-8", 6) == 0 || strncasecmp (dot, ".utf8", 5) == 0);
}

void line_wrap (struct buf *out, struct text words, uint32_t at, uint32_t indent, uint32_t columns)
{
    bool first = true;
    for (; words.len; first = false) {
        struct text word = text_take_until (&words, ' ');
        bool fits = first || columns == 0 || at + 1 + word.len <= columns;
        if (!fits)
            buf_printf (out, "\n%*s", (int) indent, "");
        else if (!first)
            buf_byte (out, ' ');
        at = (fits ? at + !first : indent) + word.len;
        buf_add_text (out, word);
    }
    buf_byte (out, '\n');
}

/* ---- doc ---- */

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

static uint32_t longest_row (struct text text, char c)
{
    uint32_t longest = 0, row = 0;
    for (uint32_t i = 0; i < text.len; i++) {
        row = text.ptr[i] == c ? row + 1 : 0;
        longest = row > longest ? row : longest;
    }
    return longest;
}

/* A bar would end a cell of a table also there, unless an odd number of backslashes stands before it. */
static void doc_add_code (struct doc *doc, struct text code)
{
    uint32_t fence = longest_row (code, '`') + 1, slashes = 0;
    for (uint32_t i = 0; i < fence; i++)
        buf_byte (doc->out, '`');
    buf_puts (doc->out, fence > 1 ? " " : "");
    for (uint32_t i = 0; i < code.len; i++) {
        if (code.ptr[i] == '|' && doc->cell)
            buf_puts (doc->out, slashes % 2 ? "\\\\" : "\\");
        slashes = code.ptr[i] == '\\' ? slashes + 1 : 0;
        buf_byte (doc->out, (uint8_t) code.ptr[i]);
    }
    buf_puts (doc->out, fence > 1 ? " " : "");
    for (uint32_t i = 0; i < fence; i++)
        buf_byte (doc->out, '`');
}

static uint32_t word_end (struct text text, uint32_t at)
{
    while (at < text.len && text.ptr[at] != ' ')
        at++;
    return at;
}

/* Does it mean something in Markdown or HTML, or name somebody? */
static bool is_markup (struct text word)
{
    for (uint32_t i = 0; i < word.len; i++)
        if (word.ptr[i] && strchr ("|<>&`*_[]\\~#@$", word.ptr[i]))
            return true;
    return text_find (word, TEXT_LIT ("://"), NULL);
}

/* Words that are markup become code, neighbours together: so they are nothing but text, and legible in a chat, too. */
static void doc_add_words (struct doc *doc, struct text text)
{
    LOCAL_BUF safe = { .max = LINE_BYTES_MAX };
    buf_escaped (&safe, text, 0);
    for (struct text rest = buf_as_text (&safe), code; rest.len; rest.ptr += code.len, rest.len -= code.len) {
        code = (struct text){ rest.ptr, 0 };
        for (uint32_t at = 0, end = word_end (rest, 0); is_markup ((struct text){ rest.ptr + at, end - at });) {
            code.len = end;
            at = end < rest.len ? end + 1 : end;
            end = word_end (rest, at);
        }
        while (code.len && strchr (":;,.", code.ptr[code.len - 1]))
            code.len--;
        if (code.len) {
            doc_add_code (doc, code);
            continue;
        }
        code.len = word_end (rest, 0);
        code.len += code.len < rest.len;
        buf_add_text (doc->out, code);
    }
}

static void doc_put_markdown (struct doc *doc, const char *lead, const char *behind)
{
    if (lead) {
        buf_puts (doc->out, lead);
        doc_add_words (doc, buf_as_text (&doc->line));
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
    doc->cell = true;
    doc_put_markdown (doc, "| ", " ");
    doc->cell = false;
}

void doc_row_end (struct doc *doc)
{
    buf_puts (doc->out, "|\n");
}

/* ---- code ---- */

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
