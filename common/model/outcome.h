/* outcome.h - how an attempt ended, and who owns a failure. The words are those of the receipt. */
#ifndef SLICEUP_COMMON_MODEL_OUTCOME_H
#define SLICEUP_COMMON_MODEL_OUTCOME_H

#include "common/model/record.h"
#include <stdint.h>

enum outcome {
    OUTCOME_NONE = 0, /* not ended yet */
    OUTCOME_PASSED,
    OUTCOME_NOT_REACHED,   /* the ladder stopped below this rung */
    OUTCOME_CASCADE,       /* fell because another host did */
    OUTCOME_COULD_NOT_RUN, /* a precondition was missing: nothing was tested */
    OUTCOME_NO_REPORT,     /* lost, hung or killed: nobody knows; never rounded up or down */
    OUTCOME_FAILED,        /* ran, and broke the contract */
    OUTCOME_N
};
extern const struct names outcome_names; /* none passed not-reached cascade could-not-run no-report failed */

/* The one that matters more when a slice is summed up: failed > no-report > could-not-run > cascade > not-reached >
 * passed > none. The enum is in that order. */
enum outcome outcome_worst (enum outcome a, enum outcome b);

/* The owner of a failure, in the order in which one debugs (domain.md, 10). */
enum owner {
    OWNER_NONE = 0,
    OWNER_FRONTEND,
    OWNER_DEVICE,  /* device ownership: held by another process, not openable */
    OWNER_POLICY,  /* launch policy: what was set before import */
    OWNER_BACKEND, /* requested and observed backend differ */
    OWNER_BUNDLE,  /* packages, ABI */
    OWNER_CACHE,
    OWNER_COMPILER,
    OWNER_COLLECTIVE, /* collective, peer */
    OWNER_PROGRAM,    /* the canary or the user's program */
    OWNER_HOST,       /* machine, disk, memory, limits */
    OWNER_PLATFORM,   /* cloud, network, maintenance */
    OWNER_SLICEUP,    /* ourselves: worker, launcher, cancelled by the user */
    OWNER_UNKNOWN,
    OWNER_N
};
extern const struct names owner_names; /* none frontend device launch-policy backend bundle cache compiler collective
                                          program host platform sliceup unknown */
#endif
