/* links: io */
#include <netinet/in.h>
#include <sys/socket.h>
#include <zmq.h>

#include "common/io/socket.h"
#include "link_lab.h"
#include "test.h"

static struct link_keys hub_keys, a, b;

static int make_keys (void **state)
{
    (void) state;
    link_keys_make (&hub_keys);
    link_keys_make (&a);
    link_keys_make (&b);
    return 0;
}

/* A client that is no spoke of ours but has good keys: own context, so that it can be rude. */
struct stranger {
    void *context, *socket;
};

static struct stranger stranger_to (const struct hub *hub, const struct link_keys *keys, const char *routing_id)
{
    struct stranger it = { .context = zmq_ctx_new () };
    char endpoint[64];
    it.socket = zmq_socket (it.context, ZMQ_DEALER);
    if (routing_id)
        assert_int_equal (zmq_setsockopt (it.socket, ZMQ_ROUTING_ID, routing_id, strlen (routing_id)), 0);
    assert_int_equal (zmq_setsockopt (it.socket, ZMQ_CURVE_SERVERKEY, hub_keys.public_key, LINK_KEY_BYTES), 0);
    assert_int_equal (zmq_setsockopt (it.socket, ZMQ_CURVE_PUBLICKEY, keys->public_key, LINK_KEY_BYTES), 0);
    assert_int_equal (zmq_setsockopt (it.socket, ZMQ_CURVE_SECRETKEY, keys->secret_key, LINK_KEY_BYTES), 0);
    snprintf (endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", (unsigned) hub_port (hub, LINK_CONTROL));
    assert_int_equal (zmq_connect (it.socket, endpoint), 0);
    return it;
}

static void stranger_leave (struct stranger *it)
{
    const int linger = 0;
    zmq_setsockopt (it->socket, ZMQ_LINGER, &linger, sizeof linger);
    zmq_close (it->socket);
    zmq_ctx_term (it->context);
}

/* ---- frames ---- */

static void round_trip (const char *bind_address, const char *address)
{
    struct err err = { 0 };
    const struct hub_ports ports = { .address = bind_address };
    struct hub *hub = lab_hub_at (&hub_keys, &ports);
    lab_admit (hub, 2, &a);
    struct spoke_options to = { .address = address,
                                .control_port = hub_port (hub, LINK_CONTROL),
                                .bulk_port = hub_port (hub, LINK_BULK),
                                .hub_public_key = hub_keys.public_key,
                                .keys = &a,
                                .control_bytes_max = LAB_CONTROL_BYTES,
                                .bulk_bytes_max = LAB_BULK_BYTES };
    struct spoke *spoke = spoke_open (&to, &err);
    assert_non_null (spoke);
    for (int channel = 0; channel < LINK_CHANNELS; channel++) {
        struct text bytes;
        assert_true (lab_spoke_says (spoke, (enum link_channel) channel, "up"));
        lab_expect (hub, (enum link_channel) channel, 2, "up");
        assert_true (hub_send (hub, (enum link_channel) channel, 2, "down", 4));
        assert_true (lab_spoke_receives (spoke, (enum link_channel) channel, &bytes));
        assert_text (bytes, "down");
    }
    assert_int_equal (hub_counts (hub).dropped_frames, 0);
    assert_int_equal (hub_counts (hub).refused_handshakes, 0);
    spoke_close (spoke, 0);
    hub_close (hub);
}

TEST (frames_go_both_ways_on_both_channels)
{
    static const char *const cases[][2] = {
        { "127.0.0.1", "127.0.0.1" }, { "0.0.0.0", "127.0.0.1" }, { "*", "127.0.0.1" },
        { "::1", "[::1]" },           { "[::1]", "::1" },         { "127.0.0.1", "localhost" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        round_trip (cases[i][0], cases[i][1]);
}

TEST (the_rank_is_the_keys_whatever_the_frame_claims)
{
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 0, &a);
    lab_admit (hub, 1, &b);
    struct spoke *spoke = lab_spoke (hub, &hub_keys, &a);
    assert_true (lab_spoke_says (spoke, LINK_CONTROL, "I am host 1"));
    lab_expect (hub, LINK_CONTROL, 0, "I am host 1");
    assert_false (hub_send (hub, LINK_CONTROL, 1, "for 1", 5));
    assert_int_equal (hub_counts (hub).unsent, 1);
    spoke_close (spoke, 0);
    hub_close (hub);
}

TEST (a_frame_of_several_parts_is_dropped_and_counted)
{
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 0, &a);
    struct stranger it = stranger_to (hub, &a, NULL);
    for (int i = 0; i < 4; i++)
        assert_int_equal (zmq_send (it.socket, "part", 4, ZMQ_SNDMORE), 4);
    assert_int_equal (zmq_send (it.socket, "last", 4, 0), 4);
    assert_true (lab_counts_reach (hub, 0, 1));
    assert_int_equal (zmq_send (it.socket, "whole", 5, 0), 5);
    lab_expect (hub, LINK_CONTROL, 0, "whole");
    assert_int_equal (hub_counts (hub).dropped_frames, 1);
    stranger_leave (&it);
    hub_close (hub);
}

TEST (a_peer_that_names_itself_is_not_heard)
{
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 0, &a);
    struct stranger it = stranger_to (hub, &a, "rank1");
    assert_int_equal (zmq_send (it.socket, "hello", 5, 0), 5);
    assert_true (lab_counts_reach (hub, 0, 1));
    assert_false (hub_send (hub, LINK_CONTROL, 0, "x", 1));
    stranger_leave (&it);
    hub_close (hub);
}

