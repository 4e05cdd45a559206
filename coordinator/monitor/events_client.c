#include "coordinator/monitor/follow.h"

#include <assert.h>
#include <czmq.h>
#include <stdlib.h>
#include <string.h>

#include "common/io/link.h"

enum { QUEUE_MAX = 1000 }; /* messages, in each direction */
/* A CURVE message is 33 bytes longer than its content (RFC 26), and libzmq's limit counts them. */
enum { FRAME_BYTES_MAX = ANSWER_MAX_BYTES + 64 };
/* Useless messages that are dropped at a time, so that endless ones do not hold up the caller. */
enum { USELESS_AT_ONCE = 64 };

struct events_client {
    zsock_t *socket; /* DEALER */
    zpoller_t *poller;
    zframe_t *frame; /* the last one received */
    struct endpoint to;
};

/* ---- before the first socket: signals, environment and standard output stay the program's ---- */

/* A reaper and an input/output thread, each with its own descriptors, and one connection's sockets. */
static const struct capacity_needs needs = { .descriptors = 24, .threads = 2, .bytes = 4 * 1024 * 1024 };

static bool begun;

static void unset (const char *entry, size_t name_len)
{
    LOCAL_MEM char *name = strndup (entry, name_len);
    if (name)
        unsetenv (name);
}

/* czmq takes queues, linger, interface, log and more from variables ZSYS_*. */
static void scrub_environment (void)
{
    for (char **entry = environ; entry && *entry;) {
        const char *assigned = strchr (*entry, '='), *before = *entry;
        if (assigned && strncmp (*entry, "ZSYS_", 5) == 0)
            unset (*entry, (size_t) (assigned - *entry));
        if (*entry == before)
            entry++;
    }
}

/* Repeated calls do nothing. ERR_LIMIT: libzmq would lack resources, and end the process. */
static int czmq_start (struct err *err)
{
    if (begun)
        return 0;
    if (process_capacity_check ("messaging", &needs, err) != 0)
        return -1;
    scrub_environment ();
    zsys_handler_set (NULL); /* else SIGINT and SIGTERM are czmq's from its first socket on */
    if (!zsys_init ())
        return err_set (err, ERR_IO, "cannot start ZeroMQ messaging: %s", zmq_strerror (zmq_errno ()));
    zsys_set_logstream (stderr); /* not standard output, which a program may read */
    begun = true;
    return 0;
}

/* ---- the socket ---- */

/* The figures are those of common/io/socket.c, which says why. */
static void bound (zsock_t *socket)
{
    zsock_set_linger (socket, 0);
    zsock_set_handshake_ivl (socket, 5000);
    zsock_set_tcp_maxrt (socket, 20000);
    zsock_set_heartbeat_ivl (socket, 2000);
    zsock_set_heartbeat_timeout (socket, 6000);
    zsock_set_heartbeat_ttl (socket, 6000);
    zsock_set_sndhwm (socket, QUEUE_MAX);
    zsock_set_rcvhwm (socket, QUEUE_MAX);
    zsock_set_maxmsgsize (socket, FRAME_BYTES_MAX);
    zsock_set_rcvtimeo (socket, 0);
    zsock_set_reconnect_ivl (socket, 200);
    zsock_set_reconnect_ivl_max (socket, 5000);
    zsock_set_immediate (socket, 1); /* nothing is queued to a connection that is not made */
}

static void wipe_key (const void *key, size_t len)
{
    explicit_bzero ((void *) key, len);
}

/* libzmq has copies of its own from here on, as with any socket. */
static void apply_keys (zsock_t *socket, const char *hub_public_key, const struct link_keys *keys)
{
    struct curve_key public_key, secret_key;
    int rc = curve_key_parse (text_of (keys->public_key), &public_key, NULL);
    rc |= curve_key_parse (text_of (keys->secret_key), &secret_key, NULL);
    assert (rc == 0); /* they were checked */
    zcert_t *certificate = zcert_new_from (public_key.bytes, secret_key.bytes);
    zcert_apply (certificate, socket);
    zsock_set_curve_serverkey (socket, hub_public_key);
    explicit_bzero (&secret_key, sizeof secret_key);
    wipe_key (zcert_secret_key (certificate), CURVE_KEY_BYTES);
    wipe_key (zcert_secret_txt (certificate), LINK_KEY_BYTES);
    zcert_destroy (&certificate);
}

