/* jump.h - opens a connection through a jump host: a separate session on its own thread, available as a socket.
 *
 * The jump host is checked like any other before it hears anything. No session is ever used by two threads: the thread
 * takes the one to the jump host over. jump_close ends the connection, and waits for the thread within a bound. */
#ifndef SLICEUP_COORDINATOR_COURIER_JUMP_H
#define SLICEUP_COORDINATOR_COURIER_JUMP_H

#include "common/base/err.h"
#include "coordinator/courier/ssh_login.h"
#include <stdint.h>

struct jump;
/* `login` is to the jump host. *fd: a socket that stands for the connection to address:port, the caller's. */
struct jump *jump_open (const struct ssh_login *login, const char *address, uint16_t port, int *fd, struct err *err);
void jump_close (struct jump *jump);

#endif
