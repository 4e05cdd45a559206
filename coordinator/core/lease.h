/* lease.h - may somebody be granted the right to write now? One bundle's lease, as its grantor sees it. Pure.
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
    uint64_t over_at_ms; /* HELD: the last answer that was sent ends then */
    uint64_t free_at_ms; /* nothing is granted before */
    bool held;           /* granted and not released; it may be over nevertheless: ask lease_state */
};

void lease_init (struct lease *lease, uint64_t term_ms); /* 0: LEASE_TERM_MS */
/* A coordinator that took over: the last grant of its journal that was not released may be alive, also when it was
 * given up as lost; since when it was not heard is not known. token 0: there is none. After lease_init. */
void lease_restart (struct lease *lease, uint64_t token, uint32_t host, uint64_t now_ms);
enum lease_state lease_state (const struct lease *lease, uint64_t now_ms);
/* When lease_state will be FREE if nobody is heard any more; 0: it is already, and was never anything else since. */
uint64_t lease_free_at (const struct lease *lease);
/* Only when FREE, with a token above every earlier one; the caller has journaled it. */
void lease_grant (struct lease *lease, uint64_t token, uint32_t host, uint64_t now_ms);
/* The holder asks for more time: true: say LEASE with the full term now. False: it holds nothing (any more). */
bool lease_grant_renewal (struct lease *lease, uint64_t token, uint32_t host, uint64_t now_ms);
/* It said itself that it writes no more: its sealed result is journaled, or its process is known to be dead. */
void lease_note_released (struct lease *lease, uint64_t token);

#endif
