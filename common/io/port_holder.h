/* port_holder.h - which process of this machine listens at a TCP port, as far as this user may see. */
#ifndef SLICEUP_COMMON_IO_PORT_HOLDER_H
#define SLICEUP_COMMON_IO_PORT_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

enum { PORT_HOLDER_BYTES = 64 };
/* "process 1234 (python3)", or "a process of another user"; false: nobody is seen to listen there. */
bool port_holder_find (uint16_t port, char out[PORT_HOLDER_BYTES]);
/* A line of /proc/net/tcp or tcp6 (proc(5)): the socket that listens at this port. Pure. */
bool port_holder_parse_line (const char *line, uint16_t port, uint64_t *inode);

#endif
