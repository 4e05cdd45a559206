/* dial.h - a TCP connection to an address by name. Waits, but not for longer than it is told (the watchdog bounds the
 * name service). It knows nothing of ssh. The descriptor is the caller's; non-blocking, close-on-exec. */
#ifndef SLICEUP_COORDINATOR_COURIER_DIAL_H
#define SLICEUP_COORDINATOR_COURIER_DIAL_H

#include "common/base/err.h"
#include "coordinator/courier/reporter.h"
#include <stddef.h>
#include <stdint.h>

/* Tries the addresses in turn, in steps `resolve` and `connect`. Returns the descriptor or -1. */
int dial (const char *address, uint16_t port, uint64_t until_ms, struct reporter *reporter, struct err *err);
/* The near end of a connection, as a number. */
enum { DIAL_ADDRESS_BYTES = 64 };
int dial_local_address (int fd, char out[DIAL_ADDRESS_BYTES], struct err *err);

#endif
