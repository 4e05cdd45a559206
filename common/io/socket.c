#include "common/io/socket.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef ZMQ_ZAP_ENFORCE_DOMAIN
#define ZMQ_ZAP_ENFORCE_DOMAIN 93 /* in every libzmq since 4.3.0; its header names it only in draft builds */
#endif

/* ---- the context ---- */

/* Two a spoke, nine a hub; tests and simulations hold thousands of spokes in one process. libzmq's default is 1,023. */
enum { SOCKETS_MAX = 16384 };

/* A reaper and an input/output thread, each with its own descriptors, and one connection's sockets. libzmq ends the
 * process if any is refused. */
static const struct capacity_needs needs = { .descriptors = 24, .threads = 2, .bytes = 4 * 1024 * 1024 };

static struct {
    pthread_mutex_t lock;
    void *context;
    unsigned holders;
} the = { .lock = PTHREAD_MUTEX_INITIALIZER };

void *context_hold (struct err *err)
{
    pthread_mutex_lock (&the.lock);
    if (!the.context && process_capacity_check ("messaging", &needs, err) != 0) {
        pthread_mutex_unlock (&the.lock);
        return NULL;
    }
    if (!the.context) {
        the.context = zmq_ctx_new ();
        if (the.context && zmq_ctx_set (the.context, ZMQ_MAX_SOCKETS, SOCKETS_MAX) != 0) {
            zmq_ctx_term (the.context);
            the.context = NULL;
        }
    }
    if (the.context)
        the.holders++;
    else
        err_set (err, ERR_IO, "cannot start ZeroMQ messaging: %s", zmq_strerror (zmq_errno ()));
    void *context = the.context;
    pthread_mutex_unlock (&the.lock);
    return context;
}

void context_release (void)
{
    pthread_mutex_lock (&the.lock);
    assert (the.holders > 0);
    if (--the.holders == 0) {
        while (zmq_ctx_term (the.context) != 0)
            assert (zmq_errno () == EINTR);
        the.context = NULL;
    }
    pthread_mutex_unlock (&the.lock);
}

/* ---- strangers ---- */

/* Descriptors reserved for the run's own files; no connection gets them. */
enum { OWN_DESCRIPTORS = 64 };

/* Replaces the C library's accept4 for libzmq, which has no limit on connections, while a client without a key holds a
 * descriptor until its handshake ends. The lowest free number tells how many are in use. A process without a context
 * has no such connections. */
int accept4 (int fd, struct sockaddr *from, socklen_t *len, int flags)
{
    struct rlimit limit = { 0 };
    int got = (int) syscall (SYS_accept4, fd, from, len, flags);
    if (got < 0 || !the.context || getrlimit (RLIMIT_NOFILE, &limit) != 0 ||
        (rlim_t) got + OWN_DESCRIPTORS < limit.rlim_cur)
        return got;
    close (got);
    errno = ECONNABORTED;
    return -1;
}

/* ---- sockets ---- */

/* A CURVE message is 33 bytes longer than its content (RFC 26), and libzmq's limit counts them. */
enum { CURVE_BYTES = 64 };
enum { HANDSHAKE_MS = 5000 }; /* the default holds a silent connection's descriptor for 30 s */

struct option {
    int name, value;
    const char *text;
};
#define OPTION(name, value)                                                                                            \
    {                                                                                                                  \
        name, value, #name                                                                                             \
    }

static const struct option on_all[] = {
    OPTION (ZMQ_LINGER, CLOSE_LINGER_MS),
    OPTION (ZMQ_TCP_MAXRT, 20000), /* until then what was sent into a cut may still come */
};

static const struct option on_servers[] = {
    OPTION (ZMQ_CURVE_SERVER, 1),
    OPTION (ZMQ_BACKLOG, 16384), /* at the default of 100 a storm of joins waits for SYNs sent again */
    /* A peer that is gone is found by the kernel: libzmq walks all its timers for each that it cancels, and beats, also
     * with a time to live that peers ask for, would cancel one a message. */
    OPTION (ZMQ_TCP_MAXRT, 6000), /* bounds both what is not acknowledged and the probes */
    OPTION (ZMQ_TCP_KEEPALIVE, 1),
    OPTION (ZMQ_TCP_KEEPALIVE_IDLE, 2),
    OPTION (ZMQ_TCP_KEEPALIVE_INTVL, 2),
    OPTION (ZMQ_TCP_KEEPALIVE_CNT, 3),
};

