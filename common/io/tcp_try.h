/* tcp_try.h - TCP connections within a bound, and whether something listens at an address and port. Any thread. */
#ifndef SLICEUP_COMMON_IO_TCP_TRY_H
#define SLICEUP_COMMON_IO_TCP_TRY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include <netdb.h>

/* A connected descriptor, non-blocking and close-on-exec, or -1 and errno; ETIMEDOUT: no answer until then (BOOTTIME). */
int tcp_connect (const struct addrinfo *to, uint64_t until_ms);

/* `address`: a name or a number; a name may have several, which share the time. Waits; the name service has bounds of
 * its own. False: `why` has only the reason, such as "connection refused" or "no answer within 3 s". */
bool tcp_try (const char *address, uint16_t port, uint64_t within_ms, struct err *why);

#endif
