/* bootstrap_session.h - starts a worker on its host over an open connection: bootstrap, bundle, launch line, answer,
 * GO, and what comes after.
 *
 * The loop around the bootstrap protocol: it waits for the transport and the coordinator at once, and never longer than
 * the deadline until the worker has answered. It knows nothing of ssh or Slurm. One thread. */
#ifndef SLICEUP_COORDINATOR_COURIER_BOOTSTRAP_SESSION_H
#define SLICEUP_COORDINATOR_COURIER_BOOTSTRAP_SESSION_H

#include "coordinator/courier/courier_input.h"
#include "coordinator/courier/reporter.h"
#include "coordinator/courier/request.h"
#include "coordinator/courier/transport.h"

struct bootstrap_session_end {
    int status;   /* of the courier: 0 when the worker was brought there and GO was said */
    bool refused; /* in `step`, because of `why`: to be said when the way is closed */
    enum step step;
    struct err why;
    uint64_t leave_ms; /* how long the program may take to end by itself */
};
void bootstrap_session_run (const struct request *request, struct reporter *reporter, struct courier_input *input,
                            struct transport *transport, uint64_t until_ms, struct bootstrap_session_end *end);

#endif
