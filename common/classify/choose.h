/* choose.h - chooses the cause of an end among candidates and known texts. Pure. */
#ifndef SLICEUP_COMMON_CLASSIFY_CHOOSE_H
#define SLICEUP_COMMON_CLASSIFY_CHOOSE_H

#include "common/classify/candidate.h"
#include "common/signature/signature.h"

/* `seen`: what the scan for known texts found; gets the sighting that decides, if any does. `lines_before`: lines of
 * the log before those given. */
void choose_cause (const struct signature_set *set, const struct printed_lines *lines,
                   const struct candidates *candidates, uint32_t lines_before, struct arena *arena,
                   struct signature_scan_result *seen);

#endif
