/* lease.h - decides whether the right to write may be granted now: one bundle's lease, as its grantor sees it. Pure.
 *
 *              lease_grant               renewals: lease_grant_renewal
 *     free ------------------> held ----------------------------+
 *      ^  ^                      | |   sent + 1.02 T passes     |
 *      |  +--- lease_note_released ----+ +--------> over -------------+
 *      |                                       |
 *      +------------- lock-delay passes -------+
 *
 * All instants are milliseconds of one clock that counts suspend (CLOCK_BOOTTIME). Not thread-safe. */
#ifndef SLICEUP_COORDINATOR_CORE_LEASE_H
#define SLICEUP_COORDINATOR_CORE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

enum lease_state { LEASE_FREE = 0, LEASE_HELD, LEASE_OVER };

struct lease {
    uint64_t term_ms;
    uint64_t token; /* of the last grant; 0: none yet */
    uint32_t host;
    uint64_t over_at_ms; /* HELD: end of the last lease that was sent */
    uint64_t free_at_ms; /* no grant before this */
    bool held;           /* granted and not released, but maybe over: ask lease_state */
};

void lease_init (struct lease *lease, uint64_t term_ms); /* 0: LEASE_TERM_MS */
/* For a coordinator that took over, after lease_init: an unreleased last grant of the journal, even one given up as
 * lost, may still be alive, and nobody knows when its holder was last heard. token 0: no such grant. */
void lease_restart (struct lease *lease, uint64_t token, uint32_t host, uint64_t now_ms);
enum lease_state lease_state (const struct lease *lease, uint64_t now_ms);
/* When lease_state becomes FREE if no holder is heard any more; 0: it is FREE already. */
uint64_t lease_free_at (const struct lease *lease);
/* Only when FREE, with a token above every earlier one; the caller has journaled it. */
void lease_grant (struct lease *lease, uint64_t token, uint32_t host, uint64_t now_ms);
/* The holder asks for more time. True: send LEASE with the full term now. False: it does not hold the lease. */
bool lease_grant_renewal (struct lease *lease, uint64_t token, uint32_t host, uint64_t now_ms);
/* The holder writes no more: its sealed result is journaled, or its process is known to be dead. */
void lease_note_released (struct lease *lease, uint64_t token);

#endif
