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

#endif
