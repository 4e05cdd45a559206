/* page.h - a page of words: for a terminal, wrapped to PAGE_COLUMNS; or as man(7) wants it. Pure. */
#ifndef SLICEUP_COORDINATOR_CLI_PAGE_H
#define SLICEUP_COORDINATOR_CLI_PAGE_H

#include "common/base/buf.h"

enum { PAGE_COLUMNS = 100, PAGE_MAX_BYTES = 1 << 20 };

struct page {
    struct buf *out;
    bool man;
};

void page_add_section (const struct page *page, const char *title);
/* A line is a paragraph; one that begins with a blank is kept as it is. In `columns` from the left. */
void page_add_prose (const struct page *page, const char *prose, uint32_t columns);
void page_add_row (const struct page *page, const char *name, const char *text);
void page_add_lines (const struct page *page, const char *lines);

#endif