static const struct option on_domains[] = {
    OPTION (ZMQ_ZAP_ENFORCE_DOMAIN, 1), /* without a handler nobody is admitted, instead of everybody */
};

static const struct option on_routers[] = {
    OPTION (ZMQ_ROUTER_MANDATORY, 1), /* else sending to nobody succeeds */
    OPTION (ZMQ_ROUTER_HANDOVER, 0),  /* with 1, any admitted key may take over another's connection */
};

static const struct option on_clients[] = {
    OPTION (ZMQ_HEARTBEAT_IVL, 2000), OPTION (ZMQ_HEARTBEAT_TIMEOUT, 6000),
    OPTION (ZMQ_RECONNECT_IVL, 200),  OPTION (ZMQ_RECONNECT_IVL_MAX, 5000),
    OPTION (ZMQ_IMMEDIATE, 1), /* nothing is queued to a connection that is not made */
};

static int set_bytes (void *socket, int name, const void *value, size_t len, const char *text, struct err *err)
{
    if (zmq_setsockopt (socket, name, value, len) == 0)
        return 0;
    return err_set (err, ERR_IO, "libzmq refuses socket option %s: %s", text, zmq_strerror (zmq_errno ()));
}

static int set_all (void *socket, const struct option *options, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (set_bytes (socket, options[i].name, &options[i].value, sizeof options[i].value, options[i].text, err) != 0)
            return -1;
    return 0;
}
#define SET_ALL(socket, options, err) set_all (socket, options, sizeof (options) / sizeof (options)[0], err)

static int set_kind (void *socket, const struct socket_kind *kind, struct err *err)
{
    const struct option own[] = { OPTION (ZMQ_SNDHWM, kind->queue_max), OPTION (ZMQ_RCVHWM, kind->queue_max),
                                  OPTION (ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS + kind->handshake_more_ms) };
    int64_t bytes_max = (int64_t) kind->bytes_max + CURVE_BYTES;
    if (SET_ALL (socket, on_all, err) != 0 || SET_ALL (socket, own, err) != 0)
        return -1;
    if (kind->type == ZMQ_ROUTER && SET_ALL (socket, on_routers, err) != 0)
        return -1;
    return set_bytes (socket, ZMQ_MAXMSGSIZE, &bytes_max, sizeof bytes_max, "ZMQ_MAXMSGSIZE", err);
}

static void *open_kind (void *context, const struct socket_kind *kind, struct err *err)
{
    void *socket = zmq_socket (context, kind->type);
    if (!socket)
        err_set (err, ERR_IO, "cannot create a ZeroMQ socket: %s", zmq_strerror (zmq_errno ()));
    else if (set_kind (socket, kind, err) != 0)
        socket_close (&socket, 0);
    return socket;
}

static int set_domain (void *socket, const char *domain, struct err *err)
{
    return set_bytes (socket, ZMQ_ZAP_DOMAIN, domain, strlen (domain), "ZMQ_ZAP_DOMAIN", err) != 0
               ? -1
               : SET_ALL (socket, on_domains, err);
}

void *socket_open_server (void *context, const struct socket_kind *kind, const char *domain,
                          const struct link_keys *keys, struct err *err)
{
    void *socket = open_kind (context, kind, err);
    if (!socket)
        return NULL;
    if (SET_ALL (socket, on_servers, err) != 0 || (domain && set_domain (socket, domain, err) != 0) ||
        set_bytes (socket, ZMQ_CURVE_SECRETKEY, keys->secret_key, LINK_KEY_BYTES, "ZMQ_CURVE_SECRETKEY", err) != 0)
        socket_close (&socket, 0);
    return socket;
}

static int set_curve_client (void *socket, const char *server_public_key, const struct link_keys *keys, struct err *err)
{
    if (set_bytes (socket, ZMQ_CURVE_SERVERKEY, server_public_key, LINK_KEY_BYTES, "ZMQ_CURVE_SERVERKEY", err) != 0)
        return -1;
    if (set_bytes (socket, ZMQ_CURVE_PUBLICKEY, keys->public_key, LINK_KEY_BYTES, "ZMQ_CURVE_PUBLICKEY", err) != 0)
        return -1;
    return set_bytes (socket, ZMQ_CURVE_SECRETKEY, keys->secret_key, LINK_KEY_BYTES, "ZMQ_CURVE_SECRETKEY", err);
}

