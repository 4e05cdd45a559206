/* exchange.h - one launch of a program on devices of several processes: each sends the values of its own devices to the
 * others, and has theirs afterwards.
 *
 * Sizes come from the own arguments, which are the same on every device of a program; a peer that sends another size or
 * another program's name is refused. A peer that is gone is waited for, as chips wait on a torus: jax's heartbeats and whoever
 * started the program end that. */
#ifndef SLICEUP_WORKER_STANDIN_EXCHANGE_H
#define SLICEUP_WORKER_STANDIN_EXCHANGE_H

#include "worker/standin/meeting.h"
#include <stddef.h>

struct exchange_peer {
    uint32_t process;
    char *values; /* of its devices, in order; the caller's */
    size_t bytes;
};
struct exchange {
    const struct meeting *meeting;
    uint64_t program; /* what all must agree on */
    const char *values;
    size_t bytes; /* of the own devices */
    struct exchange_peer *peers;
    uint32_t peers_n;
};

int exchange_run (const struct exchange *exchange, struct refusal *refusal);

#endif
