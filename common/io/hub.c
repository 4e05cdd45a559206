#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/io/clock.h"
#include "common/io/link.h"
#include "common/io/socket.h"

enum { HOSTS_MAX_HUB = 65536 }; /* bounds the tables; the model allows fewer */
/* When all hosts come at once, each handshake waits for the others': one cut short is work done in vain. */
enum { HANDSHAKE_A_HOST_MS = 2 };
/* Two connections a host, and two dead ones not noticed yet. */
enum { DESCRIPTORS_A_HOST = 4, DESCRIPTORS_BESIDE = 256 };
enum { THREADS = 3 }; /* libzmq's two, and the ZAP handler's */
enum { BYTES_A_HOST = 64 * 1024, BYTES_BESIDE = 8 * 1024 * 1024 };
/* Queues of 256 frames of at most 32 KiB: a monitor that never reads costs 8 MiB for each of its four places. */
enum { MONITOR_PLACES = 160, MONITOR_PLACES_SHARED = MONITOR_PLACES - MONITOR_KEYS, EVENTS_QUEUE_MAX = 256 };
/* libzmq bounds a handshake by the same figure, and a CURVE INITIATE has more than 300 bytes. */
enum { EVENTS_FRAME_MAX_BYTES = 1024 };

/* The connection of a host; valid while the key has this generation. */
struct route {
    uint32_t version;
    uint8_t id[LINK_ROUTING_ID_BYTES];
    char address[LINK_ADDRESS_BYTES];
};

/* Of a monitor. An XPUB would keep its peers' subscriptions without bound, unseen by the application. Here a monitor has
 * a place for MONITOR_STAY_MS after each question, at most MONITOR_PLACES_A_KEY of them; without one it is ignored and
 * receives nothing. The first place of each of MONITOR_KEYS keys is reserved for it. */
struct place {
    struct hub_monitor who;
    uint64_t until_ms; /* 0: free */
};

struct channel {
    void *socket; /* ROUTER */
    struct endpoint bound;
    uint32_t bytes_max;
    zmq_msg_t body;       /* of the last frame received */
    bool left;            /* more frames may be waiting */
    struct route *routes; /* by rank; EVENTS: NULL */
};

/* Beside those that workers use, the monitors' own. */
enum { EVENTS = LINK_CHANNELS, CHANNELS };

struct hub {
    void *context;
    struct zap *zap;
    struct channel channels[CHANNELS];
    struct place places[MONITOR_PLACES];
    zmq_msg_t part; /* routing ids */
    uint32_t hosts;
    char public_key[LINK_KEY_BYTES];
    uint64_t dropped_frames, unsent;
};

/* ---- open, close ---- */

struct capacity_needs hub_capacity_needed (uint32_t hosts)
{
    return (struct capacity_needs){ .descriptors = hosts * DESCRIPTORS_A_HOST + DESCRIPTORS_BESIDE,
                                    .threads = THREADS,
                                    .bytes = (uint64_t) hosts * BYTES_A_HOST + BYTES_BESIDE };
}

static int check_capacity (uint32_t hosts, struct err *err)
{
    char what[48];
    struct capacity_needs needs = hub_capacity_needed (hosts);
    snprintf (what, sizeof what, "a run of %u host%s", hosts, hosts == 1 ? "" : "s");
    return process_capacity_check (what, &needs, err);
}

static int hub_check_options (const struct hub_options *options, struct err *err)
{
    if (options->hosts == 0 || options->hosts > HOSTS_MAX_HUB)
        return err_set (err, ERR_USAGE, "the coordinator can serve 1 to %d hosts; this run has %u", HOSTS_MAX_HUB,
                        options->hosts);
    if (link_keys_check (options->keys, err) != 0)
        return err_prefix (err, "the coordinator's keys");
    return 0;
}

