/* shown.h - of the lines of a log, the few that look most like an error: what people get to see of a failure that
 * nobody recognises. The graver ones stay, of equally grave ones the earlier; the same text once. */
#ifndef SLICEUP_COMMON_SIGNATURE_SHOWN_H
#define SLICEUP_COMMON_SIGNATURE_SHOWN_H

#include "common/signature/line.h"

struct shown_line {
    uint64_t offset;
    enum line_grade grade;
    uint32_t len;
    char text[SHOWN_LINE_BYTES];
};

struct shown {
    struct shown_line lines[SHOWN_MAX];
    uint32_t n, fatal; /* fatal: how many are LINE_FATAL */
};

/* Would a line of this grade still be taken? */
bool shown_wants (const struct shown *shown, enum line_grade grade);
void shown_offer (struct shown *shown, uint64_t offset, enum line_grade grade, struct text cleaned);
/* The line at `offset` is known: it needs not be shown. */
void shown_drop (struct shown *shown, uint64_t offset);
/* In the order of the log. */
uint32_t shown_take (struct shown *shown, struct arena *arena, struct text **out);

#endif
