/* links: io */
#include <zmq.h>

#include "common/io/socket.h"
#include "link_lab.h"
#include "test.h"

#ifndef ZMQ_ZAP_ENFORCE_DOMAIN
#define ZMQ_ZAP_ENFORCE_DOMAIN 93
#endif

static struct link_keys hub_keys, a, monitor;

static int make_keys (void **state)
{
    (void) state;
    link_keys_make (&hub_keys);
    link_keys_make (&a);
    link_keys_make (&monitor);
    return 0;
}

static void set_int (void *socket, int option, int value)
{
    assert_int_equal (zmq_setsockopt (socket, option, &value, sizeof value), 0);
}

static void *raw_client (void *context, int type, const char *server_key, const struct link_keys *keys)
{
    void *socket = zmq_socket (context, type);
    set_int (socket, ZMQ_LINGER, 0);
    if (!keys)
        return socket;
    assert_int_equal (zmq_setsockopt (socket, ZMQ_CURVE_SERVERKEY, server_key, LINK_KEY_BYTES), 0);
    assert_int_equal (zmq_setsockopt (socket, ZMQ_CURVE_PUBLICKEY, keys->public_key, LINK_KEY_BYTES), 0);
    assert_int_equal (zmq_setsockopt (socket, ZMQ_CURVE_SECRETKEY, keys->secret_key, LINK_KEY_BYTES), 0);
    return socket;
}

/* ---- what libzmq does by itself: the ground the handler stands on ---- */

enum handler { NO_HANDLER, DENIES, SILENT };
struct row {
    const char *domain;
    int enforce;
    enum handler handler;
    bool delivered;
};

/* Asked: wait, too, until the handler heard; an answer that never comes is the end of a handshake as well. */
static bool deny (void *handler, enum handler kind)
{
    static const char *const answer[] = { "400", "", "", "" };
    char parts[8][256];
    size_t lens[8];
    int n = 0;
    if (!handler)
        return false;
    for (int more = 1; more && n < 8; n++) {
        size_t more_len = sizeof more;
        int len = zmq_recv (handler, parts[n], sizeof parts[n], n ? 0 : ZMQ_DONTWAIT);
        if (len < 0)
            return false;
        lens[n] = (size_t) len;
        zmq_getsockopt (handler, ZMQ_RCVMORE, &more, &more_len);
    }
    if (kind == SILENT)
        return true;
    zmq_send (handler, parts[0], lens[0], ZMQ_SNDMORE);
    zmq_send (handler, parts[1], lens[1], ZMQ_SNDMORE);
    for (int i = 0; i < 4; i++)
        zmq_send (handler, answer[i], strlen (answer[i]), i < 3 ? ZMQ_SNDMORE : 0);
    return true;
}

/* The end of the handshake: a frame, a failure, or (SILENT) the handler was asked for a second time. */
static bool row_delivers (const struct row *row)
{
    void *context = zmq_ctx_new (), *handler = NULL, *server = zmq_socket (context, ZMQ_ROUTER);
    void *events = zmq_socket (context, ZMQ_PAIR);
    char endpoint[64], got[16];
    size_t len = sizeof endpoint;
    int asked = 0;
    bool delivered = false, failed = false;
    if (row->handler != NO_HANDLER) {
        handler = zmq_socket (context, ZMQ_REP);
        set_int (handler, ZMQ_LINGER, 0);
        assert_int_equal (zmq_bind (handler, "inproc://zeromq.zap.01"), 0);
    }
    set_int (server, ZMQ_LINGER, 0);
    set_int (server, ZMQ_CURVE_SERVER, 1);
    set_int (server, ZMQ_HANDSHAKE_IVL, 200);
    set_int (server, ZMQ_ZAP_ENFORCE_DOMAIN, row->enforce);
    assert_int_equal (zmq_setsockopt (server, ZMQ_CURVE_SECRETKEY, hub_keys.secret_key, LINK_KEY_BYTES), 0);
    if (row->domain)
        assert_int_equal (zmq_setsockopt (server, ZMQ_ZAP_DOMAIN, row->domain, strlen (row->domain)), 0);
    assert_int_equal (zmq_socket_monitor (server, "inproc://events",
                                          ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                                              ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL),
                      0);
    assert_int_equal (zmq_connect (events, "inproc://events"), 0);
    assert_int_equal (zmq_bind (server, "tcp://127.0.0.1:*"), 0);
    assert_int_equal (zmq_getsockopt (server, ZMQ_LAST_ENDPOINT, endpoint, &len), 0);
    void *client = raw_client (context, ZMQ_DEALER, hub_keys.public_key, &a);
    assert_int_equal (zmq_connect (client, endpoint), 0);
    assert_int_equal (zmq_send (client, "hello", 5, 0), 5);
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; !delivered && !failed; lab_pause (-1)) {
        assert_true (clock_boot_ms () < end);
        asked += deny (handler, row->handler);
        failed = zmq_recv (events, got, sizeof got, ZMQ_DONTWAIT) >= 0;
        delivered = zmq_recv (server, got, sizeof got, ZMQ_DONTWAIT) >= 0;
    }
    assert_int_equal (asked, row->handler == NO_HANDLER || !row->domain ? 0 : 1);
    set_int (events, ZMQ_LINGER, 0);
    zmq_close (client);
    zmq_close (server);
    zmq_close (events);
    if (handler)
        zmq_close (handler);
    zmq_ctx_term (context);
    return delivered;
}

