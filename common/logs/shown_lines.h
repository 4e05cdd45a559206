/* shown_lines.h - of the lines of a log, the few that look most like an error: what people get to see of a failure that
 * nobody recognises. Pure. */
#ifndef SLICEUP_COMMON_LOGS_SHOWN_LINES_H
#define SLICEUP_COMMON_LOGS_SHOWN_LINES_H

#include "common/logs/candidate.h"
#include "common/logs/log_line.h"
#include "common/logs/signature.h"

/* A line that looks like an error. */
struct error_line {
    uint64_t offset;
    enum log_line_grade grade;
    struct text text;
};
/* Those of the log before its end; zeroed: none. What is graver stays, of equally grave ones the earlier. */
enum { EARLIER_MAX = 64 };
struct earlier_lines {
    struct error_line items[EARLIER_MAX];
    uint32_t n;
    struct arena arena;
};

/* What the end of a log is read as. */
struct log_end {
    struct printed_lines lines;
    struct exceptions exceptions;
    struct candidates candidates;
};

/* Most parts of a log have nothing to show, and are not worth more reading. */
bool shown_lines_may_be_in (struct text part);
/* The part of the log is about to be forgotten. */
void shown_lines_keep (const struct log_end *part, struct earlier_lines *earlier);
/* Fills `seen->shown` (signature.h). Texts live in `arena`. */
void shown_lines_choose (const struct signature_set *set, const struct log_end *end,
                         const struct earlier_lines *earlier, struct arena *arena, struct signature_scan_result *seen);
/* A line as it is shown: cleaned and cut. */
struct text shown_line_of (struct text line, struct arena *arena);

#endif
