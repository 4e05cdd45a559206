/* markdown.h - Markdown (GitHub's) in which no text can leave its place: a cell, a paragraph or a block of code.
 *
 * Everything given is made safe for a terminal first (buf_escaped), our own words too. Pure. */
#ifndef SLICEUP_COORDINATOR_VIEW_MARKDOWN_H
#define SLICEUP_COORDINATOR_VIEW_MARKDOWN_H

#include "common/base/buf.h"

/* Within a paragraph or a cell: what has a meaning in Markdown or HTML becomes a character reference. */
void markdown_text (struct buf *out, struct text text);
/* A paragraph of its own; `mark` around it: "**" or "". */
void markdown_paragraph (struct buf *out, const char *mark, const char *lead, struct text text);
/* "- lead text" */
void markdown_item (struct buf *out, const char *lead, struct text text);
/* The head of a table: its columns with " | " between them. Then its rows: cells, and the end of the row. */
void markdown_table (struct buf *out, const char *columns);
void markdown_cell (struct buf *out, struct text text);
void markdown_row_end (struct buf *out);
/* Lines as they were printed; nothing when there are none. The fence is longer than every row of backticks in them. */
void markdown_code (struct buf *out, struct text lines);

#endif
