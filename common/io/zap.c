#include "common/io/socket.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/io/clock.h"

static const char handler_address[] = "inproc://zeromq.zap.01";
enum { CLOSED_WAIT_S = 2, AT_ONCE = 256 }; /* AT_ONCE: requests of each socket, before others have their turn */

struct zap {
    void *context;
    void *requests; /* REP */
    void *events[ZAP_SOCKETS_MAX];
    uint32_t events_len;
    int stop_fd;
    bool started;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the following members; only the opener's thread changes the rings */
    pthread_cond_t changed;
    struct keyring *workers, *monitors;
    uint32_t monitors_len;
    struct curve_key decoy;
    uint64_t decoy_refusals, failures;
    uint32_t closed;
};

/* ---- one question of libzmq, and its answer (RFC 27, version 1.0) ---- */

/* Fixed size: what a peer sends decides no allocation. */
enum { ZAP_PARTS = 7, ZAP_PART_BYTES_MAX = 255 };
struct zap_request {
    struct zap_part {
        uint8_t bytes[ZAP_PART_BYTES_MAX];
        uint16_t len;
    } parts[ZAP_PARTS];
    uint32_t parts_len;
    bool fits; /* no part too many, none too long */
};
enum { VERSION, REQUEST_ID, DOMAIN, ADDRESS, IDENTITY, MECHANISM, CREDENTIALS };

static void zap_keep (struct zap_request *request, zmq_msg_t *part)
{
    size_t len = zmq_msg_size (part);
    if (request->parts_len == ZAP_PARTS || len > ZAP_PART_BYTES_MAX) {
        request->fits = false;
        return;
    }
    struct zap_part *to = &request->parts[request->parts_len++];
    memcpy (to->bytes, zmq_msg_data (part), len);
    to->len = (uint16_t) len;
}

static bool zap_request_read (void *socket, struct zap_request *out)
{
    zmq_msg_t part;
    int rc = zmq_msg_init (&part);
    assert (rc == 0);
    memset (out, 0, sizeof *out);
    out->fits = true;
    bool there = socket_receive (socket, &part);
    if (there)
        zap_keep (out, &part);
    for (bool more = there; more && zmq_msg_more (&part);) {
        more = socket_receive (socket, &part); /* always: libzmq hands over whole messages only */
        assert (more);
        zap_keep (out, &part);
    }
    rc = zmq_msg_close (&part);
    assert (rc == 0);
    return there;
}

static bool part_is (const struct zap_request *request, uint32_t which, const char *text)
{
    const struct zap_part *part = &request->parts[which];
    return part->len == strlen (text) && memcmp (part->bytes, text, part->len) == 0;
}

static bool zap_request_key (const struct zap_request *request, struct curve_key *key)
{
    if (!request->fits || request->parts_len != ZAP_PARTS)
        return false;
    if (!part_is (request, VERSION, "1.0") || !part_is (request, MECHANISM, "CURVE"))
        return false;
    if (request->parts[CREDENTIALS].len != sizeof key->bytes)
        return false;
    memcpy (key->bytes, request->parts[CREDENTIALS].bytes, sizeof key->bytes);
    return true;
}

static bool zap_request_domain_is (const struct zap_request *request, const char *domain)
{
    return part_is (request, DOMAIN, domain);
}

static void zap_request_answer (void *socket, const struct zap_request *request, const char *status, const char *user)
{
    const struct zap_part *id = &request->parts[REQUEST_ID];
    const struct {
        const void *bytes;
        size_t len;
    } parts[] = { { "1.0", 3 }, { id->bytes, id->len },  { status, strlen (status) },
                  { "", 0 },    { user, strlen (user) }, { "", 0 } };
    enum { PARTS = sizeof parts / sizeof parts[0] };
    for (int i = 0; i < PARTS; i++) {
        bool sent = socket_send (socket, parts[i].bytes, parts[i].len, i + 1 < PARTS ? ZMQ_SNDMORE : 0);
        assert (sent); /* a REP drops an answer nobody waits for, it does not refuse it */
    }
}

/* ---- the handler's thread ---- */

/* An unknown key gets 300 (try again), because after a 400 libzmq's client never connects again, and a worker may
 * connect before a restarted coordinator has read its keys. libzmq 4.3.4 closes a connection with 300 only on its next
 * event, or when its handshake times out (zap_msg_available in its stream_engine_base.cpp ignores the status), so known
 * keys are admitted before the ports open. Only the self-test's key is refused for good. */