void *socket_open_client (void *context, const struct socket_kind *kind, const char *server_public_key,
                          const struct link_keys *keys, struct err *err)
{
    void *socket = open_kind (context, kind, err);
    if (!socket)
        return NULL;
    if (SET_ALL (socket, on_clients, err) != 0 || set_curve_client (socket, server_public_key, keys, err) != 0)
        socket_close (&socket, 0);
    return socket;
}

void socket_close (void **socket, uint64_t linger_ms)
{
    if (!*socket)
        return;
    int linger = linger_ms > INT_MAX ? INT_MAX : (int) linger_ms;
    int rc = zmq_setsockopt (*socket, ZMQ_LINGER, &linger, sizeof linger);
    assert (rc == 0);
    rc = zmq_close (*socket);
    assert (rc == 0);
    *socket = NULL;
}

static int allow_ipv6 (void *socket, const struct endpoint *at, struct err *err)
{
    const struct option ipv6[] = { OPTION (ZMQ_IPV6, 1) };
    return strchr (at->text, '[') ? SET_ALL (socket, ipv6, err) : 0;
}

static int bind_refused (const struct endpoint *at, int why, struct err *err)
{
    if (why != EADDRINUSE)
        return err_set (err, ERR_IO,
                        "cannot bind %s: %s; expected a free port, and an address or interface of this machine",
                        at->text, zmq_strerror (why));
    return err_set (err, ERR_IO,
                    "%s is in use: end the process that listens there (ss -ltnp 'sport = :%u' names it), or choose "
                    "another port (section coordinator of the slice file: control_port, bulk_port, events_port)",
                    at->text, endpoint_port (at));
}

int socket_bind (void *socket, const struct endpoint *at, struct endpoint *bound, struct err *err)
{
    size_t len = sizeof bound->text;
    if (allow_ipv6 (socket, at, err) != 0)
        return -1;
    if (zmq_bind (socket, at->text) != 0)
        return bind_refused (at, zmq_errno (), err);
    int rc = zmq_getsockopt (socket, ZMQ_LAST_ENDPOINT, bound->text, &len);
    assert (rc == 0);
    return 0;
}

int socket_connect (void *socket, const struct endpoint *to, struct err *err)
{
    if (allow_ipv6 (socket, to, err) != 0)
        return -1;
    if (zmq_connect (socket, to->text) != 0)
        return err_set (err, ERR_IO, "cannot connect to %s, which is not a valid address: %s", to->text,
                        zmq_strerror (zmq_errno ()));
    return 0;
}

int socket_fd (void *socket)
{
    int fd = -1;
    size_t len = sizeof fd;
    int rc = zmq_getsockopt (socket, ZMQ_FD, &fd, &len);
    assert (rc == 0);
    return fd;
}

bool socket_receive (void *socket, zmq_msg_t *part)
{
    while (zmq_msg_recv (part, socket, ZMQ_DONTWAIT) < 0) {
        if (errno == EAGAIN)
            return false;
        assert (errno == EINTR);
    }
    return true;
}

void socket_skip_parts (void *socket, zmq_msg_t *part)
{
    while (zmq_msg_more (part)) {
        bool there = socket_receive (socket, part); /* libzmq hands over whole messages only */
        assert (there);
    }
}

bool socket_send (void *socket, const void *bytes, size_t len, int flags)
{
    while (zmq_send (socket, bytes, len, flags | ZMQ_DONTWAIT) < 0) {
        if (errno == EAGAIN || errno == EHOSTUNREACH)
            return false;
        assert (errno == EINTR);
    }
    return true;
}

/* ---- handshake ---- */

