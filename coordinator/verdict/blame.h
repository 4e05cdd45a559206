/* blame.h - separates the failed hosts of a pass into causes and those that only failed because of them.
 *
 * In a slice-wide program one failing host takes its peers down, and they complain first and loudest. The cause is, in
 * this order: 1. each host with a recognised cause of its own, also a stopped one whose last output was a known error
 * of its host; 2. if time ran out, for all or for those that ended: the hosts for which the others waited at a gate, or
 * by where their programs stood; 3. the host that most others
 * (at least two) name in their texts; 4. if all ended hosts only complain of peers: the few that did not end and were
 * stopped; 5. the earliest host that failed for an unrecognised reason of its own, with all that the same limit ended;
 * 6. none, if all only complain: hosts that ended by themselves keep their complaint. A host that ended by itself with
 * the same end and words as the cause (except name, rank, pid, port or address) is a cause too: nothing shows which was
 * first. All others are cascades, except programs that run alone on their host. docs/spec/signatures.md, "Blame". */
#ifndef SLICEUP_COORDINATOR_VERDICT_BLAME_H
#define SLICEUP_COORDINATOR_VERDICT_BLAME_H

#include "common/model/fact.h"

struct blame_host {
    struct verdict *verdict; /* as judged; changed to a cascade here */
    enum ending ending;
    uint32_t code;     /* exit status or signal */
    uint32_t order;    /* in which its result came, from 0 */
    bool at_gate;      /* waited at a gate when it was stopped or timed out */
    bool late;         /* by itself, as others were stopped at their limit: `ending` is TIMEOUT, and it complains */
    bool killed;       /* by a signal from outside, which is a reason of its own */
    bool complains;    /* ended badly and says, without a known text, that the collective failed */
    struct text peers; /* its lines about other hosts: struct failure_reading */
    bool noticed;      /* a known complaint about other hosts is among them */
    bool lags;         /* by where it stood when it was stopped: stands.h */
    struct text place; /* where it stood then, if that is known: stand_phrase () */
    bool waits;        /* found here: another one lags */
    bool awaited;      /* found here: the others waited for it at a gate, or ended while it did not */
    bool silent;       /* found here: the others ended while it did not */
};
/* Beginning of the cause of a cascade that ran to its own limit; others were aborted. */
#define BLAME_AT_LIMIT "still ran at its limit"
/* What to do about a host of which nothing else is known. */
#define BLAME_NEXT "see what the program did last (its log and its phase), and whether the host was reachable"
/* hosts[i] had rank i in the pass: texts name ranks. `others`: what the hosts do that do not lag, as stands.h says it. */
void blame_slice (const struct plan *plan, struct blame_host *hosts, uint32_t n, struct text others,
                  struct arena *arena);
/* Does this signature mean that a peer was lost? */
bool blame_is_peer_complaint (const struct plan *plan, struct text id);
/* Says something else of the same host, phase and evidence. */
void verdict_replace (struct verdict *out, struct verdict with);
/* Where to look for why the worker of this host did not start or was lost: a command. */
struct text blame_advice_for_lost (const struct plan *plan, uint32_t host, struct arena *arena);

/* Finds hosts that a text names: "/job:jax_worker/replica:0/task:3 heartbeat timeout", "Connection closed by peer
 * [10.0.0.2]:8476". Pure. Names and addresses that several hosts share do not count. Texts are untrusted: they can only
 * name hosts. */
struct host_mentions;
/* `hosts[i]`: rank in the plan of the host with rank i in the pass. Lives in the arena. */
struct host_mentions *host_mentions_make_index (const struct plan *plan, const uint32_t *hosts, uint32_t n,
                                                struct arena *arena);
/* Sets named[rank] of each host named in `text`; the others are unchanged. */
void host_mentions_find (const struct host_mentions *host_mentions, struct text text, bool *named);

#endif