static const char *zap_judge (struct zap *zap, const struct zap_request *request, char user[ZAP_USER_BYTES])
{
    struct curve_key key;
    uint32_t slot;
    if (!zap_request_key (request, &key))
        return "500";
    const struct keyring *ring = zap_request_domain_is (request, ZAP_WORKERS)    ? zap->workers
                                 : zap_request_domain_is (request, ZAP_MONITORS) ? zap->monitors
                                                                                 : NULL;
    if (ring && keyring_find (ring, &key, &slot)) {
        snprintf (user, ZAP_USER_BYTES, "%u.%u", slot, keyring_slot_version (ring, slot));
        return "200";
    }
    if (memcmp (key.bytes, zap->decoy.bytes, sizeof key.bytes) != 0)
        return "300";
    zap->decoy_refusals++;
    return "400";
}

static bool zap_answer (struct zap *zap)
{
    struct zap_request request;
    char user[ZAP_USER_BYTES] = "";
    if (!zap_request_read (zap->requests, &request))
        return false;
    pthread_mutex_lock (&zap->lock);
    const char *status = zap_judge (zap, &request, user);
    pthread_mutex_unlock (&zap->lock);
    zap_request_answer (zap->requests, &request, status, user);
    return true;
}

static bool note_event (struct zap *zap, void *events)
{
    uint16_t event;
    uint32_t value;
    if (!handshake_read (events, &event, &value))
        return false;
    bool failed = event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL || event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
                  (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH && value != 400); /* 400: the decoy */
    pthread_mutex_lock (&zap->lock);
    zap->failures += failed;
    zap->closed += event == ZMQ_EVENT_CLOSED;
    pthread_cond_signal (&zap->changed);
    pthread_mutex_unlock (&zap->lock);
    return true;
}

static void *zap_serve (void *owner)
{
    enum { REQUESTS, STOP, EVENTS };
    struct zap *zap = owner;
    zmq_pollitem_t items[EVENTS + ZAP_SOCKETS_MAX] = { [REQUESTS] = { .socket = zap->requests, .events = ZMQ_POLLIN },
                                                       [STOP] = { .fd = zap->stop_fd, .events = ZMQ_POLLIN } };
    for (uint32_t i = 0; i < zap->events_len; i++)
        items[EVENTS + i] = (zmq_pollitem_t){ .socket = zap->events[i], .events = ZMQ_POLLIN };
    while (!(items[STOP].revents & ZMQ_POLLIN)) {
        int rc = zmq_poll (items, EVENTS + (int) zap->events_len, -1);
        assert (rc >= 0 || zmq_errno () == EINTR);
        for (uint32_t n = 0; n < AT_ONCE && zap_answer (zap); n++)
            ; /* zmq_poll asks the sockets themselves: what is left comes at once */
        for (uint32_t i = 0; i < zap->events_len; i++)
            for (uint32_t n = 0; n < AT_ONCE && note_event (zap, zap->events[i]); n++)
                ;
    }
    return NULL;
}

/* ---- life ---- */

static int bind_requests (struct zap *zap, struct err *err)
{
    const int linger = 0;
    zap->requests = zmq_socket (zap->context, ZMQ_REP);
    if (!zap->requests || zmq_setsockopt (zap->requests, ZMQ_LINGER, &linger, sizeof linger) != 0)
        return err_set (err, ERR_IO, "cannot create a socket for the handler that checks link keys (ZAP): %s",
                        zmq_strerror (zmq_errno ()));
    if (zmq_bind (zap->requests, handler_address) == 0)
        return 0;
    int why = zmq_errno ();
    socket_close (&zap->requests, 0);
    if (why == EADDRINUSE)
        return err_set (err, ERR_STATE,
                        "this process already serves the links of a run; one process can serve one run");
    return err_set (err, ERR_IO, "the handler that checks link keys (ZAP) cannot be bound: %s", zmq_strerror (why));
}

struct zap *zap_open (void *context, uint32_t workers, struct err *err)
{
    struct zap *zap = mem_alloc (sizeof *zap);
    zap->context = context;
    pthread_mutex_init (&zap->lock, NULL);
    pthread_cond_init (&zap->changed, NULL);
    zap->workers = keyring_make (workers);
    zap->monitors = keyring_make (ZAP_MONITORS_MAX);
    zap->stop_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (zap->stop_fd < 0)
        err_errno (err, ERR_IO, "cannot create a descriptor for the handler that checks link keys (ZAP)");
    else if (bind_requests (zap, err) == 0)
        return zap;
    zap_close (zap);
    return NULL;
}

