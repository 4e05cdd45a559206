/* ssh_login.h - an authenticated ssh session with one server: key exchange, host key, who we are; in this order, each a
 * step.
 *
 * Only what it is given counts: no file of the user's ssh configuration is read. It waits for the server: the watchdog
 * bounds that. A server that is too busy to greet (MaxStartups) is tried again. */
#ifndef SLICEUP_COORDINATOR_COURIER_SSH_LOGIN_H
#define SLICEUP_COORDINATOR_COURIER_SSH_LOGIN_H

#include "common/base/err.h"
#include "coordinator/courier/reporter.h"
#include "coordinator/courier/request.h"
#include <libssh/libssh.h>

struct ssh_login {
    const char *address; /* the name under which the host key is known */
    const char *user;    /* "": whoever runs the courier */
    uint16_t port;
    const struct request_ssh *ssh;
    struct reporter *reporter;
    uint64_t until_ms; /* BOOTTIME */
};

/* Connects `fd` itself when it is -1. The session is the caller's and is ended with ssh_login_close; so is its
 * descriptor, also the one given. NULL on error: then both are gone. */
ssh_session ssh_login_open (const struct ssh_login *login, int fd, struct err *err);
void ssh_login_close (ssh_session session);

#endif
