/* decide.h - what the sightings of a log say of its cause, with the signatures of a plan.
 *
 * Pure; borrows everything. */
#ifndef SLICEUP_COMMON_LOGS_DECIDE_H
#define SLICEUP_COMMON_LOGS_DECIDE_H

#include "common/logs/signature.h"

enum cause_weight {
    CAUSE_UNKNOWN = 0, /* nothing was recognised that owns a failure */
    CAUSE_NOISE,       /* what is printed in runs that work, too, and nothing else */
    CAUSE_PEER,        /* it says that somebody else failed */
    CAUSE_OWN,
};

struct cause_decision {
    enum cause_weight weight;
    struct text id; /* of the signature; empty: UNKNOWN */
    enum owner owner;
    bool likely;      /* the form of the error speaks for it; no known text says it */
    struct text next; /* what to look at */
    struct text line; /* that decided it */
    bool transient;   /* it passes by itself, and nothing else that was seen speaks against that */
};

/* `set`: of the plan's signatures. A sighting that decides counts when its id is one of them: it comes from a host. */
void cause_decide (const struct signature_set *set, const struct signature_scan_result *seen,
                   struct cause_decision *out);

#endif
