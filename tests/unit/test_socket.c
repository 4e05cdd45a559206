/* links: io */
#include "common/io/socket.h"
#include "test.h"

enum { ENFORCE_DOMAIN = 93 };

struct wanted {
    const char *name;
    int option, value;
};
#define WANTED(option, value)                                                                                          \
    {                                                                                                                  \
#option, option, value                                                                                         \
    }

static void assert_options (void *socket, const struct wanted *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int value = -1;
        size_t len = sizeof value;
        if (zmq_getsockopt (socket, wanted[i].option, &value, &len) != 0 || value != wanted[i].value)
            fail_msg ("%s is %d, not %d", wanted[i].name, value, wanted[i].value);
    }
}

static const struct wanted everywhere[] = {
    WANTED (ZMQ_HANDSHAKE_IVL, 5000), WANTED (ZMQ_HEARTBEAT_TTL, 0), WANTED (ZMQ_LINGER, 2000),
    WANTED (ZMQ_SNDHWM, 77),          WANTED (ZMQ_RCVHWM, 77),       WANTED (ZMQ_MECHANISM, ZMQ_CURVE),
};
static const struct wanted on_servers[] = {
    WANTED (ZMQ_CURVE_SERVER, 1),        WANTED (ENFORCE_DOMAIN, 1),        WANTED (ZMQ_BACKLOG, 16384),
    WANTED (ZMQ_HEARTBEAT_IVL, 0),       WANTED (ZMQ_TCP_KEEPALIVE, 1),     WANTED (ZMQ_TCP_KEEPALIVE_IDLE, 2),
    WANTED (ZMQ_TCP_KEEPALIVE_INTVL, 2), WANTED (ZMQ_TCP_KEEPALIVE_CNT, 3), WANTED (ZMQ_TCP_MAXRT, 6000),
};
static const struct wanted on_clients[] = {
    WANTED (ZMQ_CURVE_SERVER, 0),    WANTED (ZMQ_HEARTBEAT_IVL, 2000),     WANTED (ZMQ_HEARTBEAT_TIMEOUT, 6000),
    WANTED (ZMQ_RECONNECT_IVL, 200), WANTED (ZMQ_RECONNECT_IVL_MAX, 5000), WANTED (ZMQ_IMMEDIATE, 1),
    WANTED (ZMQ_TCP_MAXRT, 20000),
};

static void assert_bounded (void *socket)
{
    int64_t bytes_max = -1;
    size_t len = sizeof bytes_max;
    assert_int_equal (zmq_getsockopt (socket, ZMQ_MAXMSGSIZE, &bytes_max, &len), 0);
    assert_in_range (bytes_max, 5000, 5100);
}

TEST (every_option_is_set_before_anything_connects)
{
    struct link_keys keys;
    char domain[32] = "";
    size_t len = sizeof domain;
    link_keys_make (&keys);
    void *context = context_hold (&t->err);
    static const int servers[] = { ZMQ_ROUTER, ZMQ_XPUB }, clients[] = { ZMQ_DEALER, ZMQ_SUB };
    for (int i = 0; i < 2; i++) {
        struct socket_kind kind = { .type = servers[i], .queue_max = 77, .bytes_max = 5000 };
        void *server = socket_open_server (context, &kind, "the domain", &keys, &t->err);
        kind.type = clients[i];
        void *client = socket_open_client (context, &kind, keys.public_key, &keys, &t->err);
        assert_options (server, everywhere, sizeof everywhere / sizeof everywhere[0]);
        assert_options (server, on_servers, sizeof on_servers / sizeof on_servers[0]);
        assert_options (client, everywhere, sizeof everywhere / sizeof everywhere[0]);
        assert_options (client, on_clients, sizeof on_clients / sizeof on_clients[0]);
        assert_bounded (server);
        assert_bounded (client);
        len = sizeof domain;
        assert_int_equal (zmq_getsockopt (server, ZMQ_ZAP_DOMAIN, domain, &len), 0);
        assert_string_equal (domain, "the domain");
        socket_close (&server, 0);
        socket_close (&client, 0);
        assert_null (server);
    }
    context_release ();
}

TEST (endpoints_are_made_of_addresses_only)
{
    static char long_name[300];
    memset (long_name, 'a', sizeof long_name - 1);
    const struct {
        const char *address;
        uint16_t port;
        const char *endpoint;
    } cases[] = {
        { "127.0.0.1", 5, "tcp://127.0.0.1:5" },
        { "0.0.0.0", 0, "tcp://0.0.0.0:*" },
        { "*", 65535, "tcp://*:65535" },
        { "::1", 80, "tcp://[::1]:80" },
        { "[::1]", 80, "tcp://[::1]:80" },
        { "fe80::1%eth0", 80, "tcp://[fe80::1%eth0]:80" },
        { "host-1.example", 80, "tcp://host-1.example:80" },
        { "", 80, NULL },
        { "a b", 80, NULL },
        { "a;b", 80, NULL },
        { "a/b", 80, NULL },
        { "a\n", 80, NULL },
        { long_name, 80, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct endpoint made;
        struct err err = { 0 };
        int rc = endpoint_make (cases[i].address, cases[i].port, &made, &err);
        if (rc != (cases[i].endpoint ? 0 : -1))
            fail_msg ("\"%s\": %d", cases[i].address, rc);
        if (rc == 0)
            assert_string_equal (made.text, cases[i].endpoint);
        else
            assert_int_equal (err.code, ERR_USAGE);
    }
}

TEST (what_is_bound_everywhere_is_reached_at_home)
{
    static const char *const cases[][2] = {
        { "tcp://0.0.0.0:1234", "tcp://127.0.0.1:1234" },
        { "tcp://[::]:1234", "tcp://[::1]:1234" },
        { "tcp://10.0.0.1:1234", "tcp://10.0.0.1:1234" },
        { "tcp://[::1]:1234", "tcp://[::1]:1234" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct endpoint bound;
        strcpy (bound.text, cases[i][0]);
        assert_string_equal (endpoint_for_local_client (&bound).text, cases[i][1]);
        assert_int_equal (endpoint_port (&bound), 1234);
    }
}
