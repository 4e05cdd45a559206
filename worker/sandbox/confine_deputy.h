/* confine_deputy.h - a process outside of the sandbox that takes requests on a socket could write for a program: can a
 * program reach one?
 *
 * Two sockets that are made before rights are taken away, one with a path and one with an abstract name (unix(7)), stand
 * for those of all such processes. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_DEPUTY_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_DEPUTY_H

#include <stdint.h>
#include <sys/un.h>

struct deputy { int folder_fd, path_fd, abstract_fd; struct sockaddr_un path, abstract; unsigned abstract_bytes; };

/* The path lies in `scratch`. What cannot be made is not reached either. */
void deputy_open (struct deputy *deputy, const char *scratch);
/* Bits of WAY_PATH_SOCKET and WAY_ABSTRACT_SOCKET (confine_ways.h) that are open. */
uint32_t deputy_ways_try (const struct deputy *deputy);
void deputy_close (struct deputy *deputy);

#endif
