/* socket.h - private to common/io: the one libzmq context of this process, and sockets with every option set before
 * they bind or connect.
 *
 * The caller owns what is opened, uses it on one thread, and closes it with socket_close before context_release. */
#ifndef SLICEUP_COMMON_IO_SOCKET_H
#define SLICEUP_COMMON_IO_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "common/base/err.h"
#include "common/io/link.h"

/* One context, since several with CURVE can crash one another in libzmq 4.3.4, and inproc names (the ZAP handler's)
 * belong to one. Hubs and spokes hold it while they have sockets; the last release waits for lingering ones. Any
 * thread. After fork the child must not touch what the parent holds. */
void *context_hold (struct err *err);
void context_release (void);

enum { CONTROL_QUEUE_MAX = 256, BULK_QUEUE_MAX = 64 }; /* messages, in each direction */
enum { CLOSE_LINGER_MS = 2000 };
/* Useless messages that are dropped at a time: a peer that sends them without end must not hold up the loop. */
enum { USELESS_AT_ONCE = 64 };

struct socket_kind {
    int type; /* ZMQ_ROUTER, ... */
    int queue_max;
    uint32_t bytes_max; /* of one frame coming in */
};
/* A side that binds: CURVE server; the ZAP handler decides under `domain` who may connect. */
void *socket_open_server (void *context, const struct socket_kind *kind, const char *domain,
                          const struct link_keys *keys, struct err *err);
/* A side that connects, and connects again for ever. */
void *socket_open_client (void *context, const struct socket_kind *kind, const char *server_public_key,
                          const struct link_keys *keys, struct err *err);
void socket_close (void **socket, uint64_t linger_ms); /* *socket may be NULL already */

int socket_bind (void *socket, const struct endpoint *at, struct endpoint *bound, struct err *err);
int socket_connect (void *socket, const struct endpoint *to, struct err *err);
int socket_fd (void *socket);
/* Receives one part without waiting. False: nothing there; errno has the reason. Everything else is a bug. */
bool socket_receive (void *socket, zmq_msg_t *part);
bool socket_send (void *socket, const void *bytes, size_t len, int flags);
void socket_skip_parts (void *socket, zmq_msg_t *part); /* the rest of a message whose last part read is `part` */

/* ---- handshake ---- */

/* Reads the events of a socket's handshakes and listeners from libzmq
 * (zmq_socket_monitor). For counting and for the self-test; never for deciding who is alive. */

/* A PAIR that receives the `wanted` ZMQ_EVENT_* of `socket`; call it before bind or connect; close it with
 * socket_close. Keep reading it: the thread that sends into it is libzmq's only one. */
void *handshake_watch (void *context, void *socket, int wanted, struct err *err);
bool handshake_read (void *events, uint16_t *event, uint32_t *value); /* false: none now */

#endif
