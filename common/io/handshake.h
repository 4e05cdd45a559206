/* handshake.h - private to common/io: reads the events of a socket's handshakes and listeners from libzmq
 * (zmq_socket_monitor). For counting and for the self-test; never for deciding who is alive. */
#ifndef SLICEUP_COMMON_IO_HANDSHAKE_H
#define SLICEUP_COMMON_IO_HANDSHAKE_H
#include "common/base/err.h"
#include <stdbool.h>
#include <stdint.h>
/* A PAIR that hears the `wanted` ZMQ_EVENT_* of `socket`; before it binds or connects. Close with socket_close. It must
 * be read: the thread that sends into it is libzmq's only one. */
void *handshake_watch (void *context, void *socket, int wanted, struct err *err);
bool handshake_read (void *events, uint16_t *event, uint32_t *value); /* false: none now */
#endif