TEST (a_frame_at_the_bound_arrives_and_one_over_it_does_not)
{
    char bytes[LAB_CONTROL_BYTES + 1];
    uint32_t rank;
    struct text got;
    memset (bytes, 'x', sizeof bytes);
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 3, &a);
    struct stranger it = stranger_to (hub, &a, NULL);
    assert_int_equal (zmq_send (it.socket, bytes, LAB_CONTROL_BYTES, 0), LAB_CONTROL_BYTES);
    assert_true (lab_hub_receives (hub, LINK_CONTROL, &rank, &got));
    assert_int_equal (got.len, LAB_CONTROL_BYTES);
    assert_int_equal (zmq_send (it.socket, bytes, LAB_CONTROL_BYTES + 1, 0), LAB_CONTROL_BYTES + 1);
    assert_true (lab_counts_reach (hub, 0, 1));
    stranger_leave (&it);
    hub_close (hub);
}

TEST (a_frame_far_over_the_bound_costs_its_sender_the_connection)
{
    static char bytes[100 * LAB_CONTROL_BYTES];
    uint32_t rank;
    struct text got = { 0 };
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 0, &a);
    struct stranger it = stranger_to (hub, &a, NULL);
    assert_int_equal (zmq_send (it.socket, "before", 6, 0), 6);
    lab_expect (hub, LINK_CONTROL, 0, "before");
    assert_int_equal (zmq_send (it.socket, bytes, sizeof bytes, 0), (int) sizeof bytes);
    bool there = false;
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; !there && clock_boot_ms () < end; lab_pause (-1)) {
        zmq_send (it.socket, "after", 5, ZMQ_DONTWAIT); /* some are lost with the connection */
        there = hub_receive (hub, LINK_CONTROL, &rank, &got);
    }
    assert_true (there);
    assert_text (got, "after");
    stranger_leave (&it);
    hub_close (hub);
}

TEST (a_host_that_does_not_read_fills_only_its_own_queue)
{
    char bytes[LAB_CONTROL_BYTES] = "";
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 0, &a);
    lab_admit (hub, 1, &b);
    struct spoke *input_closed = lab_spoke (hub, &hub_keys, &a), *good = lab_spoke (hub, &hub_keys, &b);
    struct text got;
    assert_true (lab_spoke_says (input_closed, LINK_CONTROL, "hello"));
    lab_expect (hub, LINK_CONTROL, 0, "hello");
    assert_true (lab_spoke_says (good, LINK_CONTROL, "hello"));
    lab_expect (hub, LINK_CONTROL, 1, "hello");
    int sent = 0;
    while (sent < 1000000 && hub_send (hub, LINK_CONTROL, 0, bytes, sizeof bytes))
        sent++;
    assert_in_range (sent, 256, 999999);
    assert_true (hub_send (hub, LINK_CONTROL, 1, "you", 3));
    assert_true (lab_spoke_receives (good, LINK_CONTROL, &got));
    spoke_close (input_closed, 0);
    spoke_close (good, 0);
    hub_close (hub);
}