static int channel_open (struct hub *hub, int which, const struct hub_options *options, struct err *err)
{
    struct channel *channel = &hub->channels[which];
    bool control = which == LINK_CONTROL;
    channel->bytes_max = control ? options->control_bytes_max : options->bulk_bytes_max;
    struct socket_kind kind = { .type = ZMQ_ROUTER,
                                .queue_max = control ? CONTROL_QUEUE_MAX : BULK_QUEUE_MAX,
                                .bytes_max = channel->bytes_max,
                                .handshake_more_ms = (int) options->hosts * HANDSHAKE_A_HOST_MS };
    if (which == EVENTS) {
        channel->bytes_max = QUESTION_MAX_BYTES;
        kind.queue_max = EVENTS_QUEUE_MAX;
        kind.bytes_max = EVENTS_FRAME_MAX_BYTES;
    } else {
        channel->routes = mem_array (options->hosts, sizeof channel->routes[0]);
    }
    channel->socket = socket_open_server (hub->context, &kind, which == EVENTS ? ZAP_MONITORS : ZAP_WORKERS,
                                          options->keys, err);
    return channel->socket ? zap_watch_failures (hub->zap, channel->socket, err) : -1;
}

static int bind_one (void *socket, const char *address, uint16_t port, struct endpoint *bound, struct err *err)
{
    struct endpoint at;
    if (endpoint_make (address, port, &at, err) != 0)
        return -1;
    return socket_bind (socket, &at, bound, err);
}

static int bind_all (struct hub *hub, const struct hub_ports *ports, struct err *err)
{
    static const char *const names[CHANNELS] = { "control channel", "bulk channel", "events channel" };
    const uint16_t numbers[CHANNELS] = { ports->control, ports->bulk, ports->events };
    for (int i = 0; i < CHANNELS; i++)
        if (bind_one (hub->channels[i].socket, ports->address, numbers[i], &hub->channels[i].bound, err) != 0)
            return err_prefix (err, "%s", names[i]);
    return 0;
}

static int try_doors (struct hub *hub, struct err *err)
{
    for (int i = 0; i < CHANNELS; i++)
        if (zap_self_test (hub->context, ZMQ_DEALER, &hub->channels[i].bound, hub->public_key, hub->zap, err) != 0)
            return -1;
    return 0;
}

/* The ZAP handler starts before any socket is bound. */
static int hub_start (struct hub *hub, const struct hub_options *options, struct err *err)
{
    hub->context = context_hold (err);
    if (!hub->context)
        return -1;
    hub->zap = zap_open (hub->context, options->hosts, err);
    if (!hub->zap)
        return -1;
    for (int i = 0; i < CHANNELS; i++)
        if (channel_open (hub, i, options, err) != 0)
            return -1;
    return zap_start (hub->zap, err);
}

int hub_listen (struct hub *hub, const struct hub_ports *ports, struct err *err)
{
    assert (!hub->channels[LINK_CONTROL].bound.text[0]);
    return bind_all (hub, ports, err) != 0 ? -1 : try_doors (hub, err);
}

/* Never calls zmq_unbind first, because it would end accepted connections at once, with their queued messages. */
static void hub_release (struct hub *hub, uint64_t linger_ms)
{
    uint32_t listeners = 0;
    for (int i = CHANNELS - 1; i >= 0; i--) {
        struct channel *channel = &hub->channels[i];
        listeners += channel->bound.text[0] != '\0';
        socket_close (&channel->socket, linger_ms);
        zmq_msg_close (&channel->body);
        mem_free (channel->routes);
    }
    zmq_msg_close (&hub->part);
    if (hub->zap)
        zap_wait_ports_free (hub->zap, listeners); /* whoever opens the next hub wants the same ports */
    zap_close (hub->zap);
    if (hub->context)
        context_release ();
    mem_free (hub);
}

struct hub *hub_open (const struct hub_options *options, struct err *err)
{
    if (hub_check_options (options, err) != 0 || check_capacity (options->hosts, err) != 0)
        return NULL;
    struct hub *hub = mem_alloc (sizeof *hub);
    hub->hosts = options->hosts;
    memcpy (hub->public_key, options->keys->public_key, sizeof hub->public_key);
    zmq_msg_init (&hub->part);
    for (int i = 0; i < CHANNELS; i++)
        zmq_msg_init (&hub->channels[i].body);
    if (hub_start (hub, options, err) == 0)
        return hub;
    hub_release (hub, 0);
    return NULL;
}

void hub_close (struct hub *hub)
{
    if (hub)
        hub_release (hub, CLOSE_LINGER_MS);
}

uint16_t hub_port (const struct hub *hub, enum link_channel channel)
{
    return endpoint_port (&hub->channels[channel].bound);
}

uint16_t hub_events_port (const struct hub *hub)
{
    return endpoint_port (&hub->channels[EVENTS].bound);
}

int hub_fd (const struct hub *hub, enum link_channel channel)
{
    return socket_fd (hub->channels[channel].socket);
}

