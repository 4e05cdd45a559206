/* outcome.h - how an attempt ended, and who owns a failure. The receipt uses the same words. */
#ifndef SLICEUP_COMMON_MODEL_OUTCOME_H
#define SLICEUP_COMMON_MODEL_OUTCOME_H

#include "common/model/record.h"

/* Journals and messages hold these numbers. */
enum outcome {
    OUTCOME_NONE = 0, /* not ended yet */
    OUTCOME_PASSED,
    OUTCOME_NOT_REACHED, /* the ladder stopped below this rung */
    OUTCOME_CASCADE,     /* failed because another host did */
    OUTCOME_BLOCKED,     /* a precondition was missing: nothing was tested */
    OUTCOME_LOST,        /* not heard of any more: the host, its worker or its lease is gone */
    OUTCOME_FAILED,      /* ran, and broke the contract or was killed */
    OUTCOME_TIMED_OUT,   /* still running at its limit */
    OUTCOME_CANCELLED,   /* told to stop */
    OUTCOME_N
};
extern const struct enum_names
    outcome_names; /* none passed not-reached cascade blocked lost failed timed-out cancelled */

/* All but none, worst first: failed > lost > timed-out > blocked > cancelled > cascade > not-reached > passed. */
extern const enum outcome outcome_order[OUTCOME_N - 1];
/* The one that counts more in a slice's outcome. */
enum outcome outcome_worst (enum outcome a, enum outcome b);

/* Who owns a failure. Journals and messages hold these numbers. */
enum owner {
    OWNER_NONE = 0,
    OWNER_DEVICE, /* held by another process, not openable */
    OWNER_LAUNCH, /* settings before the program began: variables, flags, backend, mesh */
    OWNER_BUNDLE, /* packages, ABI */
    OWNER_CACHE,
    OWNER_COMPILER,
    OWNER_PEER,     /* another host of the slice */
    OWNER_PROGRAM,  /* the canary or the user's program */
    OWNER_HOST,     /* machine, disk, memory, limits */
    OWNER_PLATFORM, /* cloud, network, maintenance */
    OWNER_SLICEUP,  /* ourselves: worker, launcher, a run that was cancelled */
    OWNER_UNKNOWN,
    OWNER_N
};
extern const struct enum_names owner_phrases; /* as people call them: "the device" */
enum { OWNERS_TEXT_BYTES = 64 };
/* "how it was launched, else the host"; `otherwise` NONE: it has one owner. */
const char *owners_print (enum owner owner, enum owner otherwise, char out[OWNERS_TEXT_BYTES]);
extern const struct enum_names owner_names; /* none device launch bundle cache compiler peer program host platform
                                          sliceup unknown */

/* How sure the owner is. */
enum certainty {
    CERTAINTY_NONE = 0, /* nothing failed */
    CERTAINTY_KNOWN,    /* a known text or the coordinator's own observation proves it */
    CERTAINTY_LIKELY,   /* the form of the error suggests it, or a text that has two owners: docs/spec/signatures.md */
    CERTAINTY_UNKNOWN,
    CERTAINTY_N
};
extern const struct enum_names certainty_names; /* none known likely unknown */
/* `likely`: the owner follows from the form of an error. `otherwise`: the second owner, or NONE. */
enum certainty certainty_of_owner (enum owner owner, enum owner otherwise, bool likely);
#endif