void *handshake_watch (void *context, void *socket, int wanted, struct err *err)
{
    static atomic_uint names; /* a closed socket's name is not free at once, so each is used once */
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

/* ---- endpoints ---- */

enum { ADDRESS_BYTES_MAX = 255 }; /* of a DNS name */

static const char address_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%[]*";

/* libzmq also accepts "tcp://source;destination" and other transports, so only characters of an address are allowed. */
static int check_address (const char *address, struct err *err)
{
    size_t len = strnlen (address, ADDRESS_BYTES_MAX + 1);
    if (len == 0 || len > ADDRESS_BYTES_MAX)
        return err_set (err, ERR_USAGE, "an address must have 1 to %d characters", ADDRESS_BYTES_MAX);
    size_t good = strspn (address, address_letters);
    if (good != len)
        return err_set (err, ERR_USAGE,
                        "character %zu of the address is not allowed: expected a host name, an IPv4 or an IPv6 address",
                        good + 1);
    return 0;
}

int endpoint_make (const char *address, uint16_t port, struct endpoint *out, struct err *err)
{
    char digits[8] = "*";
    if (check_address (address, err) != 0)
        return -1;
    if (port != 0)
        snprintf (digits, sizeof digits, "%u", (unsigned) port);
    bool bare_ipv6 = strchr (address, ':') && address[0] != '[';
    int len = snprintf (out->text, sizeof out->text, bare_ipv6 ? "tcp://[%s]:%s" : "tcp://%s:%s", address, digits);
    assert (len > 0 && (size_t) len < sizeof out->text);
    return 0;
}

uint16_t endpoint_port (const struct endpoint *bound)
{
    const char *colon = strrchr (bound->text, ':');
    assert (colon);
    return (uint16_t) strtoul (colon + 1, NULL, 10);
}

struct endpoint endpoint_for_local_client (const struct endpoint *bound)
{
    struct endpoint local = *bound;
    unsigned port = endpoint_port (bound);
    if (strncmp (bound->text, "tcp://0.0.0.0:", 14) == 0)
        snprintf (local.text, sizeof local.text, "tcp://127.0.0.1:%u", port);
    else if (strncmp (bound->text, "tcp://[::]:", 11) == 0)
        snprintf (local.text, sizeof local.text, "tcp://[::1]:%u", port);
    return local;
}

/* ---- curve keys ---- */

int curve_key_parse (struct text z85, struct curve_key *out, struct err *err)
{
    char copy[LINK_KEY_BYTES];
    struct curve_key key;
    if (z85.len != LINK_KEY_BYTES - 1 || !text_to_c (z85, copy, sizeof copy))
        return err_set (err, ERR_PARSE, "a CURVE key must have %d characters (Z85); this one has %u",
                        LINK_KEY_BYTES - 1, (unsigned) z85.len);
    /* It refuses foreign characters, and groups of five above 32 bits, which would be a second spelling. */
    bool good = zmq_z85_decode (key.bytes, copy) != NULL;
    if (good)
        *out = key;
    explicit_bzero (copy, sizeof copy);
    explicit_bzero (&key, sizeof key);
    return good ? 0 : err_set (err, ERR_PARSE, "this CURVE key is not valid Z85 (RFC 32)");
}

/* libzmq's own generator, which czmq's zcert calls as well: czmq itself would bring a dozen libraries onto every host
 * (systemd, gcrypt, lzma, zstd, lz4, cap, ...) and changes the process's signals and environment. */
void link_keys_make (struct link_keys *keys)
{
    int rc = zmq_curve_keypair (keys->public_key, keys->secret_key);
    assert (rc == 0); /* libzmq without CURVE: Debian's has it */
}

int link_keys_check (const struct link_keys *keys, struct err *err)
{
    struct curve_key key;
    char derived[LINK_KEY_BYTES];
    if (strnlen (keys->public_key, LINK_KEY_BYTES) == LINK_KEY_BYTES ||
        strnlen (keys->secret_key, LINK_KEY_BYTES) == LINK_KEY_BYTES)
        return err_set (err, ERR_PARSE, "this CURVE key does not end after %d characters", LINK_KEY_BYTES - 1);
    if (curve_key_parse (text_of (keys->public_key), &key, err) != 0)
        return err_prefix (err, "public key");
    if (curve_key_parse (text_of (keys->secret_key), &key, err) != 0)
        return err_prefix (err, "secret key");
    explicit_bzero (&key, sizeof key);
    if (zmq_curve_public (derived, keys->secret_key) != 0 || strcmp (derived, keys->public_key) != 0)
        return err_set (err, ERR_DAMAGE, "the public key does not match the secret key: make a new pair");
    return 0;
}
