/* way_ssh.h - the bootstrap on a host over ssh, straight or through a jump host. Spec: docs/spec/launch.md. */
#ifndef SLICEUP_COURIER_WAY_SSH_H
#define SLICEUP_COURIER_WAY_SSH_H

#include "common/base/err.h"
#include "coordinator/courier/dial.h"
#include "coordinator/courier/order.h"
#include "coordinator/courier/voice.h"
#include "coordinator/courier/way.h"

/* Waits until the command runs on the host: the guard bounds that. `near_end`: this machine's address as the connection
 * has it; "" through a jump host. NULL on error. */
struct way *way_ssh_open (const struct order *order, struct voice *voice, uint64_t until_ms,
                          char near_end[DIAL_ADDRESS_BYTES], struct err *err);

#endif
