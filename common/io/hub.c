#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/io/link.h"
#include "common/io/socket.h"
#include "common/io/subscribers.h"
#include "common/io/zap.h"

enum { HOSTS_MAX_HUB = 65536 }; /* bounds the tables; the model allows far fewer */
/* Two connections a host, and two dead ones not noticed yet. */
enum { DESCRIPTORS_A_HOST = 4, DESCRIPTORS_BESIDE = 256 };
enum { THREADS = 3 }; /* libzmq's two, and the ZAP handler's */
enum { BYTES_A_HOST = 64 * 1024, BYTES_BESIDE = 8 * 1024 * 1024 };

/* The connection of a host; valid while the key has this generation. */
struct route {
    uint32_t version;
    uint8_t id[LINK_ROUTING_ID_BYTES];
};

struct channel {
    void *socket; /* ROUTER */
    struct endpoint bound;
    uint32_t bytes_max;
    zmq_msg_t body;       /* of the last frame received */
    bool left;            /* more frames may be waiting */
    struct route *routes; /* by rank */
};

struct hub {
    void *context;
    struct zap *zap;
    struct channel channels[LINK_CHANNELS];
    struct subscribers *subscribers;
    struct endpoint events_bound;
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

static int channel_open (struct hub *hub, enum link_channel which, const struct hub_options *options, struct err *err)
{
    struct channel *channel = &hub->channels[which];
    bool control = which == LINK_CONTROL;
    channel->bytes_max = control ? options->control_bytes_max : options->bulk_bytes_max;
    channel->routes = mem_array (options->hosts, sizeof channel->routes[0]);
    const struct socket_kind kind = { .type = ZMQ_ROUTER,
                                      .queue_max = control ? CONTROL_QUEUE_MAX : BULK_QUEUE_MAX,
                                      .bytes_max = channel->bytes_max };
    channel->socket = socket_open_server (hub->context, &kind, ZAP_WORKERS, options->keys, err);
    return channel->socket ? zap_watch_failures (hub->zap, channel->socket, err) : -1;
}

static int events_open (struct hub *hub, const struct hub_options *options, struct err *err)
{
    hub->subscribers = subscribers_open (hub->context, options->keys, err);
    return hub->subscribers ? zap_watch_failures (hub->zap, subscribers_socket (hub->subscribers), err) : -1;
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
    struct channel *control = &hub->channels[LINK_CONTROL], *bulk = &hub->channels[LINK_BULK];
    if (bind_one (control->socket, ports->address, ports->control, &control->bound, err) != 0)
        return err_prefix (err, "control channel");
    if (bind_one (bulk->socket, ports->address, ports->bulk, &bulk->bound, err) != 0)
        return err_prefix (err, "bulk channel");
    void *events = subscribers_socket (hub->subscribers);
    if (bind_one (events, ports->address, ports->events, &hub->events_bound, err) != 0)
        return err_prefix (err, "events channel");
    return 0;
}

static int try_doors (struct hub *hub, struct err *err)
{
    for (int i = 0; i < LINK_CHANNELS; i++)
        if (zap_self_test (hub->context, ZMQ_DEALER, &hub->channels[i].bound, hub->public_key, hub->zap, err) != 0)
            return -1;
    return zap_self_test (hub->context, ZMQ_DEALER, &hub->events_bound, hub->public_key, hub->zap, err);
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
    for (int i = 0; i < LINK_CHANNELS; i++)
        if (channel_open (hub, (enum link_channel) i, options, err) != 0)
            return -1;
    return events_open (hub, options, err) != 0 ? -1 : zap_start (hub->zap, err);
}

int hub_listen (struct hub *hub, const struct hub_ports *ports, struct err *err)
{
    assert (!hub->channels[LINK_CONTROL].bound.text[0]);
    return bind_all (hub, ports, err) != 0 ? -1 : try_doors (hub, err);
}

static uint32_t close_door (void **socket, const struct endpoint *bound, uint64_t linger_ms)
{
    socket_close (socket, linger_ms);
    return bound->text[0] != '\0';
}

/* Never calls zmq_unbind first, because it would end accepted connections at once, with their queued messages. */
static void hub_release (struct hub *hub, uint64_t linger_ms)
{
    uint32_t listeners = hub->events_bound.text[0] != '\0';
    subscribers_close (hub->subscribers, linger_ms);
    for (int i = LINK_CHANNELS - 1; i >= 0; i--) {
        struct channel *channel = &hub->channels[i];
        listeners += close_door (&channel->socket, &channel->bound, linger_ms);
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
    for (int i = 0; i < LINK_CHANNELS; i++)
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
    return endpoint_port (&hub->events_bound);
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

/* ---- frames ---- */

/* Reads User-Id from the body: in libzmq 4.3.4 the routing id's part has no metadata once the socket was polled. Reads
 * it every time, because a routing id can be reused after its connection, so it proves nothing. */
static bool sender_of (struct hub *hub, struct channel *channel, uint32_t *rank, uint32_t *generation)
{
    const char *user = zmq_msg_gets (&channel->body, "User-Id");
    if (!user || !zap_parse_user (user, rank, generation))
        return false;
    /* The key may have been replaced since, but libzmq keeps its old connection. */
    return *rank < hub->hosts && *generation == zap_worker_key_version (hub->zap, *rank);
}

/* Accepts only routing ids that the ROUTER made, because a peer could choose another's id. */
static bool note_route (struct hub *hub, struct channel *channel, uint32_t rank, uint32_t generation)
{
    const uint8_t *id = zmq_msg_data (&hub->part);
    if (zmq_msg_size (&hub->part) != LINK_ROUTING_ID_BYTES || id[0] != 0)
        return false;
    struct route *route = &channel->routes[rank];
    memcpy (route->id, id, LINK_ROUTING_ID_BYTES);
    route->version = generation;
    return true;
}

static bool accept_frame (struct hub *hub, struct channel *channel, uint32_t *rank)
{
    uint32_t generation;
    if (!zmq_msg_more (&hub->part))
        return false;
    bool there = socket_receive (channel->socket, &channel->body);
    assert (there); /* libzmq hands over whole messages only */
    if (zmq_msg_more (&channel->body)) {
        socket_skip_parts (channel->socket, &channel->body);
        return false;
    }
    return zmq_msg_size (&channel->body) <= channel->bytes_max && sender_of (hub, channel, rank, &generation) &&
           note_route (hub, channel, *rank, generation);
}

bool hub_receive (struct hub *hub, enum link_channel which, uint32_t *rank, struct text *bytes)
{
    struct channel *channel = &hub->channels[which];
    uint32_t useless = 0;
    channel->left = false;
    while (useless < USELESS_AT_ONCE && socket_receive (channel->socket, &hub->part)) {
        if (accept_frame (hub, channel, rank)) {
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

bool hub_frames_remain (const struct hub *hub, enum link_channel which)
{
    return hub->channels[which].left;
}

static bool send_frame (struct hub *hub, struct channel *channel, uint32_t rank, const void *bytes, size_t len)
{
    struct route *route = &channel->routes[rank];
    if (route->version == 0 || route->version != zap_worker_key_version (hub->zap, rank))
        return false;
    if (!socket_send (channel->socket, route->id, LINK_ROUTING_ID_BYTES, ZMQ_SNDMORE))
        return false;
    bool sent = socket_send (channel->socket, bytes, len, 0);
    assert (sent); /* once the routing id was taken, the body is */
    return true;
}

bool hub_send (struct hub *hub, enum link_channel which, uint32_t rank, const void *bytes, size_t len)
{
    struct channel *channel = &hub->channels[which];
    assert (rank < hub->hosts && len <= channel->bytes_max); /* longer, and the host's side cuts the connection */
    bool sent = send_frame (hub, channel, rank, bytes, len);
    hub->unsent += !sent;
    return sent;
}

void hub_publish (struct hub *hub, const void *bytes, size_t len)
{
    subscribers_publish (hub->subscribers, bytes, len);
}

int hub_events_fd (const struct hub *hub)
{
    return socket_fd (subscribers_socket (hub->subscribers));
}

bool hub_receive_question (struct hub *hub, struct hub_monitor *from, struct text *bytes)
{
    return subscribers_receive_question (hub->subscribers, from, bytes);
}

bool hub_questions_remain (const struct hub *hub)
{
    return subscribers_questions_remain (hub->subscribers);
}

bool hub_answer (struct hub *hub, const struct hub_monitor *to, const void *bytes, size_t len)
{
    assert (len <= ANSWER_MAX_BYTES);
    return subscribers_answer (hub->subscribers, to, bytes, len);
}

struct hub_counts hub_counts (const struct hub *hub)
{
    return (struct hub_counts){ .refused_handshakes = zap_failures (hub->zap),
                                .unsent = hub->unsent,
                                .dropped_frames = hub->dropped_frames + subscribers_dropped_frames (hub->subscribers) };
}
