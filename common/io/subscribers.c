#include "common/io/subscribers.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/io/clock.h"
#include "common/io/zap.h"

/* libzmq bounds a handshake by the same figure, and a CURVE INITIATE has more than 300 bytes. */
enum { FRAME_BYTES_MAX = 1024 };

struct place {
    struct hub_monitor who;
    uint64_t until_ms; /* 0: free */
};

struct subscribers {
    void *socket;         /* ROUTER */
    zmq_msg_t part, body; /* routing id; the last question */
    struct place places[SUBSCRIBERS_PLACES];
    bool left; /* more frames may be waiting */
    uint64_t dropped;
};

struct subscribers *subscribers_open (void *context, const struct link_keys *keys, struct err *err)
{
    const struct socket_kind kind = { .type = ZMQ_ROUTER,
                                      .queue_max = SUBSCRIBERS_QUEUE_MAX,
                                      .bytes_max = FRAME_BYTES_MAX };
    struct subscribers *subscribers = mem_alloc (sizeof *subscribers);
    zmq_msg_init (&subscribers->part);
    zmq_msg_init (&subscribers->body);
    subscribers->socket = socket_open_server (context, &kind, ZAP_MONITORS, keys, err);
    if (subscribers->socket)
        return subscribers;
    subscribers_close (subscribers, 0);
    return NULL;
}

void subscribers_close (struct subscribers *subscribers, uint64_t linger_ms)
{
    if (!subscribers)
        return;
    socket_close (&subscribers->socket, linger_ms);
    zmq_msg_close (&subscribers->part);
    zmq_msg_close (&subscribers->body);
    mem_free (subscribers);
}

void *subscribers_socket (struct subscribers *subscribers)
{
    return subscribers->socket;
}

uint64_t subscribers_dropped_frames (const struct subscribers *subscribers)
{
    return subscribers->dropped;
}

static bool sits (const struct place *place, uint64_t now_ms)
{
    return place->until_ms > now_ms;
}

static uint32_t places_of (const struct subscribers *subscribers, uint32_t key, uint64_t now_ms)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < SUBSCRIBERS_PLACES; i++)
        n += sits (&subscribers->places[i], now_ms) && subscribers->places[i].who.key == key;
    return n;
}

/* Places that are not the first of their key. */
static uint32_t shared_places (const struct subscribers *subscribers, uint64_t now_ms)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < SUBSCRIBERS_PLACES; i++) {
        bool further = false;
        for (uint32_t k = 0; k < i && !further && sits (&subscribers->places[i], now_ms); k++)
            further = sits (&subscribers->places[k], now_ms) &&
                      subscribers->places[k].who.key == subscribers->places[i].who.key;
        n += further;
    }
    return n;
}

static bool may_sit (const struct subscribers *subscribers, uint32_t key, uint64_t now_ms)
{
    uint32_t n = places_of (subscribers, key, now_ms);
    return n == 0 || (n < MONITOR_PLACES_A_KEY && shared_places (subscribers, now_ms) < SUBSCRIBERS_SHARED);
}

/* Its own place, else a free one, else none: its key, or all keys together, hold too many. */
static struct place *subscribers_place_of (struct subscribers *subscribers, const struct hub_monitor *who,
                                           uint64_t now_ms)
{
    struct place *free_place = NULL;
    for (uint32_t i = 0; i < SUBSCRIBERS_PLACES; i++) {
        struct place *place = &subscribers->places[i];
        if (sits (place, now_ms) && memcmp (place->who.id, who->id, sizeof who->id) == 0)
            return place;
        if (!sits (place, now_ms) && !free_place)
            free_place = place;
    }
    return free_place && may_sit (subscribers, who->key, now_ms) ? free_place : NULL;
}

static bool instance_lock (struct subscribers *subscribers, const struct hub_monitor *who)
{
    uint64_t now_ms = clock_boot_ms ();
    struct place *place = subscribers_place_of (subscribers, who, now_ms);
    if (place)
        *place = (struct place){ .who = *who, .until_ms = now_ms + MONITOR_STAY_MS };
    return place != NULL;
}

/* The whole message: its first two parts, the rest read away. False: it has not just these two. */
static bool take_message (struct subscribers *subscribers)
{
    if (!socket_receive (subscribers->socket, &subscribers->body))
        return false;
    bool whole = !zmq_msg_more (&subscribers->body);
    socket_skip_parts (subscribers->socket, &subscribers->body);
    return whole && zmq_msg_size (&subscribers->body) <= QUESTION_MAX_BYTES;
}

/* Only ids that the ROUTER made, and User-Id from the body: see hub.c. */
static bool accept_question (struct subscribers *subscribers, struct hub_monitor *from)
{
    uint32_t generation;
    const uint8_t *id = zmq_msg_data (&subscribers->part);
    if (!zmq_msg_more (&subscribers->part) || !take_message (subscribers))
        return false;
    const char *user = zmq_msg_gets (&subscribers->body, "User-Id");
    if (zmq_msg_size (&subscribers->part) != sizeof from->id || id[0] != 0 || !user ||
        !zap_parse_user (user, &from->key, &generation))
        return false;
    memcpy (from->id, id, sizeof from->id);
    /* Only monitors with a place get an answer, so their number bounds the queued answers. */
    return instance_lock (subscribers, from);
}

bool subscribers_receive_question (struct subscribers *subscribers, struct hub_monitor *from, struct text *bytes)
{
    uint32_t useless = 0;
    subscribers->left = false;
    while (useless < USELESS_AT_ONCE && socket_receive (subscribers->socket, &subscribers->part)) {
        if (accept_question (subscribers, from)) {
            bytes->ptr = zmq_msg_data (&subscribers->body);
            bytes->len = (uint32_t) zmq_msg_size (&subscribers->body);
            return true;
        }
        subscribers->dropped++;
        useless++;
    }
    subscribers->left = useless == USELESS_AT_ONCE;
    return false;
}

bool subscribers_questions_remain (const struct subscribers *subscribers)
{
    return subscribers->left;
}

bool subscribers_answer (struct subscribers *subscribers, const struct hub_monitor *to, const void *bytes, size_t len)
{
    if (!socket_send (subscribers->socket, to->id, sizeof to->id, ZMQ_SNDMORE))
        return false;
    bool sent = socket_send (subscribers->socket, bytes, len, 0);
    assert (sent); /* once the routing id was taken, the body is */
    return true;
}

void subscribers_publish (struct subscribers *subscribers, const void *bytes, size_t len)
{
    uint64_t now_ms = clock_boot_ms ();
    if (len > ANSWER_MAX_BYTES)
        return; /* the monitor sees a gap in the numbers, and asks for it in pieces */
    for (uint32_t i = 0; i < SUBSCRIBERS_PLACES; i++) {
        struct place *place = &subscribers->places[i];
        if (sits (place, now_ms) && !subscribers_answer (subscribers, &place->who, bytes, len) && errno == EHOSTUNREACH)
            place->until_ms = 0;
    }
}
