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
enum layer {
    LAYER_NONE = 0,
    LAYER_FRONTEND,
    LAYER_DEVICE,  /* device ownership: held by another process, not openable */
    LAYER_POLICY,  /* launch policy: what was set before import */
    LAYER_BACKEND, /* requested and observed backend differ */
    LAYER_BUNDLE,  /* packages, ABI */
    LAYER_CACHE,
    LAYER_COMPILER,
    LAYER_COLLECTIVE, /* collective, peer */
    LAYER_PROGRAM,    /* the canary or the user's program */
    LAYER_HOST,       /* machine, disk, memory, limits */
    LAYER_PLATFORM,   /* cloud, network, maintenance */
    LAYER_SLICEUP,    /* ourselves: worker, launcher, cancelled by the user */
    LAYER_UNKNOWN,
    LAYER_N
};
extern const struct names layer_names; /* none frontend device launch-policy backend bundle cache compiler collective
                                          program host platform sliceup unknown */
#endif
