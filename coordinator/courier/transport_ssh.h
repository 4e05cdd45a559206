/* transport_ssh.h - the bootstrap on a host over ssh, straight or through a jump host. Spec: docs/spec/launch.md. */
#ifndef SLICEUP_COORDINATOR_COURIER_TRANSPORT_SSH_H
#define SLICEUP_COORDINATOR_COURIER_TRANSPORT_SSH_H

#include "common/base/err.h"
#include "coordinator/courier/dial.h"
#include "coordinator/courier/reporter.h"
#include "coordinator/courier/request.h"
#include "coordinator/courier/transport.h"

/* Waits until the command runs on the host: the watchdog bounds that. `near_end`: this machine's address as the
 * connection has it; "" through a jump host. NULL on error. */
struct transport *transport_ssh_open (const struct request *request, struct reporter *reporter, uint64_t until_ms,
                                      char near_end[DIAL_ADDRESS_BYTES], struct err *err);

#endif