/* ---- who may speak ---- */

int hub_admit_worker (struct hub *hub, uint32_t rank, struct text public_key, struct err *err)
{
    struct curve_key key;
    if (rank >= hub->hosts)
        return err_set (err, ERR_LIMIT, "there can be no host of rank %u: this run has %u hosts", rank, hub->hosts);
    if (curve_key_parse (public_key, &key, err) != 0)
        return err_prefix (err, "the link key of the host of rank %u", rank);
    return zap_admit_worker (hub->zap, rank, &key, err);
}

int hub_admit_monitor (struct hub *hub, struct text public_key, struct err *err)
{
    struct curve_key key;
    if (curve_key_parse (public_key, &key, err) != 0)
        return err_prefix (err, "the link key of a monitor");
    return zap_admit_monitor (hub->zap, &key, err);
}

/* ---- monitors' places ---- */

static bool sits (const struct place *place, uint64_t now_ms)
{
    return place->until_ms > now_ms;
}

static uint32_t places_of (const struct hub *hub, uint32_t key, uint64_t now_ms)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < MONITOR_PLACES; i++)
        n += sits (&hub->places[i], now_ms) && hub->places[i].who.key == key;
    return n;
}

/* Places that are not the first of their key. */
static uint32_t shared_places (const struct hub *hub, uint64_t now_ms)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < MONITOR_PLACES; i++) {
        bool further = false;
        for (uint32_t k = 0; k < i && !further && sits (&hub->places[i], now_ms); k++)
            further = sits (&hub->places[k], now_ms) && hub->places[k].who.key == hub->places[i].who.key;
        n += further;
    }
    return n;
}

static bool may_sit (const struct hub *hub, uint32_t key, uint64_t now_ms)
{
    uint32_t n = places_of (hub, key, now_ms);
    return n == 0 || (n < MONITOR_PLACES_A_KEY && shared_places (hub, now_ms) < MONITOR_PLACES_SHARED);
}

/* Its own place, else a free one, else none: its key, or all keys together, hold too many. */
static struct place *place_of (struct hub *hub, const struct hub_monitor *who, uint64_t now_ms)
{
    struct place *free_place = NULL;
    for (uint32_t i = 0; i < MONITOR_PLACES; i++) {
        struct place *place = &hub->places[i];
        if (sits (place, now_ms) && memcmp (place->who.id, who->id, sizeof who->id) == 0)
            return place;
        if (!sits (place, now_ms) && !free_place)
            free_place = place;
    }
    return free_place && may_sit (hub, who->key, now_ms) ? free_place : NULL;
}

/* Only monitors with a place get an answer, so their number bounds the queued answers. */
static bool take_place (struct hub *hub, const struct hub_monitor *who)
{
    uint64_t now_ms = clock_boot_ms ();
    struct place *place = place_of (hub, who, now_ms);
    if (place)
        *place = (struct place){ .who = *who, .until_ms = now_ms + MONITOR_STAY_MS };
    return place != NULL;
}

/* ---- frames ---- */

/* The key may have been replaced since, but libzmq keeps its old connection. */
static bool note_route (struct hub *hub, struct channel *channel, const struct hub_monitor *from, uint32_t generation)
{
    uint32_t rank = from->key;
    if (rank >= hub->hosts || generation != zap_worker_key_version (hub->zap, rank))
        return false;
    struct route *route = &channel->routes[rank];
    if (memcmp (route->id, from->id, LINK_ROUTING_ID_BYTES) != 0 || !route->address[0]) {
        const char *address = zmq_msg_gets (&channel->body, "Peer-Address");
        bool mapped = address && strncmp (address, "::ffff:", 7) == 0; /* IPv4, at a socket of both families */
        snprintf (route->address, sizeof route->address, "%s", address ? address + 7 * mapped : "");
    }
    memcpy (route->id, from->id, LINK_ROUTING_ID_BYTES);
    route->version = generation;
    return true;
}

/* Reads User-Id from the body: in libzmq 4.3.4 the routing id's part has no metadata once the socket was polled. Reads
 * it every time, because a routing id can be reused after its connection, so it proves nothing. Accepts only routing ids
 * that the ROUTER made, because a peer could choose another's id. */
