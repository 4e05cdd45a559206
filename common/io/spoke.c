#include <assert.h>
#include <errno.h>

#include "common/base/mem.h"
#include "common/io/clock.h"
#include "common/io/link.h"
#include "common/io/socket.h"

/* The first frame opens the bulk connection: most workers of a big run send nothing there for long, and a second
 * connection each doubles the cost of joining (docs/benchmarks.md).
 *
 * libzmq gives up a connection for good after a protocol error, as when something else held the coordinator's port for
 * a while. If it cannot send for longer than libzmq's longest pause plus a handshake, the spoke connects anew. */
enum { STALE_MS = 12000 };

struct connection {
    void *socket; /* DEALER */
    struct endpoint to;
    uint32_t bytes_max;
    bool connected; /* or on its way there */
    zmq_msg_t body; /* of the last frame received */
    bool left;      /* more frames may be waiting */
    bool blocked;
    uint64_t blocked_ms; /* since when nothing could be sent */
};

struct spoke {
    void *context;
    struct connection connections[LINK_CHANNELS];
};

static int spoke_check_options (const struct spoke_options *options, struct err *err)
{
    struct curve_key key;
    if (link_keys_check (options->keys, err) != 0)
        return err_prefix (err, "the worker's keys");
    if (curve_key_parse (text_of (options->hub_public_key), &key, err) != 0)
        return err_prefix (err, "the coordinator's key");
    if (options->control_port == 0 || options->bulk_port == 0)
        return err_set (err, ERR_USAGE, "the ports of the coordinator must be numbers from 1 to 65535");
    return 0;
}

static int connection_connect (struct connection *connection, struct err *err)
{
    if (socket_connect (connection->socket, &connection->to, err) != 0)
        return -1;
    connection->connected = true;
    return 0;
}

/* Queues frames until the connection is made, so that a short program's only output is not lost to a handshake. */
static int let_queue (void *socket, struct err *err)
{
    int no = 0;
    if (zmq_setsockopt (socket, ZMQ_IMMEDIATE, &no, sizeof no) != 0)
        return err_set (err, ERR_IO, "libzmq refuses socket option ZMQ_IMMEDIATE: %s", zmq_strerror (zmq_errno ()));
    return 0;
}

static int connection_open (struct spoke *spoke, enum link_channel which, const struct spoke_options *options,
                            struct err *err)
{
    struct connection *connection = &spoke->connections[which];
    bool control = which == LINK_CONTROL;
    connection->bytes_max = control ? options->control_bytes_max : options->bulk_bytes_max;
    const struct socket_kind kind = { .type = ZMQ_DEALER,
                                      .queue_max = control ? CONTROL_QUEUE_MAX : BULK_QUEUE_MAX,
                                      .bytes_max = connection->bytes_max };
    if (endpoint_make (options->address, control ? options->control_port : options->bulk_port, &connection->to, err) !=
        0)
        return -1;
    connection->socket = socket_open_client (spoke->context, &kind, options->hub_public_key, options->keys, err);
    if (!connection->socket)
        return -1;
    return control ? connection_connect (connection, err) : let_queue (connection->socket, err);
}

struct spoke *spoke_open (const struct spoke_options *options, struct err *err)
{
    if (spoke_check_options (options, err) != 0)
        return NULL;
    struct spoke *spoke = mem_alloc (sizeof *spoke);
    for (int i = 0; i < LINK_CHANNELS; i++)
        zmq_msg_init (&spoke->connections[i].body);
    spoke->context = context_hold (err);
    bool good = spoke->context != NULL;
    for (int i = 0; good && i < LINK_CHANNELS; i++)
        good = connection_open (spoke, (enum link_channel) i, options, err) == 0;
    if (good)
        return spoke;
    spoke_close (spoke, 0);
    return NULL;
}

void spoke_close (struct spoke *spoke, uint64_t linger_ms)
{
    if (!spoke)
        return;
    for (int i = LINK_CHANNELS - 1; i >= 0; i--) {
        socket_close (&spoke->connections[i].socket, linger_ms);
        zmq_msg_close (&spoke->connections[i].body);
    }
    if (spoke->context)
        context_release ();
    mem_free (spoke);
}

int spoke_fd (const struct spoke *spoke, enum link_channel channel)
{
    return socket_fd (spoke->connections[channel].socket);
}

/* Is the message one frame within bounds, as our coordinator sends it? Others are ignored. */
static bool is_of_use (struct connection *connection)
{
    bool whole = !zmq_msg_more (&connection->body);
    socket_skip_parts (connection->socket, &connection->body);
    return whole && zmq_msg_size (&connection->body) <= connection->bytes_max;
}

bool spoke_receive (struct spoke *spoke, enum link_channel channel, struct text *bytes)
{
    struct connection *connection = &spoke->connections[channel];
    uint32_t useless = 0;
    while (useless < USELESS_AT_ONCE && socket_receive (connection->socket, &connection->body)) {
        if (is_of_use (connection)) {
            bytes->ptr = zmq_msg_data (&connection->body);
            bytes->len = (uint32_t) zmq_msg_size (&connection->body);
            return true;
        }
        useless++;
    }
    connection->left = useless == USELESS_AT_ONCE;
    return false;
}

bool spoke_frames_remain (const struct spoke *spoke, enum link_channel channel)
{
    return spoke->connections[channel].left;
}

static void connect_anew (struct connection *connection)
{
    /* Same socket, so the descriptor that is watched stays. ENOENT: libzmq forgot the endpoint with the connection. */
    int rc = zmq_disconnect (connection->socket, connection->to.text);
    assert (rc == 0 || zmq_errno () == ENOENT);
    rc = socket_connect (connection->socket, &connection->to, NULL);
    assert (rc == 0); /* it was good when the spoke was opened */
}

int spoke_move (struct spoke *spoke, const char *address, uint16_t control_port, uint16_t bulk_port, struct err *err)
{
    for (int i = 0; i < LINK_CHANNELS; i++) {
        struct connection *connection = &spoke->connections[i];
        struct endpoint to;
        if (endpoint_make (address, i == LINK_CONTROL ? control_port : bulk_port, &to, err) != 0)
            return -1;
        if (connection->connected)
            (void) zmq_disconnect (connection->socket, connection->to.text); /* ENOENT, as below */
        connection->to = to;
        if (connection->connected && socket_connect (connection->socket, &connection->to, err) != 0)
            return -1;
    }
    return 0;
}

/* Called at least as often as the worker's heart beats. */
static void note_blocked (struct connection *connection)
{
    uint64_t now_ms = clock_boot_ms ();
    if (!connection->blocked) {
        connection->blocked = true;
        connection->blocked_ms = now_ms;
    } else if (now_ms - connection->blocked_ms >= STALE_MS) {
        connect_anew (connection);
        connection->blocked_ms = now_ms;
    }
}

bool spoke_send (struct spoke *spoke, enum link_channel channel, const void *bytes, size_t len)
{
    struct connection *connection = &spoke->connections[channel];
    assert (len <= connection->bytes_max); /* longer, and the coordinator's side cuts the connection */
    if (!connection->connected && connection_connect (connection, NULL) != 0)
        return false;
    if (socket_send (connection->socket, bytes, len, 0)) {
        connection->blocked = false;
        return true;
    }
    note_blocked (connection);
    return false;
}
