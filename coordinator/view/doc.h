/* doc.h - an answer that is written once: as text for a terminal and for tickets, or as Markdown (GitHub's).
 *
 * A block is gathered in `line` and then put; of its two leads, each form takes its own, and one that is NULL leaves
 * the block out. Neither form lets a text leave its place: everything is made safe for a terminal (buf_escaped), our own
 * words too, and in Markdown what has a meaning there or in HTML becomes a character reference. Pure. */
#ifndef SLICEUP_COORDINATOR_VIEW_DOC_H
#define SLICEUP_COORDINATOR_VIEW_DOC_H

#include "coordinator/view/line.h"

struct doc {
    struct buf *out;
    bool markdown;
    struct style style; /* of text: its colours, and where lines are cut */
    enum paint paint;   /* of text: of the lines that are put from now on */
    uint32_t columns;   /* of text: what doc_text and doc_hosts leave of one piece; 0: all */
    struct buf line;    /* of the block that is made */
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
