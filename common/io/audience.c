#include "common/io/audience.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/io/clock.h"
#include "common/io/zap.h"

/* libzmq bounds a handshake by the same figure, and a CURVE INITIATE has more than 300 bytes. */
enum { FRAME_BYTES_MAX = 1024 };

struct place {
    struct hub_asker who;
    uint64_t until_ms;          /* 0: free */
};

struct audience {
    void *socket;               /* ROUTER */
    zmq_msg_t part, body;       /* routing id; the last question */
    struct place places[AUDIENCE_PLACES];
    bool left;                  /* reading stopped before nothing was there */
    uint64_t dropped;
};

struct audience *audience_open (void *context, const struct link_keys *keys, struct err *err)
{
    const struct socket_kind kind = { .type = ZMQ_ROUTER, .queue_max = AUDIENCE_QUEUE_MAX,
                                      .bytes_max = FRAME_BYTES_MAX };
    struct audience *audience = mem_alloc (sizeof *audience);
    zmq_msg_init (&audience->part);
    zmq_msg_init (&audience->body);
    audience->socket = socket_server (context, &kind, ZAP_MONITORS, keys, err);
    if (audience->socket)
        return audience;
    audience_close (audience, 0);
    return NULL;
}

void audience_close (struct audience *audience, uint64_t linger_ms)
{
    if (!audience)
        return;
    socket_close (&audience->socket, linger_ms);
    zmq_msg_close (&audience->part);
    zmq_msg_close (&audience->body);
    mem_free (audience);
}

void *audience_socket (struct audience *audience)
{
    return audience->socket;
}

uint64_t audience_dropped (const struct audience *audience)
{
    return audience->dropped;
}

/* ---- places ---- */

static bool sits (const struct place *place, uint64_t now_ms)
{
    return place->until_ms > now_ms;
}

static uint32_t places_of (const struct audience *audience, uint32_t key, uint64_t now_ms)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < AUDIENCE_PLACES; i++)
        n += sits (&audience->places[i], now_ms) && audience->places[i].who.key == key;
    return n;
}

/* Places that are not the first of their key. */
static uint32_t shared_places (const struct audience *audience, uint64_t now_ms)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < AUDIENCE_PLACES; i++) {
        bool further = false;
        for (uint32_t k = 0; k < i && !further && sits (&audience->places[i], now_ms); k++)
            further = sits (&audience->places[k], now_ms) && audience->places[k].who.key == audience->places[i].who.key;
        n += further;
    }
    return n;
}

static bool may_sit (const struct audience *audience, uint32_t key, uint64_t now_ms)
{
    uint32_t n = places_of (audience, key, now_ms);
    return n == 0 || (n < MONITOR_PLACES_A_KEY && shared_places (audience, now_ms) < AUDIENCE_SHARED);
}

/* Its own place, else a free one, else none: the same key, or all together, hold too many. */
static struct place *place_of (struct audience *audience, const struct hub_asker *who, uint64_t now_ms)
{
    struct place *free_place = NULL;
    for (uint32_t i = 0; i < AUDIENCE_PLACES; i++) {
        struct place *place = &audience->places[i];
        if (sits (place, now_ms) && memcmp (place->who.id, who->id, sizeof who->id) == 0)
            return place;
        if (!sits (place, now_ms) && !free_place)
            free_place = place;
    }
    return free_place && may_sit (audience, who->key, now_ms) ? free_place : NULL;
}

static bool seat (struct audience *audience, const struct hub_asker *who)
{
    uint64_t now_ms = clock_boot_ms ();
    struct place *place = place_of (audience, who, now_ms);
    if (place)
        *place = (struct place) { .who = *who, .until_ms = now_ms + MONITOR_STAY_MS };
    return place != NULL;
}

/* ---- frames ---- */

/* The whole message: its first two parts, the rest read away. False: it has not just these two. */
static bool take_message (struct audience *audience)
{
    if (!socket_receive (audience->socket, &audience->body))
        return false;
    bool whole = !zmq_msg_more (&audience->body);
    socket_skip_parts (audience->socket, &audience->body);
    return whole && zmq_msg_size (&audience->body) <= QUESTION_MAX_BYTES;
}

/* Only ids that the ROUTER made, and User-Id from the body: see hub.c. */
static bool accept_question (struct audience *audience, struct hub_asker *from)
{
    uint32_t generation;
    const uint8_t *id = zmq_msg_data (&audience->part);
    if (!zmq_msg_more (&audience->part) || !take_message (audience))
        return false;
    const char *user = zmq_msg_gets (&audience->body, "User-Id");
    if (zmq_msg_size (&audience->part) != sizeof from->id || id[0] != 0 || !user
        || !zap_parse_user (user, &from->key, &generation))
        return false;
    memcpy (from->id, id, sizeof from->id);
    /* An answer is only for who has a place: so what waits to be sent is bounded by their number. */
    return seat (audience, from);
}

bool audience_question (struct audience *audience, struct hub_asker *from, struct text *bytes)
{
    uint32_t useless = 0;
    audience->left = false;
    while (useless < USELESS_AT_ONCE && socket_receive (audience->socket, &audience->part)) {
        if (accept_question (audience, from)) {
            bytes->ptr = zmq_msg_data (&audience->body);
            bytes->len = (uint32_t) zmq_msg_size (&audience->body);
            return true;
        }
        audience->dropped++;
        useless++;
    }
    audience->left = useless == USELESS_AT_ONCE;
    return false;
}

bool audience_questions_left (const struct audience *audience)
{
    return audience->left;
}

bool audience_answer (struct audience *audience, const struct hub_asker *to, const void *bytes, size_t len)
{
    if (!socket_send (audience->socket, to->id, sizeof to->id, ZMQ_SNDMORE))
        return false;
    bool sent = socket_send (audience->socket, bytes, len, 0);
    assert (sent); /* once the routing id was taken, the body is */
    return true;
}

void audience_publish (struct audience *audience, const void *bytes, size_t len)
{
    uint64_t now_ms = clock_boot_ms ();
    if (len > ANSWER_MAX_BYTES)
        return; /* a gap in the numbers: it is asked for, and comes in pieces */
    for (uint32_t i = 0; i < AUDIENCE_PLACES; i++) {
        struct place *place = &audience->places[i];
        if (sits (place, now_ms) && !audience_answer (audience, &place->who, bytes, len) && errno == EHOSTUNREACH)
            place->until_ms = 0;
    }
}
