/* classify.h - reads the log of a failed program: which error is the cause, whose it is, and how sure that is.
 *
 * Three things are read: known texts (common/logs), the form of errors (rules of this room), and what the log says
 * of itself: levels, speakers, chains of exceptions, work that went on. docs/spec/signatures.md has the order.
 *
 * What comes out are sightings and lines, as a worker reports them. At most one sighting decides. Pure; one thread a
 * reading; what a log holds never fails and never decides an allocation. */
#ifndef SLICEUP_COMMON_LOGS_CLASSIFY_H
#define SLICEUP_COMMON_LOGS_CLASSIFY_H

#include "common/logs/signature.h"

/* Known texts are looked for in all of a log, errors by their form in the end of it. */
enum { CLASSIFY_END_BYTES = 1 << 20 };

struct classify_run;
struct classify_run *classify_begin (const struct signature_set *set);
void classify_bytes (struct classify_run *run, struct text bytes); /* any piece of the log, in order */
/* Also frees the run. `out` may be NULL: the run is given up. */
void classify_end (struct classify_run *run, struct arena *arena, struct signature_scan_result *out);

/* All of the above for a text in memory. */
void classify_text (const struct signature_set *set, struct text text, struct arena *arena,
                    struct signature_scan_result *out);

/* ---- what the sightings say of the cause; pure, borrows everything ---- */

enum cause_weight {
    CAUSE_UNKNOWN = 0, /* nothing was recognised that owns a failure */
    CAUSE_NOISE,       /* what is printed in runs that work, too, and nothing else */
    CAUSE_PEER,        /* it says that somebody else failed */
    CAUSE_OWN,
};

struct cause_decision {
    enum cause_weight weight;
    struct text id; /* of the signature; empty: UNKNOWN */
    enum owner owner, else_owner;
    bool likely;      /* the form of the error speaks for it; no known text says it */
    struct text next; /* what to look at */
    struct text line; /* that decided it */
    bool transient;   /* it passes by itself, and nothing else that was seen speaks against that */
};

/* `set`: of the plan's signatures. A sighting that decides counts when its id is one of them: it comes from a host. */
void cause_decide (const struct signature_set *set, const struct signature_scan_result *seen,
                   struct cause_decision *out);

#endif
