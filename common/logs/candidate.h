/* candidate.h - the places of a log that may be why its program ended, with the rule that each one meets.
 *
 * Candidates are exceptions, one of each chain, and single lines that look like the reason of an end. Pure. */
#ifndef SLICEUP_COMMON_LOGS_CANDIDATE_H
#define SLICEUP_COMMON_LOGS_CANDIDATE_H

#include "common/logs/signature.h"
#include "common/logs/traceback.h"
#include "common/logs/words.h"

enum { CANDIDATES_MAX = 192 };

struct candidate {
    uint32_t first, last; /* lines */
    uint32_t shown;       /* the line to show: with the type, or itself */
    uint32_t said_to;     /* the last line of its words, which begin with `shown` */
    uint32_t order;       /* of its first line, as printed */
    bool exception;
    bool cut_off;  /* a traceback whose exception is not in the log: it says nothing, and is an end */
    bool fatal;    /* an uncaught exception, level F, a crash */
    bool harmless; /* says itself that nothing ended; or level info or warning */
    bool over;     /* the program went on: steps, epochs and other counters grew after it */
    struct text text;
    const struct signature *rule; /* NULL: no rule holds */
};

struct candidates {
    struct candidate *items;
    uint32_t n;
};

/* A line that is a candidate by its words has one of these; a traceback begins with one. By those that begin with the
 * end of a line the next one may have a level: "E0517 10:11:12 ...". */
void candidate_words (struct word_finder *finder);
/* In the order in which they were printed. Of more than CANDIDATES_MAX lines that look like errors the last count. */
void candidates_find (const struct signature_set *set, const struct printed_lines *lines,
                      const struct exceptions *exceptions, struct arena *arena, struct candidates *out);

/* ---- choose ---- */

/* Chooses the cause of an end among candidates and known texts. Pure. */

/* `seen`: what the scan for known texts found; gets the sighting that decides, if any does. `lines_before`: lines of
 * the log before those given. */
void choose_cause (const struct signature_set *set, const struct printed_lines *lines,
                   const struct candidates *candidates, uint32_t lines_before, struct arena *arena,
                   struct signature_scan_result *seen);

/* Is it the name of an errno that rules can ask for: ENOENT? */
bool error_rule_knows_errno (struct text name);

/* ---- shown_lines.c ---- */

/* Of the lines of a log, the few that look most like an error: what people get to see of a failure that
 * nobody recognises. Pure. */

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