static int events_client_connect (struct events_client *listener, struct err *err)
{
    if (zsock_connect (listener->socket, "%s", listener->to.text) == 0)
        return 0;
    return err_set (err, ERR_IO, "cannot connect to %s, which is not a valid address: %s", listener->to.text,
                    zmq_strerror (zmq_errno ()));
}

static int events_client_start (struct events_client *listener, const char *hub_public_key,
                                const struct link_keys *keys, struct err *err)
{
    if (czmq_start (err) != 0)
        return -1;
    listener->socket = zsock_new (ZMQ_DEALER);
    bound (listener->socket);
    zsock_set_ipv6 (listener->socket, strchr (listener->to.text, '[') != NULL);
    apply_keys (listener->socket, hub_public_key, keys);
    listener->poller = zpoller_new (listener->socket, NULL);
    zpoller_set_nonstop (listener->poller, true); /* signals are the program's */
    return events_client_connect (listener, err);
}

struct events_client *events_client_open (const char *address, uint16_t events_port, const char *hub_public_key,
                                          const struct link_keys *keys, struct err *err)
{
    struct endpoint to;
    struct curve_key key;
    if (link_keys_check (keys, err) != 0 || curve_key_parse (text_of (hub_public_key), &key, err) != 0)
        return NULL;
    if (events_port == 0) {
        err_set (err, ERR_USAGE, "the events port must be a number from 1 to 65535");
        return NULL;
    }
    if (endpoint_make (address, events_port, &to, err) != 0)
        return NULL;
    struct events_client *listener = mem_alloc (sizeof *listener);
    *listener = (struct events_client){ .to = to };
    if (events_client_start (listener, hub_public_key, keys, err) == 0)
        return listener;
    events_client_close (listener);
    return NULL;
}

void events_client_close (struct events_client *listener)
{
    if (!listener)
        return;
    zframe_destroy (&listener->frame);
    zpoller_destroy (&listener->poller);
    zsock_destroy (&listener->socket);
    mem_free (listener);
}

/* ENOENT: libzmq forgot the endpoint with the connection. */
void events_client_reconnect (struct events_client *listener)
{
    int rc = zsock_disconnect (listener->socket, "%s", listener->to.text);
    assert (rc == 0 || zmq_errno () == ENOENT);
    rc = events_client_connect (listener, NULL);
    assert (rc == 0); /* it was good when the listener was opened */
}

bool events_client_ask (struct events_client *listener, const void *bytes, size_t len)
{
    assert (len <= QUESTION_MAX_BYTES);
    zframe_t *frame = zframe_new (bytes, len);
    bool sent = zframe_send (&frame, listener->socket, ZFRAME_DONTWAIT) == 0;
    assert (sent || errno == EAGAIN || errno == EINTR);
    zframe_destroy (&frame);
    return sent;
}

static bool receive_part (struct events_client *listener)
{
    zframe_destroy (&listener->frame);
    listener->frame = zframe_recv (listener->socket);
    return listener->frame != NULL;
}

static void skip_parts (struct events_client *listener)
{
    while (zframe_more (listener->frame)) {
        bool there = receive_part (listener); /* libzmq hands over whole messages only */
        assert (there);
    }
}

bool events_client_receive (struct events_client *listener, struct text *bytes)
{
    for (uint32_t useless = 0; useless < USELESS_AT_ONCE && receive_part (listener); useless++) {
        bool whole = !zframe_more (listener->frame);
        skip_parts (listener);
        if (!whole)
            continue;
        bytes->ptr = (const char *) zframe_data (listener->frame);
        bytes->len = (uint32_t) zframe_size (listener->frame);
        return true;
    }
    return false;
}

void events_client_wait (struct events_client *listener, uint32_t most_ms)
{
    (void) zpoller_wait (listener->poller, (int) most_ms);
}