TEST (a_host_that_left_cannot_be_sent_to)
{
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 0, &a);
    struct spoke *spoke = lab_spoke (hub, &hub_keys, &a);
    assert_true (lab_spoke_says (spoke, LINK_CONTROL, "hello"));
    lab_expect (hub, LINK_CONTROL, 0, "hello");
    assert_true (hub_send (hub, LINK_CONTROL, 0, "x", 1));
    spoke_close (spoke, 0);
    for (uint64_t end = clock_boot_ms () + LAB_WAIT_MS; hub_send (hub, LINK_CONTROL, 0, "x", 1); lab_pause (-1))
        assert_true (clock_boot_ms () < end);
    assert_int_equal (hub_counts (hub).unsent, 1);
    hub_close (hub);
}

TEST (goodbyes_are_not_lost)
{
    char bytes[LAB_CONTROL_BYTES] = "";
    uint32_t rank;
    struct text got;
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 0, &a);
    lab_admit (hub, 1, &b);
    struct spoke *leaves = lab_spoke (hub, &hub_keys, &a);
    /* No spoke: one that is left drops what it has not read yet (ZMQ_IMMEDIATE, session_base.cpp), whoever sent it. */
    struct stranger stays = stranger_to (hub, &b, NULL);
    const int wait_ms = LAB_WAIT_MS;
    assert_int_equal (zmq_setsockopt (stays.socket, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms), 0);
    assert_int_equal (zmq_send (stays.socket, "hello", 5, 0), 5);
    lab_expect (hub, LINK_CONTROL, 1, "hello");
    assert_true (lab_spoke_says (leaves, LINK_CONTROL, "goodbye"));
    int said = 0, sent = 0;
    while (said < 1000000 && spoke_send (leaves, LINK_CONTROL, bytes, sizeof bytes))
        said++;
    spoke_close (leaves, CLOSE_LINGER_MS);
    lab_expect (hub, LINK_CONTROL, 0, "goodbye");
    for (int i = 0; i < said; i++)
        if (!lab_hub_receives (hub, LINK_CONTROL, &rank, &got))
            fail_msg ("%d of %d arrived", i, said);
    while (sent < 1000000 && hub_send (hub, LINK_CONTROL, 1, bytes, sizeof bytes)) /* more than the sockets hold */
        sent++;
    hub_close (hub);
    for (int i = 0; i < sent; i++)
        if (zmq_recv (stays.socket, bytes, sizeof bytes, 0) != (int) sizeof bytes)
            fail_msg ("%d of %d arrived", i, sent);
    stranger_leave (&stays);
}

/* ---- keys that change ---- */

TEST (a_replaced_key_is_silent_on_the_connection_it_has)
{
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 1, &a);
    struct spoke *old = lab_spoke (hub, &hub_keys, &a);
    assert_true (lab_spoke_says (old, LINK_CONTROL, "first"));
    lab_expect (hub, LINK_CONTROL, 1, "first");
    lab_admit (hub, 1, &b);
    assert_false (hub_send (hub, LINK_CONTROL, 1, "x", 1)); /* nothing goes to the old one any more */
    assert_true (lab_spoke_says (old, LINK_CONTROL, "late"));
    assert_true (lab_counts_reach (hub, 0, 1));
    struct spoke *new = lab_spoke (hub, &hub_keys, &b);
    struct text got;
    assert_true (lab_spoke_says (new, LINK_CONTROL, "second"));
    lab_expect (hub, LINK_CONTROL, 1, "second");
    assert_true (hub_send (hub, LINK_CONTROL, 1, "x", 1));
    assert_true (lab_spoke_receives (new, LINK_CONTROL, &got));
    assert_false (spoke_receive (old, LINK_CONTROL, &got));
    spoke_close (old, 0);
    spoke_close (new, 0);
    hub_close (hub);
}

