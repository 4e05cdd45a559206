#include "common/base/mem.h"
#include "common/io/context.h"
#include "common/io/curve_key.h"
#include "common/io/link.h"
#include "common/io/socket.h"

enum { EVENT_BYTES_MAX = 1024 * 1024 };

struct listener {
    void *context;
    void *socket;               /* SUB */
    zmq_msg_t body;             /* of the last frame received */
};

static int listener_start (struct listener *listener, const struct endpoint *to, const char *hub_public_key,
                           const struct link_keys *keys, struct err *err)
{
    const struct socket_kind kind = { .type = ZMQ_SUB, .queue_max = EVENTS_QUEUE_MAX, .bytes_max = EVENT_BYTES_MAX };
    listener->context = context_hold (err);
    if (!listener->context)
        return -1;
    listener->socket = socket_client (listener->context, &kind, hub_public_key, keys, err);
    if (!listener->socket)
        return -1;
    if (zmq_setsockopt (listener->socket, ZMQ_SUBSCRIBE, "", 0) != 0)
        return err_set (err, ERR_IO, "events cannot be subscribed to: %s", zmq_strerror (zmq_errno ()));
    return socket_connect (listener->socket, to, err);
}

struct listener *listener_open (const char *address, uint16_t events_port, const char *hub_public_key,
                                const struct link_keys *keys, struct err *err)
{
    struct endpoint to;
    struct curve_key key;
    if (link_keys_check (keys, err) != 0 || curve_key_parse (text_of (hub_public_key), &key, err) != 0)
        return NULL;
    if (events_port == 0) {
        err_set (err, ERR_USAGE, "the events port is a number from 1 to 65535");
        return NULL;
    }
    if (endpoint_make (address, events_port, &to, err) != 0)
        return NULL;
    struct listener *listener = mem_alloc (sizeof *listener);
    zmq_msg_init (&listener->body);
    if (listener_start (listener, &to, hub_public_key, keys, err) == 0)
        return listener;
    listener_close (listener);
    return NULL;
}

void listener_close (struct listener *listener)
{
    if (!listener)
        return;
    socket_close (&listener->socket, 0);
    zmq_msg_close (&listener->body);
    if (listener->context)
        context_release ();
    mem_free (listener);
}

int listener_fd (const struct listener *listener)
{
    return socket_fd (listener->socket);
}

bool listener_receive (struct listener *listener, struct text *bytes)
{
    while (socket_receive (listener->socket, &listener->body)) {
        bool whole = !zmq_msg_more (&listener->body);
        socket_skip_parts (listener->socket, &listener->body);
        if (!whole)
            continue;
        bytes->ptr = zmq_msg_data (&listener->body);
        bytes->len = (uint32_t) zmq_msg_size (&listener->body);
        return true;
    }
    return false;
}
