/* log_line.h - one line of a log: where it begins and ends, made fit for people, and how much it looks like an error.
 *
 * Knows no signatures. Pure. */
#ifndef SLICEUP_COMMON_LOGS_LOG_LINE_H
#define SLICEUP_COMMON_LOGS_LOG_LINE_H

#include "common/model/result.h"

/* How far from a place its line is looked for: whoever prints longer ones is shown the part around it. */
enum { LINE_REACH_BYTES = 4096 };

enum log_level {
    LEVEL_NONE = 0, /* the line does not say */
    LEVEL_INFO,     /* or debug */
    LEVEL_WARNING,
    LEVEL_ERROR,
    LEVEL_FATAL,
};

enum log_line_grade {
    LINE_PLAIN = 0,
    LINE_HARMLESS, /* says itself that it is of level info or warning */
    LINE_ERROR,    /* speaks of something that failed */
    LINE_FATAL,    /* an exception, a status, a fatal log line: looks like the reason of an end */
};

/* The line around `at`, which is below `window.len`; what a carriage return was to overprint is a line of its own. */
struct text log_line_around (struct text window, uint32_t at);
/* Bytes of the terminal sequence that begins at `at`, where an ESC is; at least 1. */
uint32_t log_line_escape_bytes (struct text window, uint32_t at);
/* Without terminal sequences, blanks at both ends, or bytes that a terminal would not print: what fits in `bytes`. */
uint32_t log_line_clean (struct text line, char *out, uint32_t bytes);
/* The level that a body says it has: "E1121 15:16:28.7 1 a.cc:7] ", "[ERROR]", "WARNING:", "level=error". */
enum log_level log_line_level (struct text body);
enum log_line_grade log_line_grade (struct text cleaned);
/* What is graded as an error by its words has one of these, with bars between (words.h). */
extern const char log_line_words[];

#endif
