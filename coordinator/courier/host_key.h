/* host_key.h - checks the host key, after the key exchange and before anything else is sent.
 *
 * libssh's own verdict has to be OK, and our reading of the same file as well: libssh 0.10 passes over "@revoked" lines
 * and over negated patterns. Nothing is ever added to the file. */
#ifndef SLICEUP_COORDINATOR_COURIER_HOST_KEY_H
#define SLICEUP_COORDINATOR_COURIER_HOST_KEY_H

#include "common/base/err.h"
#include <libssh/libssh.h>
#include <stdint.h>

/* Before anything reads it: is it a file of a size that somebody keeps, and no pipe or device? */
int host_key_file_check (const char *known_hosts, struct err *err);
int host_key_check (ssh_session session, const char *known_hosts, const char *address, uint16_t port, struct err *err);

#endif
