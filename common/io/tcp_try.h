/* tcp_try.h - whether something listens at an address and port: a connection is made, and closed. Any thread. */
#ifndef SLICEUP_COMMON_IO_TCP_TRY_H
#define SLICEUP_COMMON_IO_TCP_TRY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

/* `address`: a name or a number; a name may have several, which share the time. Waits; the name service has bounds of
 * its own. False: `why` has only the reason, such as "connection refused" or "no answer within 3 s". */
bool tcp_try (const char *address, uint16_t port, uint64_t within_ms, struct err *why);

#endif
