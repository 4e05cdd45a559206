/* line.h - one line of a terminal: made safe, counted in columns, cut at the width; and what the terminal can do.
 *
 * Everything put into a line is escaped (buf_escaped), our own words too, so nothing that a host said can move the
 * cursor, whoever forgets where a text came from. Colours are asked for by meaning and counted as no columns. Where
 * UTF-8 is not spoken, characters above ASCII are written as \u{...}. Pure; knows no terminal. */
#ifndef SLICEUP_COORDINATOR_VIEW_LINE_H
#define SLICEUP_COORDINATOR_VIEW_LINE_H

#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/duration.h"

struct style {
    bool color;
    bool unicode;
    uint32_t columns, rows;
}; /* columns 0: lines are never cut; rows 0: any number */
enum { STYLE_COLUMNS_MIN = 8 };

enum paint { PAINT_NONE = 0, PAINT_GOOD, PAINT_BAD, PAINT_WARN, PAINT_FAINT, PAINT_STRONG };

struct line {
    struct buf *out;
    const struct style *style;
    uint32_t columns; /* so far */
    size_t cut_bytes; /* length of `out` up to which an ellipsis still fits */
    bool full;        /* it was cut: nothing more is added */
    bool painted;
    /* Takes each character in place of `out`, and cuts the line itself: a row of a screen (terminal/cells.h). */
    void (*put) (struct line *line, uint32_t character);
    const void *to;            /* of `put` */
    uint32_t row, begin, room; /* the columns of that row are begin to begin + room - 1 */
    enum paint paint;          /* as it was asked for last */
    bool chosen, color_alone;
};

struct line line_begin (struct buf *out, const struct style *style);
void line_text (struct line *line, struct text text);
void line_puts (struct line *line, const char *c_string);
void line_printf (struct line *line, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
void line_paint (struct line *line, enum paint paint);
/* Spaces up to column `column`; nothing when the line is there already. */
void line_pad (struct line *line, uint32_t column);
void line_end (struct line *line); /* colours off, and a newline */
/* A text in its own colour; the rest of the line is plain again. */
void line_painted (struct line *line, enum paint paint, struct text text);
/* A text in a column of its own: cut to `most` columns (0: not cut), and padded to `columns`. */
void line_cell (struct line *line, struct text text, uint32_t most, uint32_t columns);
/* The columns of a list: their heads as a faint line, and a text in one, cut so that a blank is left. */
struct line_column {
    const char *head;
    uint32_t columns; /* 0: the last, as wide as the line */
};
void line_print_heads (struct buf *out, const struct style *style, const char *indent,
                       const struct line_column *columns, uint32_t n);
void line_column (struct line *line, const struct line_column *column, struct text text);
/* A whole line of one colour. */
void line_print_painted (struct buf *out, const struct style *style, enum paint paint, struct text text);

/* `text`, escaped already or not, as it may be printed with this style, uncut. */
void style_print_text (const struct style *style, struct text text, struct buf *out);
/* Does the environment (LC_ALL, LC_CTYPE, LANG: the first that is set) ask for UTF-8? */
bool style_locale_is_utf8 (const char *lc_all, const char *lc_ctype, const char *lang);

/* Appends words and a newline, broken at blanks where a line would be wider than `columns` (0: never). The first begins in
 * column `at`, the others at `indent`. */
void line_wrap (struct buf *out, struct text words, uint32_t at, uint32_t indent, uint32_t columns);

/* ---- doc ---- */

/* An answer that is written once: as text for a terminal and for tickets, or as Markdown (GitHub's).
 *
 * A block is gathered in `line` and then put; of its two leads, each form takes its own, and one that is NULL leaves
 * the block out. Neither form lets a text leave its place: everything is made safe for a terminal (buf_escaped), our own
 * words too, and in Markdown the words that have a meaning there or in HTML become code. Pure. */

struct doc {
    struct buf *out;
    bool markdown;
    struct style style; /* of text: its colours, and where lines are cut */
    enum paint paint;   /* of text: of the lines that are put from now on */
    uint32_t columns;   /* of text: what doc_text and doc_hosts leave of one piece; 0: all */
    struct buf line;    /* of the block that is made */
    bool cell;          /* of Markdown: it is a cell of a table */
};
struct doc doc_begin (struct buf *out, bool markdown);
void doc_end (struct doc *doc);

/* What hosts said, and a set of hosts, appended to the block. */
void doc_text (struct doc *doc, struct text text);
void doc_hosts (struct doc *doc, const struct text *names, uint32_t n);

/* The block as a line; in Markdown a paragraph, a strong one, or one item of a list. */
void doc_put (struct doc *doc, const char *lead, const char *markdown_lead);
void doc_put_strong (struct doc *doc, const char *lead);
void doc_put_item (struct doc *doc, const char *lead, const char *markdown_lead);
/* A block of one text; nothing when that is empty. */
void doc_say (struct doc *doc, const char *lead, const char *markdown_lead, struct text text);

/* Of Markdown only: a table's head, its columns with " | " between them; then rows of cells. A cell takes `line` in. */
void doc_table (struct doc *doc, const char *columns);
void doc_cell (struct doc *doc, struct text text);
void doc_row_end (struct doc *doc);
/* Lines as they were printed; nothing when there are none. The fence is longer than every row of backticks in them. */
void doc_code (struct doc *doc, struct text lines);

#endif
