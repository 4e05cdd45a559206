/* carrier.h - carries a worker's link through the ssh connection that started it, to a coordinator that its host
 * cannot reach.
 *
 * The host's sshd listens on its loopback (RFC 4254, 7.1); every connection there becomes a channel, and goes on to the
 * coordinator's own port. What passes is CURVE from end to end: nothing is read here. One thread, which never waits but
 * in carrier_open and carrier_tell_way. */
#ifndef SLICEUP_COORDINATOR_COURIER_CARRIER_H
#define SLICEUP_COORDINATOR_COURIER_CARRIER_H

#include "common/base/err.h"
#include "coordinator/courier/transport.h"
#include <libssh/libssh.h>

struct carrier;
/* Makes the server listen, and fills in the ports on the host's 127.0.0.1. NULL on error. Borrows the session. */
struct carrier *carrier_open (ssh_session session, const struct carrier_ends *to, uint64_t until_ms,
                              uint16_t at[CARRIER_ENDS], struct err *err);
/* Writes the ports to the file `way` in the worker's folder, which a running worker reads. Waits; the watchdog
 * bounds that. */
int carrier_tell_way (ssh_session session, const struct request *request, const uint16_t at[CARRIER_ENDS],
                      struct err *err);
/* Accepts, moves bytes, and drops what ended. True: something happened, so more may. */
bool carrier_move (struct carrier *carrier);
bool carrier_is_idle (const struct carrier *carrier); /* no connection is open */
/* Adds what to poll for its sockets, at most CARRIED_MAX; `session_events`: for its session. */
size_t carrier_watch (const struct carrier *carrier, struct pollfd *entries, short *session_events);
void carrier_close (struct carrier *carrier); /* may be NULL; before the session */

#endif
