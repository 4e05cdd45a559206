/* printed_lines.h - the end of a log as lines: cleaned, with who speaks and at which level.
 *
 * A prefix tells who printed a line: "[rank0]:", "(Worker pid=7)", "3: ", "[1,0]<stderr>:", "pod-1 | ". Lines of one
 * speaker belong together although others print between them. docs/spec/signatures.md names the forms. Pure. */
#ifndef SLICEUP_COMMON_LOGS_PRINTED_LINES_H
#define SLICEUP_COMMON_LOGS_PRINTED_LINES_H

#include "common/logs/log_line.h"

/* Of a log with more lines the last ones are read, of a longer line its beginning. */
enum { PRINTED_LINES_MAX = 32768, PRINTED_LINE_BYTES = 4096 };

/* Who counted on more often than this behind an error has handled it: what waits in a pipe, or another thread, may print
 * a few steps more. */
enum { WORKED_ON = 3 };

struct printed_line {
    uint64_t offset;  /* of its first byte in the log */
    uint32_t number;  /* of the line in the text, from 1, as line ends count it */
    uint32_t order;   /* among all lines, as printed */
    struct text text; /* without terminal sequences; blanks at its beginning stay */
    uint32_t body;    /* bytes of prefixes and times in front */
    uint32_t speaker; /* equal for lines of one speaker; 0: no prefix */
    enum log_level level;
    uint32_t worked; /* counters of its speaker's work that grew behind it */
};

/* The lines of one speaker stand together, in the order in which they were printed. */
struct printed_lines {
    struct printed_line *items;
    uint32_t n;
    struct text all; /* the texts of the lines, one behind the other as printed */
};

/* `offset`: of the text in the log. Everything lives in the arena. */
void printed_lines_split (struct text text, uint64_t offset, struct arena *arena, struct printed_lines *out);
/* The line behind its prefixes. */
struct text printed_line_body (const struct printed_line *line);

#endif