TEST (a_key_admitted_for_another_rank_leaves_the_first)
{
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 0, &a);
    struct spoke *first = lab_spoke (hub, &hub_keys, &a);
    assert_true (lab_spoke_says (first, LINK_CONTROL, "as 0"));
    lab_expect (hub, LINK_CONTROL, 0, "as 0");
    lab_admit (hub, 3, &a);
    assert_true (lab_spoke_says (first, LINK_CONTROL, "still as 0"));
    assert_true (lab_counts_reach (hub, 0, 1));
    struct spoke *second = lab_spoke (hub, &hub_keys, &a);
    assert_true (lab_spoke_says (second, LINK_CONTROL, "as 3"));
    lab_expect (hub, LINK_CONTROL, 3, "as 3");
    spoke_close (first, 0);
    spoke_close (second, 0);
    hub_close (hub);
}

TEST (admitting_the_same_key_again_changes_nothing)
{
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 0, &a);
    struct spoke *spoke = lab_spoke (hub, &hub_keys, &a);
    assert_true (lab_spoke_says (spoke, LINK_CONTROL, "one"));
    lab_expect (hub, LINK_CONTROL, 0, "one");
    lab_admit (hub, 0, &a);
    assert_true (lab_spoke_says (spoke, LINK_CONTROL, "two"));
    lab_expect (hub, LINK_CONTROL, 0, "two");
    spoke_close (spoke, 0);
    hub_close (hub);
}

TEST (answers_go_to_the_connection_heard_last)
{
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 0, &a);
    struct spoke *one = lab_spoke (hub, &hub_keys, &a), *two = lab_spoke (hub, &hub_keys, &a);
    struct spoke *const order[] = { one, two, one };
    struct text got;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        assert_true (lab_spoke_says (order[i], LINK_CONTROL, "me"));
        lab_expect (hub, LINK_CONTROL, 0, "me");
        assert_true (hub_send (hub, LINK_CONTROL, 0, "you", 3));
        assert_true (lab_spoke_receives (order[i], LINK_CONTROL, &got));
        assert_false (spoke_receive (order[i] == one ? two : one, LINK_CONTROL, &got));
    }
    spoke_close (one, 0);
    spoke_close (two, 0);
    hub_close (hub);
}

/* ---- the bulk connection is made when it is needed ---- */

static int listen_somewhere (uint16_t *port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true (fd >= 0);
    assert_int_equal (bind (fd, (struct sockaddr *) &at, len), 0);
    assert_int_equal (listen (fd, 4), 0);
    assert_int_equal (getsockname (fd, (struct sockaddr *) &at, &len), 0);
    *port = ntohs (at.sin_port);
    return fd;
}

TEST (bulk_connects_with_its_first_frame)
{
    uint16_t port;
    int fd = listen_somewhere (&port);
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 0, &a);
    struct spoke *spoke = lab_spoke_at (hub_port (hub, LINK_CONTROL), port, &hub_keys, &a);
    assert_true (lab_spoke_says (spoke, LINK_CONTROL, "hello")); /* by now an eager one would be there as well */
    lab_expect (hub, LINK_CONTROL, 0, "hello");
    struct pollfd item = { .fd = fd, .events = POLLIN };
    assert_int_equal (poll (&item, 1, 50), 0);
    assert_true (spoke_send (spoke, LINK_BULK, "log", 3));
    assert_int_equal (poll (&item, 1, LAB_WAIT_MS), 1);
    spoke_close (spoke, 0);
    hub_close (hub);
    close (fd);
}

TEST (what_opens_the_bulk_connection_arrives)
{
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, 1, &b);
    struct spoke *spoke = lab_spoke (hub, &hub_keys, &b);
    assert_true (spoke_send (spoke, LINK_BULK, "first", 5)); /* at once, before there can be a connection */
    assert_true (spoke_send (spoke, LINK_BULK, "second", 6));
    lab_expect (hub, LINK_BULK, 1, "first");
    lab_expect (hub, LINK_BULK, 1, "second");
    assert_true (hub_send (hub, LINK_BULK, 1, "answer", 6));
    spoke_close (spoke, 0);
    hub_close (hub);
}

TEST_GROUP (make_keys, NULL)
