/* shown_lines.h - of the lines of a log, the few that look most like an error: what people get to see of a failure that
 * nobody recognises. Pure. */
#ifndef SLICEUP_COMMON_CLASSIFY_SHOWN_LINES_H
#define SLICEUP_COMMON_CLASSIFY_SHOWN_LINES_H

#include "common/classify/candidate.h"
#include "common/signature/signature.h"

/* Fills `seen->shown` (signature.h) from what the scan found and the candidates. Texts live in `arena`. */
void shown_lines_choose (const struct signature_set *set, const struct printed_lines *lines,
                         const struct exceptions *exceptions, const struct candidates *candidates, struct arena *arena,
                         struct signature_scan_result *seen);
/* A line as it is shown: cleaned and cut. */
struct text shown_line_of (struct text line, struct arena *arena);

#endif
