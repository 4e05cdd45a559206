/* lease_deadline.h - when a holder of the write lease has something to do by itself. */
#ifndef SLICEUP_TESTS_LEASE_DEADLINE_H
#define SLICEUP_TESTS_LEASE_DEADLINE_H

#include "worker/core/member_state.h"

/* The next instant at which a question is due, or it must stop; UINT64_MAX: none. */
static inline uint64_t lease_client_deadline_ms (const struct lease_client *lease_client)
{
    uint64_t ask_at_ms = lease_client_ask_at_ms (lease_client), stop_at_ms = lease_client_stop_at_ms (lease_client);
    return ask_at_ms < stop_at_ms ? ask_at_ms : stop_at_ms;
}

#endif
