#include "common/io/handshake.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/io/socket.h"

void *handshake_watch (void *context, void *socket, int wanted, struct err *err)
{
    static atomic_uint names; /* a name is not free again as soon as its socket is closed: each is used once */
    const int linger = 0;
    char name[64];
    snprintf (name, sizeof name, "inproc://sliceup.handshakes.%u", atomic_fetch_add (&names, 1));
    void *events = zmq_socket (context, ZMQ_PAIR);
    if (events && zmq_setsockopt (events, ZMQ_LINGER, &linger, sizeof linger) == 0 &&
        zmq_socket_monitor (socket, name, wanted) == 0 && zmq_connect (events, name) == 0)
        return events;
    err_set (err, ERR_IO, "the handshakes of a ZeroMQ socket cannot be watched: %s", zmq_strerror (zmq_errno ()));
    socket_close (&events, 0);
    return NULL;
}

/* An event is 16 bits of event and 32 of value, unaligned; then a part with the address. */
bool handshake_read (void *events, uint16_t *event, uint32_t *value)
{
    zmq_msg_t part;
    int rc = zmq_msg_init (&part);
    assert (rc == 0);
    bool there = socket_receive (events, &part);
    if (there) {
        assert (zmq_msg_size (&part) == sizeof *event + sizeof *value);
        memcpy (event, zmq_msg_data (&part), sizeof *event);
        memcpy (value, (const char *) zmq_msg_data (&part) + sizeof *event, sizeof *value);
        socket_skip_parts (events, &part);
    }
    rc = zmq_msg_close (&part);
    assert (rc == 0);
    return there;
}
