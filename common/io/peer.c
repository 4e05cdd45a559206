/* peer.c - a link between two hosts: ROUTER at the one that listens, DEALER at those that ask. */
#include <assert.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/io/socket.h"

enum { QUEUE_MAX = 2 }; /* who asks waits for one piece at a time */

struct peer {
    void *context, *socket;
    bool listens;
    struct link_keys keys;
    struct endpoint bound; /* of one that listens */
    uint32_t bytes_max;
    zmq_msg_t body; /* of the last frame received */
    uint8_t reply_to[LINK_ROUTING_ID_BYTES];
    bool left;
};

static struct peer *peer_make (uint32_t bytes_max, bool listens, struct err *err)
{
    struct peer *peer = mem_alloc (sizeof *peer);
    assert (bytes_max >= 1024);
    zmq_msg_init (&peer->body);
    peer->bytes_max = bytes_max;
    peer->listens = listens;
    peer->context = context_hold (err);
    link_keys_make (&peer->keys);
    return peer;
}

void peer_close (struct peer *peer)
{
    if (!peer)
        return;
    socket_close (&peer->socket, 0);
    zmq_msg_close (&peer->body);
    if (peer->context)
        context_release ();
    explicit_bzero (&peer->keys, sizeof peer->keys);
    mem_free (peer);
}

static struct peer *peer_given (struct peer *peer, int rc)
{
    if (rc == 0)
        return peer;
    peer_close (peer);
    return NULL;
}

static int peer_bind (struct peer *peer, const char *address, struct err *err)
{
    struct endpoint at;
    if (endpoint_make (address, 0, &at, err) != 0)
        return -1;
    return socket_bind (peer->socket, &at, &peer->bound, err);
}

struct peer *peer_listen (const char *address, uint32_t bytes_max, struct err *err)
{
    struct peer *peer = peer_make (bytes_max, true, err);
    const struct socket_kind kind = { .type = ZMQ_ROUTER, .queue_max = QUEUE_MAX, .bytes_max = bytes_max };
    if (peer->context)
        peer->socket = socket_open_server (peer->context, &kind, NULL, &peer->keys, err);
    bool bound = peer->socket && (peer_bind (peer, address, NULL) == 0 || peer_bind (peer, "::", NULL) == 0 ||
                                  peer_bind (peer, "0.0.0.0", err) == 0);
    return peer_given (peer, bound ? 0 : -1);
}

struct peer *peer_connect (const char *address, uint16_t port, const char *public_key, uint32_t bytes_max,
                           struct err *err)
{
    struct endpoint to;
    struct curve_key key;
    const struct socket_kind kind = { .type = ZMQ_DEALER, .queue_max = QUEUE_MAX, .bytes_max = bytes_max };
    if (endpoint_make (address, port, &to, err) != 0 || curve_key_parse (text_of (public_key), &key, err) != 0)
        return NULL;
    struct peer *peer = peer_make (bytes_max, false, err);
    if (peer->context)
        peer->socket = socket_open_client (peer->context, &kind, public_key, &peer->keys, err);
    return peer_given (peer, peer->socket ? socket_connect (peer->socket, &to, err) : -1);
}

uint16_t peer_port (const struct peer *peer)
{
    return endpoint_port (&peer->bound);
}

const char *peer_public_key (const struct peer *peer)
{
    return peer->keys.public_key;
}

int peer_fd (const struct peer *peer)
{
    return socket_fd (peer->socket);
}

/* The routing id before the frame that is to be answered. */
static bool reply_to_take (struct peer *peer)
{
    if (zmq_msg_size (&peer->body) != sizeof peer->reply_to || !zmq_msg_more (&peer->body))
        return false;
    memcpy (peer->reply_to, zmq_msg_data (&peer->body), sizeof peer->reply_to);
    return socket_receive (peer->socket, &peer->body);
}

static bool peer_is_of_use (struct peer *peer)
{
    bool known = !peer->listens || reply_to_take (peer);
    bool whole = !zmq_msg_more (&peer->body);
    socket_skip_parts (peer->socket, &peer->body);
    return known && whole && zmq_msg_size (&peer->body) <= peer->bytes_max;
}

bool peer_receive (struct peer *peer, struct text *bytes)
{
    uint32_t useless = 0;
    while (useless < USELESS_AT_ONCE && socket_receive (peer->socket, &peer->body)) {
        if (peer_is_of_use (peer)) {
            *bytes = (struct text){ zmq_msg_data (&peer->body), (uint32_t) zmq_msg_size (&peer->body) };
            return true;
        }
        useless++;
    }
    peer->left = useless == USELESS_AT_ONCE;
    return false;
}

bool peer_frames_remain (const struct peer *peer)
{
    return peer->left;
}

bool peer_send (struct peer *peer, const void *bytes, size_t len)
{
    if (peer->listens && !socket_send (peer->socket, peer->reply_to, sizeof peer->reply_to, ZMQ_SNDMORE))
        return false;
    return socket_send (peer->socket, bytes, len, 0);
}
