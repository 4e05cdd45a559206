/* program_difference.h - what one host's program was launched with, and another's was not: why their programs may
 * differ.
 *
 * Flags and other variables as sets of words, packages by version, programs by fingerprint. Pure. */
#ifndef SLICEUP_COORDINATOR_VERDICT_PROGRAM_DIFFERENCE_H
#define SLICEUP_COORDINATOR_VERDICT_PROGRAM_DIFFERENCE_H

#include "common/model/result.h"

/* "XLA_FLAGS has --xla_a, the other hosts do not have it; jaxlib is 0.10.1, on the other hosts 0.10.2". Empty: nothing
 * that was reported differs. `one_other`: "the other host has". At most DIFFERENCE_SHOWN things, then how many more. */
enum { DIFFERENCE_SHOWN = 4 };
struct text program_difference_text (const struct result *mine, const struct result *theirs, bool one_other,
                                     struct arena *arena);
/* Both reported the same programs, and other flags: then the same program becomes another executable. */
bool program_differs_by_flags (const struct result *mine, const struct result *theirs, struct arena *arena);

#endif
