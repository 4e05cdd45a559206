/* decide.h - chooses the known text that is the cause of a host's failure, among those that its program printed.
 *
 * Rules: a cause before a text that speaks of peers before noise; among causes the earliest, on one line the one that
 * stands first in the lists; what is said of peers, and noise, only when no line of another kind looks like the reason
 * of an end. Pure; borrows everything. */
#ifndef SLICEUP_COMMON_SIGNATURE_DECIDE_H
#define SLICEUP_COMMON_SIGNATURE_DECIDE_H

#include "common/signature/signature.h"

enum signature_weight {
    SIGNATURE_UNKNOWN = 0, /* nothing was recognised that owns a failure */
    SIGNATURE_NOISE,       /* what is printed in runs that work, too, and nothing else */
    SIGNATURE_PEER,        /* it says that somebody else failed */
    SIGNATURE_CAUSE,
};

struct signature_decision {
    enum signature_weight weight;
    const struct signature *signature; /* NULL: UNKNOWN */
    struct text line;                  /* that decided it */
    bool transient;                    /* it passes by itself, and nothing else that was seen speaks against that */
};

/* `items`: the plan's. Sightings of signatures that are not among them are passed over: they come from a host. */
void signature_decide (const struct signature *items, uint32_t n, const struct signature_scan_result *seen,
                       struct signature_decision *out);

#endif
