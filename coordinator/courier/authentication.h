/* authentication.h - logs in to an ssh server: by an agent's keys, then by key files. Never by password or keyboard. It
 * knows the session and nothing of what follows. Waits for the server: the watchdog bounds that. */
#ifndef SLICEUP_COORDINATOR_COURIER_AUTHENTICATION_H
#define SLICEUP_COORDINATOR_COURIER_AUTHENTICATION_H

#include "common/base/err.h"
#include "coordinator/courier/request.h"
#include <libssh/libssh.h>

int authenticate (ssh_session session, const char *user, const struct request_ssh *ssh, struct err *err);

#endif
