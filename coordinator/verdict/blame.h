/* blame.h - of the hosts of one pass that did not pass: who is the cause, and who only failed because of it.
 *
 * For a slice-wide program one failing host takes its peers down, and they complain first and loudest. The cause is, in
 * this order:
 * 1. who has a recognised cause of its own; one that was stopped, too, if it had printed a known error of its host last;
 * 2. where time ran out at a gate: those for whom the others waited there;
 * 3. the host that most of the others name in their texts, two at least;
 * 4. where all that ended only complain of their peers: the few that did not end and were stopped;
 * 5. the earliest of those that failed for a reason of their own that nobody recognises, with all whom the same limit
 *    ended;
 * 6. nobody, where each only complains: all that ended by themselves keep their complaint.
 * Who ended by itself in the same way and words as the cause (but for its name, rank, pid, port or address) is a cause
 * beside it: nothing tells who was first. All others are cascades. Programs that run alone on their host never are.
 * docs/spec/signatures.md, "Blame". */
#ifndef SLICEUP_COORDINATOR_VERDICT_BLAME_H
#define SLICEUP_COORDINATOR_VERDICT_BLAME_H

#include "common/model/fact.h"
#include "common/model/plan.h"

struct blame_host {
    struct verdict *verdict; /* as judged; changed to a cascade here */
    enum ending ending;
    uint32_t code;     /* exit status or signal */
    uint32_t order;    /* in which the results came, from 0 */
    bool at_gate;      /* waited at a gate when it was stopped or timed out */
    bool killed;       /* by a signal from outside: a reason of its own, whoever sent it */
    bool complains;    /* ended badly and says, in no known text, that the collective failed */
    struct text peers; /* what it printed of other hosts: struct failure_reading */
    bool awaited;      /* found here: the others waited for it at a gate, or ended while it did not */
    bool silent;       /* found here: of the latter kind */
};
/* How the cause of a cascade begins that nobody stopped before its own limit; the others were aborted. */
#define BLAME_AT_LIMIT "still ran at its limit"
/* hosts[i] had rank i in the pass: texts name ranks. */
void blame_slice (const struct plan *plan, struct blame_host *hosts, uint32_t n, struct arena *arena);
/* Is this signature's text what is said by who lost a peer? */
bool blame_is_peer_complaint (const struct plan *plan, struct text id);
/* What to look at when a worker did not start, or was lost: by how it got to its host. */
struct text blame_advice_for_lost (enum launcher launcher);

/* Which hosts the texts of others name: "/job:jax_worker/replica:0/task:3 heartbeat timeout",
 * "Connection closed by peer [10.0.0.2]:8476". Pure. Names and addresses that several hosts share say nothing. A text
 * comes from a host: it can name, and no more. */
struct host_mentions;
/* `hosts[i]`: index in the plan of the host with rank i in the pass. Lives in the arena. */
struct host_mentions *host_mentions_make_index (const struct plan *plan, const uint32_t *hosts, uint32_t n,
                                                struct arena *arena);
/* Sets named[rank] of each that is named in `text`; the others are left as they are. */
void host_mentions_find (const struct host_mentions *host_mentions, struct text text, bool *named);

#endif