TEST (only_a_domain_that_is_enforced_fails_closed)
{
    static const struct row rows[] = {
        { NULL, 0, NO_HANDLER, true },   { "workers", 0, NO_HANDLER, true },  { NULL, 1, NO_HANDLER, true },
        { NULL, 1, DENIES, true },       { "workers", 1, NO_HANDLER, false }, { "workers", 1, DENIES, false },
        { "workers", 1, SILENT, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (row_delivers (&rows[i]) != rows[i].delivered)
            fail_msg ("row %zu: %s", i + 1, rows[i].delivered ? "not delivered" : "delivered");
}

/* ---- the hub ---- */

enum door { CONTROL, BULK, EVENTS };
static const char *const door_names[] = { "control", "bulk", "events" };

static void connect_to (void *socket, const struct hub *hub, enum door door)
{
    char endpoint[64];
    uint16_t port = door == EVENTS ? hub_events_port (hub) : hub_port (hub, (enum link_channel) door);
    snprintf (endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", (unsigned) port);
    assert_int_equal (zmq_connect (socket, endpoint), 0);
}

/* Gets in: a frame of it is heard. */
static bool gets_in (struct hub *hub, enum door door, const char *server_key, const struct link_keys *keys)
{
    void *context = context_hold (NULL);
    void *client = raw_client (context, ZMQ_DEALER, server_key, keys);
    uint64_t refused = hub_counts (hub).refused_handshakes;
    bool in = false, out = false;
    connect_to (client, hub, door);
    assert_int_equal (zmq_send (client, "hello", 5, 0), 5);
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; !in && !out; lab_pause (-1)) {
        uint32_t rank;
        struct text bytes;
        struct hub_monitor query;
        assert_true (clock_boot_ms () < end);
        in = door == EVENTS ? hub_receive_question (hub, &query, &bytes)
                            : hub_receive (hub, (enum link_channel) door, &rank, &bytes);
        out = hub_counts (hub).refused_handshakes > refused;
    }
    zmq_close (client);
    context_release ();
    return in;
}

TEST (each_key_opens_the_doors_of_its_role_and_no_other)
{
    struct link_keys unlisted, other_hub;
    link_keys_make (&unlisted);
    link_keys_make (&other_hub);
    const struct {
        const char *who;
        const char *server_key;
        const struct link_keys *keys;
        bool opens[3];
    } cases[] = {
        { "worker", hub_keys.public_key, &a, { true, true, false } },
        { "monitor", hub_keys.public_key, &monitor, { false, false, true } },
        { "unlisted", hub_keys.public_key, &unlisted, { false, false, false } },
        { "the hub's own key", hub_keys.public_key, &hub_keys, { false, false, false } },
        { "no CURVE", NULL, NULL, { false, false, false } },
        { "wrong server key", other_hub.public_key, &a, { false, false, false } },
    };
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 0, &a);
    assert_int_equal (hub_admit_monitor (hub, text_of (monitor.public_key), NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int door = CONTROL; door <= EVENTS; door++)
            if (gets_in (hub, (enum door) door, cases[i].server_key, cases[i].keys) != cases[i].opens[door])
                fail_msg ("%s at %s: %s", cases[i].who, door_names[door], cases[i].opens[door] ? "kept out" : "let in");
    assert_int_equal (hub_counts (hub).dropped_frames, 0);
    hub_close (hub);
}

TEST (a_stolen_public_key_opens_nothing)
{
    struct link_keys thief;
    link_keys_make (&thief);
    memcpy (thief.public_key, a.public_key, sizeof thief.public_key);
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 0, &a);
    assert_false (gets_in (hub, CONTROL, hub_keys.public_key, &thief));
    hub_close (hub);
}

/* ---- the self-test ---- */

TEST (the_self_test_notices_an_open_door)
{
    void *context = context_hold (&t->err);
    struct zap *zap = zap_open (context, LAB_HOSTS, &t->err);
    assert_non_null (zap);
    assert_int_equal (zap_start (zap, &t->err), 0);
    const struct {
        const char *domain;
        int enforce;
        int expected;
    } cases[] = {
        { NULL, 1, -1 }, /* everybody passes, nobody is asked */
        { ZAP_WORKERS, 1, 0 },
        { "another", 1, 0 }, /* a domain nobody has a key for */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct endpoint at, bound;
        void *door = zmq_socket (context, ZMQ_ROUTER);
        set_int (door, ZMQ_CURVE_SERVER, 1);
        set_int (door, ZMQ_ZAP_ENFORCE_DOMAIN, cases[i].enforce);
        assert_int_equal (zmq_setsockopt (door, ZMQ_CURVE_SECRETKEY, hub_keys.secret_key, LINK_KEY_BYTES), 0);
        if (cases[i].domain)
            zmq_setsockopt (door, ZMQ_ZAP_DOMAIN, cases[i].domain, strlen (cases[i].domain));
        assert_int_equal (endpoint_make ("127.0.0.1", 0, &at, &t->err), 0);
        assert_int_equal (socket_bind (door, &at, &bound, &t->err), 0);
        t->err = (struct err){ 0 };
        assert_int_equal (zap_self_test (context, ZMQ_DEALER, &bound, hub_keys.public_key, zap, &t->err),
                          cases[i].expected);
        assert_int_equal (t->err.code, cases[i].expected ? ERR_REFUSED : ERR_NONE);
        socket_close (&door, 0);
    }
    zap_close (zap);
    context_release ();
}

/* ---- its parts ---- */

TEST (users_are_a_rank_and_a_generation)
{
    static const struct {
        const char *user;
        bool good;
        uint32_t rank, generation;
    } cases[] = {
        { "0.1", true, 0, 1 },
        { "4095.77", true, 4095, 77 },
        { "4294967295.4294967295", true, UINT32_MAX, UINT32_MAX },
        { "", false, 0, 0 },
        { "1", false, 0, 0 },
        { "1.", false, 0, 0 },
        { ".1", false, 0, 0 },
        { "1.1 ", false, 0, 0 },
        { "-1.1", false, 0, 0 },
        { "1.4294967296", false, 0, 0 },
        { "monitor", false, 0, 0 },
        { "99999999999.1", false, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t rank = 0, generation = 0;
        if (zap_parse_user (cases[i].user, &rank, &generation) != cases[i].good)
            fail_msg ("\"%s\"", cases[i].user);
        if (cases[i].good) {
            assert_int_equal (rank, cases[i].rank);
            assert_int_equal (generation, cases[i].generation);
        }
    }
}

enum { SLOTS = 8, KEYS = 16 };

static struct curve_key key_number (uint32_t n)
{
    struct curve_key key = { .bytes = { (uint8_t) (n % 3) } }; /* few first bytes: chains are walked */
    key.bytes[31] = (uint8_t) n;
    return key;
}

/* Against the simplest thing that can be right: an array of who has which key. */
TEST (a_keyring_agrees_with_a_list)
{
    int model[SLOTS];
    uint32_t generations[SLOTS] = { 0 };
    struct rng rng = rng_seed (7);
    struct keyring *ring = keyring_make (SLOTS);
    memset (model, -1, sizeof model);
    for (int step = 0; step < 5000; step++) {
        uint32_t slot = (uint32_t) rng_below (&rng, SLOTS), number = (uint32_t) rng_below (&rng, KEYS), found = 99;
        struct curve_key key = key_number (number);
        bool same = model[slot] == (int) number;
        keyring_put (ring, slot, &key);
        for (uint32_t i = 0; i < SLOTS; i++) {
            bool loses = i != slot && model[i] == (int) number;
            if (loses)
                model[i] = -1;
            bool changed = loses || (i == slot && !same);
            assert_true (changed ? keyring_slot_version (ring, i) > generations[i]
                                 : keyring_slot_version (ring, i) == generations[i]);
            generations[i] = keyring_slot_version (ring, i);
        }
        model[slot] = (int) number;
        for (uint32_t n = 0; n < KEYS; n++) {
            uint32_t expected = 99;
            for (uint32_t i = 0; i < SLOTS; i++)
                if (model[i] == (int) n)
                    expected = i;
            found = 99;
            key = key_number (n);
            assert_int_equal (keyring_find (ring, &key, &found), expected != 99);
            assert_int_equal (found, expected);
        }
    }
    mem_free (ring);
}

TEST_GROUP (make_keys, NULL)
