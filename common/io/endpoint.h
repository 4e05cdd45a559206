/* endpoint.h - an address and a port as libzmq takes them. Pure. */
#ifndef SLICEUP_COMMON_IO_ENDPOINT_H
#define SLICEUP_COMMON_IO_ENDPOINT_H

#include "common/base/err.h"
#include <stdint.h>

enum { ENDPOINT_BYTES = 300 };
struct endpoint {
    char text[ENDPOINT_BYTES];
};
int endpoint_make (const char *address, uint16_t port, struct endpoint *out, struct err *err); /* port 0: any */
uint16_t endpoint_port (const struct endpoint *bound);
/* The address at which a client on this machine reaches a bound socket, also one bound to "any address". */
struct endpoint endpoint_for_local_client (const struct endpoint *bound);

#endif
