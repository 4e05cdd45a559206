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
#include "coordinator/courier/transport.h"
#include <libssh/libssh.h>
#include <stddef.h>
#include <stdint.h>

struct ssh_login {
    const char *address;
    const char *host_key_alias; /* the name under which the host key is known; "": address and port */
    int alias_fd;               /* ssh_login_open's */
    const char *user;           /* "": whoever runs the courier */
    uint16_t port;
    const struct request_ssh *ssh;
    struct reporter *reporter;
    uint64_t until_ms; /* BOOTTIME */
};

/* Connects `fd` itself when it is -1. The session is the caller's and is ended with ssh_login_close; so is its
 * descriptor, also the one given. NULL on error: then both are gone. */
ssh_session ssh_login_open (const struct ssh_login *login, int fd, struct err *err);
void ssh_login_close (ssh_session session);

/* host_key.c - checks the host key, after the key exchange and before anything else is sent.
 * libssh's own verdict has to be OK, and our reading of the same file as well: libssh 0.10 passes over "@revoked" lines
 * and over negated patterns. Nothing is ever added to the file. */

/* Before anything reads it: is it a file of a size that somebody keeps, and no pipe or device? */
int host_key_file_check (const char *known_hosts, struct err *err);
/* libssh takes no name of a host with '_', '+' or '/', and gcloud's aliases may hold them. So it gets a file in memory:
 * the lines that name the alias, under this name instead. The descriptor is the caller's; -1 on error. */
#define HOST_KEY_ALIAS_STAND_IN "alias"
int host_key_alias_file (const char *known_hosts, const char *alias, struct err *err);
/* `name`: as the file has it. The key of a host that the file does not know is told as a remark. */
int host_key_check (ssh_session session, const struct ssh_login *login, const char *name, uint16_t port,
                    struct err *err);

/* authentication.c - logs in to an ssh server: by an agent's keys, then by key files. Never by password or keyboard. It
 * knows the session and nothing of what follows. Waits for the server: the watchdog bounds that. */
int authenticate (ssh_session session, const char *user, const struct request_ssh *ssh, struct err *err);

/* jump.c - opens a connection through a jump host: a separate session on its own thread, available as a socket.
 * The jump host is checked like any other before it hears anything. No session is ever used by two threads: the thread
 * takes the one to the jump host over. jump_close ends the connection, and waits for the thread within a bound. */

struct jump;
/* `login` is to the jump host. *fd: a socket that stands for the connection to address:port, the caller's. */
struct jump *jump_open (const struct ssh_login *login, const char *address, uint16_t port, int *fd, struct err *err);
void jump_close (struct jump *jump);

/* ssh_login.c: a TCP connection to an address by name. Waits, but not for longer than it is told (the watchdog bounds the
 * name service). It knows nothing of ssh. The descriptor is the caller's; non-blocking, close-on-exec. */
/* Tries the addresses in turn, in steps `resolve` and `connect`. Returns the descriptor or -1. */
int dial (const char *address, uint16_t port, uint64_t until_ms, struct reporter *reporter, struct err *err);
/* The near end of a connection, as a number. */
int dial_local_address (int fd, char out[DIAL_ADDRESS_BYTES], struct err *err);

#endif
