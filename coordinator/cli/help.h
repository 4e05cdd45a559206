/* help_text.h - what the tables of commands say of themselves: --help, the overview, man pages. Pure. */
#ifndef SLICEUP_COORDINATOR_CLI_HELP_H
#define SLICEUP_COORDINATOR_CLI_HELP_H

#include "common/base/buf.h"
#include "coordinator/cli/arguments.h"

/* Of the command that `arguments` names; of the program itself its commands by task. */
void help_print (const struct cli_arguments *arguments, struct buf *out);
/* The same as a page for man(1). */
void help_print_man (const struct cli_arguments *arguments, const char *version, struct buf *out);

/* ---- page ---- */

/* A page of words: for a terminal, wrapped to PAGE_COLUMNS; or as man(7) wants it. Pure. */

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
