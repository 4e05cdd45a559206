/* error_lines.h - of the lines of a log, the few that look most like an error: what people get to see of a failure that
 * nobody recognises. The graver ones stay, of equally grave ones the earlier; the same text once. */
#ifndef SLICEUP_COMMON_SIGNATURE_ERROR_LINES_H
#define SLICEUP_COMMON_SIGNATURE_ERROR_LINES_H

#include "common/signature/log_line.h"

struct error_line {
    uint64_t offset;
    enum log_line_grade grade;
    uint32_t len;
    char text[SHOWN_LINE_BYTES];
};

struct error_lines {
    struct error_line lines[SHOWN_MAX];
    uint32_t n, fatal; /* fatal: how many are LINE_FATAL */
};

/* Would a line of this grade still be taken? */
bool error_lines_would_take (const struct error_lines *shown, enum log_line_grade grade);
void error_lines_offer (struct error_lines *shown, uint64_t offset, enum log_line_grade grade, struct text cleaned);
/* The line at `offset` is known: it needs not be shown. */
void error_lines_drop_at (struct error_lines *shown, uint64_t offset);
/* In the order of the log. */
uint32_t error_lines_copy (struct error_lines *shown, struct arena *arena, struct text **out);

#endif