int zap_watch_failures (struct zap *zap, void *socket, struct err *err)
{
    const int wanted = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                       ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_CLOSED;
    assert (!zap->started && zap->events_len < ZAP_SOCKETS_MAX);
    void *events = handshake_watch (zap->context, socket, wanted, err);
    if (!events)
        return -1;
    zap->events[zap->events_len++] = events;
    return 0;
}

/* The sockets pass to the new thread, and back in zap_close: both are full fences, as libzmq asks. */
int zap_start (struct zap *zap, struct err *err)
{
    sigset_t all, before;
    sigfillset (&all);
    pthread_sigmask (SIG_SETMASK, &all, &before); /* signals are for the loop's thread */
    int rc = pthread_create (&zap->thread, NULL, zap_serve, zap);
    pthread_sigmask (SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return err_set (err, ERR_IO, "cannot start a thread for the handler that checks link keys (ZAP): %s",
                        strerror (rc));
    zap->started = true;
    return 0;
}

static void zap_stop (struct zap *zap)
{
    uint64_t one = 1;
    ssize_t n = write (zap->stop_fd, &one, sizeof one);
    assert (n == (ssize_t) sizeof one);
    int rc = pthread_join (zap->thread, NULL);
    assert (rc == 0);
}

void zap_close (struct zap *zap)
{
    if (!zap)
        return;
    if (zap->started)
        zap_stop (zap);
    for (uint32_t i = 0; i < zap->events_len; i++)
        socket_close (&zap->events[i], 0);
    if (zap->requests) {
        int rc = zmq_unbind (zap->requests, handler_address); /* closing frees the name only later */
        assert (rc == 0);
        socket_close (&zap->requests, 0);
    }
    if (zap->stop_fd >= 0)
        close (zap->stop_fd);
    mem_free (zap->monitors);
    mem_free (zap->workers);
    pthread_cond_destroy (&zap->changed);
    pthread_mutex_destroy (&zap->lock);
    mem_free (zap);
}

/* ---- the opener's thread ---- */

int zap_admit_worker (struct zap *zap, uint32_t rank, const struct curve_key *key, struct err *err)
{
    uint32_t slot;
    if (keyring_find (zap->monitors, key, &slot))
        return err_set (err, ERR_REFUSED,
                        "the link key of the host of rank %u already belongs to a monitor; each needs its own", rank);
    pthread_mutex_lock (&zap->lock);
    keyring_put (zap->workers, rank, key);
    pthread_mutex_unlock (&zap->lock);
    return 0;
}

int zap_admit_monitor (struct zap *zap, const struct curve_key *key, struct err *err)
{
    uint32_t slot;
    if (keyring_find (zap->monitors, key, &slot))
        return 0;
    if (keyring_find (zap->workers, key, &slot))
        return err_set (err, ERR_REFUSED,
                        "the link key of a monitor already belongs to the host of rank %u; each needs its own", slot);
    if (zap->monitors_len == ZAP_MONITORS_MAX)
        return err_set (err, ERR_LIMIT, "a run can admit at most %d monitors", ZAP_MONITORS_MAX);
    pthread_mutex_lock (&zap->lock);
    keyring_put (zap->monitors, zap->monitors_len++, key);
    pthread_mutex_unlock (&zap->lock);
    return 0;
}

/* Without the lock: only this thread changes it. */
uint32_t zap_worker_key_version (const struct zap *zap, uint32_t rank)
{
    return keyring_slot_version (zap->workers, rank);
}

static bool parse_number (const char **at, char end, uint32_t *out)
{
    uint64_t number = 0;
    const char *start = *at;
    while (**at >= '0' && **at <= '9' && *at - start < 10)
        number = number * 10 + (uint64_t) (*(*at)++ - '0');
    if (*at == start || **at != end || number > UINT32_MAX)
        return false;
    *out = (uint32_t) number;
    return true;
}

/* By hand: it is done for every message. */
bool zap_parse_user (const char *user, uint32_t *rank, uint32_t *generation)
{
    if (!parse_number (&user, '.', rank))
        return false;
    user++;
    return parse_number (&user, '\0', generation);
}

/* The key whose refusal the self-test awaits. */
static void zap_set_decoy (struct zap *zap, const struct curve_key *decoy)
{
    pthread_mutex_lock (&zap->lock);
    zap->decoy = *decoy;
    pthread_mutex_unlock (&zap->lock);
}

static uint64_t zap_decoy_refusals (struct zap *zap)
{
    pthread_mutex_lock (&zap->lock);
    uint64_t n = zap->decoy_refusals;
    pthread_mutex_unlock (&zap->lock);
    return n;
}

uint64_t zap_failures (struct zap *zap)
{
    pthread_mutex_lock (&zap->lock);
    uint64_t n = zap->failures;
    pthread_mutex_unlock (&zap->lock);
    return n;
}

void zap_wait_ports_free (struct zap *zap, uint32_t listeners)
{
    struct timespec until;
    int rc = clock_gettime (CLOCK_MONOTONIC, &until);
    assert (rc == 0);
    until.tv_sec += CLOSED_WAIT_S;
    pthread_mutex_lock (&zap->lock);
    while (zap->started && zap->closed < listeners && rc == 0)
        rc = pthread_cond_clockwait (&zap->changed, &zap->lock, CLOCK_MONOTONIC, &until);
    pthread_mutex_unlock (&zap->lock);
}

/* ---- keyring ---- */

struct keyring {
    uint32_t n;
    struct keyring_slot {
        struct curve_key key;
        bool held;
        uint32_t version;
    } slots[];
};

struct keyring *keyring_make (uint32_t slots)
{
    assert (slots > 0);
    struct keyring *ring = mem_alloc (sizeof *ring + slots * sizeof ring->slots[0]);
    ring->n = slots;
    return ring;
}

bool keyring_find (const struct keyring *ring, const struct curve_key *key, uint32_t *slot)
{
    for (uint32_t i = 0; i < ring->n; i++)
        if (ring->slots[i].held && memcmp (ring->slots[i].key.bytes, key->bytes, sizeof key->bytes) == 0) {
            *slot = i;
            return true;
        }
    return false;
}

void keyring_put (struct keyring *ring, uint32_t slot, const struct curve_key *key)
{
    uint32_t old;
    assert (slot < ring->n);
    bool known = keyring_find (ring, key, &old);
    if (known && old == slot)
        return; /* nothing changes: connections stay good */
    if (known) {
        ring->slots[old].held = false;
        ring->slots[old].version++;
    }
    ring->slots[slot] = (struct keyring_slot){ *key, true, ring->slots[slot].version + 1 };
}

uint32_t keyring_slot_version (const struct keyring *ring, uint32_t slot)
{
    assert (slot < ring->n);
    return ring->slots[slot].version;
}

/* ---- zap self test ---- */

enum { WAIT_MS_MAX = 10000 };

static int wait_event (void *events, uint16_t *event)
{
    zmq_pollitem_t item = { .socket = events, .events = ZMQ_POLLIN };
    uint64_t until_ms = clock_boot_ms () + WAIT_MS_MAX;
    for (uint64_t now_ms = clock_boot_ms (); now_ms < until_ms; now_ms = clock_boot_ms ()) {
        uint32_t value;
        int rc = zmq_poll (&item, 1, (long) (until_ms - now_ms));
        assert (rc >= 0 || zmq_errno () == EINTR);
        if (rc > 0 && handshake_read (events, event, &value))
            return 0;
    }
    return -1;
}

static int require_refusal (void *events, const struct endpoint *to, struct zap *zap, uint64_t before, struct err *err)
{
    uint16_t event = 0;
    if (wait_event (events, &event) != 0)
        return err_set (
            err, ERR_STATE,
            "the coordinator's own port %s did not answer a test connection within %d s; does a firewall block it?",
            to->text, WAIT_MS_MAX / 1000);
    if (event != ZMQ_EVENT_HANDSHAKE_FAILED_AUTH || zap_decoy_refusals (zap) == before)
        return err_set (err, ERR_REFUSED,
                        "the coordinator's own port %s did not refuse a test key, as it must; no worker is started",
                        to->text);
    return 0;
}

int zap_self_test (void *context, int client_type, const struct endpoint *bound, const char *server_public_key,
                   struct zap *zap, struct err *err)
{
    const struct socket_kind kind = { .type = client_type, .queue_max = 1, .bytes_max = 1024 };
    struct endpoint to = endpoint_for_local_client (bound);
    struct link_keys keys;
    struct curve_key decoy;
    void *socket = NULL, *events = NULL;
    int rc = -1;
    link_keys_make (&keys);
    if (curve_key_parse (text_of (keys.public_key), &decoy, err) != 0)
        goto out;
    zap_set_decoy (zap, &decoy);
    uint64_t before = zap_decoy_refusals (zap);
    socket = socket_open_client (context, &kind, server_public_key, &keys, err);
    if (!socket)
        goto out;
    events = handshake_watch (context, socket, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, err);
    if (!events || socket_connect (socket, &to, err) != 0)
        goto out;
    rc = require_refusal (events, &to, zap, before, err);
out:
    socket_close (&socket, 0);
    socket_close (&events, 0);
    explicit_bzero (&keys, sizeof keys);
    return rc;
}
