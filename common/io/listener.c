#include <assert.h>
#include <errno.h>

#include "common/base/mem.h"
#include "common/io/context.h"
#include "common/io/curve_key.h"
#include "common/io/link.h"
#include "common/io/socket.h"

enum { EVENT_BYTES_MAX = ANSWER_MAX_BYTES };

struct listener {
    void *context;
    void *socket; /* DEALER */
    struct endpoint to;
    zmq_msg_t body; /* of the last frame received */
};

static int listener_start (struct listener *listener, const char *hub_public_key, const struct link_keys *keys,
                           struct err *err)
{
    const struct socket_kind kind = { .type = ZMQ_DEALER, .queue_max = EVENTS_QUEUE_MAX, .bytes_max = EVENT_BYTES_MAX };
    listener->context = context_hold (err);
    if (!listener->context)
        return -1;
    listener->socket = socket_client (listener->context, &kind, hub_public_key, keys, err);
    return listener->socket ? socket_connect (listener->socket, &listener->to, err) : -1;
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
    listener->to = to;
    zmq_msg_init (&listener->body);
    if (listener_start (listener, hub_public_key, keys, err) == 0)
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

/* Same socket, so the descriptor that is watched stays. ENOENT: libzmq forgot the endpoint with the connection. */
void listener_again (struct listener *listener)
{
    int rc = zmq_disconnect (listener->socket, listener->to.text);
    assert (rc == 0 || zmq_errno () == ENOENT);
    rc = socket_connect (listener->socket, &listener->to, NULL);
    assert (rc == 0); /* it was good when the listener was opened */
}

int listener_fd (const struct listener *listener)
{
    return socket_fd (listener->socket);
}

bool listener_ask (struct listener *listener, const void *bytes, size_t len)
{
    assert (len <= QUESTION_MAX_BYTES);
    return socket_send (listener->socket, bytes, len, 0);
}

bool listener_receive (struct listener *listener, struct text *bytes)
{
    for (uint32_t useless = 0; useless < USELESS_AT_ONCE && socket_receive (listener->socket, &listener->body);
         useless++) {
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