static bool accept_frame (struct hub *hub, struct channel *channel, struct hub_monitor *from)
{
    uint32_t generation;
    const uint8_t *id = zmq_msg_data (&hub->part);
    if (!zmq_msg_more (&hub->part))
        return false;
    bool there = socket_receive (channel->socket, &channel->body);
    assert (there); /* libzmq hands over whole messages only */
    if (zmq_msg_more (&channel->body)) {
        socket_skip_parts (channel->socket, &channel->body);
        return false;
    }
    const char *user = zmq_msg_gets (&channel->body, "User-Id");
    if (zmq_msg_size (&channel->body) > channel->bytes_max || !user ||
        !zap_parse_user (user, &from->key, &generation) || zmq_msg_size (&hub->part) != sizeof from->id || id[0] != 0)
        return false;
    memcpy (from->id, id, sizeof from->id);
    return channel->routes ? note_route (hub, channel, from, generation) : take_place (hub, from);
}

/* `from->key`: the rank of a worker. */
static bool receive (struct hub *hub, struct channel *channel, struct hub_monitor *from, struct text *bytes)
{
    uint32_t useless = 0;
    channel->left = false;
    while (useless < USELESS_AT_ONCE && socket_receive (channel->socket, &hub->part)) {
        if (accept_frame (hub, channel, from)) {
            bytes->ptr = zmq_msg_data (&channel->body);
            bytes->len = (uint32_t) zmq_msg_size (&channel->body);
            return true;
        }
        hub->dropped_frames++;
        useless++;
    }
    channel->left = useless == USELESS_AT_ONCE;
    return false;
}

bool hub_receive (struct hub *hub, enum link_channel which, uint32_t *rank, struct text *bytes)
{
    struct hub_monitor from;
    bool there = receive (hub, &hub->channels[which], &from, bytes);
    if (there)
        *rank = from.key;
    return there;
}

const char *hub_worker_address (const struct hub *hub, uint32_t rank)
{
    return hub->channels[LINK_CONTROL].routes[rank].address;
}

bool hub_frames_remain (const struct hub *hub, enum link_channel which)
{
    return hub->channels[which].left;
}

static bool send_to (struct channel *channel, const uint8_t id[LINK_ROUTING_ID_BYTES], const void *bytes, size_t len)
{
    if (!socket_send (channel->socket, id, LINK_ROUTING_ID_BYTES, ZMQ_SNDMORE))
        return false;
    bool sent = socket_send (channel->socket, bytes, len, 0);
    assert (sent); /* once the routing id was taken, the body is */
    return true;
}

bool hub_send (struct hub *hub, enum link_channel which, uint32_t rank, const void *bytes, size_t len)
{
    struct channel *channel = &hub->channels[which];
    assert (rank < hub->hosts && len <= channel->bytes_max); /* longer, and the host's side cuts the connection */
    const struct route *route = &channel->routes[rank];
    bool sent = route->version != 0 && route->version == zap_worker_key_version (hub->zap, rank) &&
                send_to (channel, route->id, bytes, len);
    hub->unsent += !sent;
    return sent;
}

void hub_publish (struct hub *hub, const void *bytes, size_t len)
{
    uint64_t now_ms = clock_boot_ms ();
    if (len > ANSWER_MAX_BYTES)
        return; /* the monitor sees a gap in the numbers, and asks for it in pieces */
    for (uint32_t i = 0; i < MONITOR_PLACES; i++) {
        struct place *place = &hub->places[i];
        if (sits (place, now_ms) && !hub_answer (hub, &place->who, bytes, len) && errno == EHOSTUNREACH)
            place->until_ms = 0;
    }
}

int hub_events_fd (const struct hub *hub)
{
    return socket_fd (hub->channels[EVENTS].socket);
}

bool hub_receive_question (struct hub *hub, struct hub_monitor *from, struct text *bytes)
{
    return receive (hub, &hub->channels[EVENTS], from, bytes);
}

bool hub_questions_remain (const struct hub *hub)
{
    return hub->channels[EVENTS].left;
}

bool hub_answer (struct hub *hub, const struct hub_monitor *to, const void *bytes, size_t len)
{
    assert (len <= ANSWER_MAX_BYTES);
    return send_to (&hub->channels[EVENTS], to->id, bytes, len);
}

struct hub_counts hub_counts (const struct hub *hub)
{
    return (struct hub_counts){ .refused_handshakes = zap_failures (hub->zap),
                                .unsent = hub->unsent,
                                .dropped_frames = hub->dropped_frames };
}
