/* alone: io czmq */
/* czmq is a peer of its own here: what it makes and says must be accepted by our links, which no longer use it. */
#include "common/io/atomic_file.h"
#include "link_lab.h"
#include "test.h"
#include <czmq.h>

enum { RANK = 2 };

static struct link_keys keys_of (zcert_t *cert)
{
    struct link_keys keys;
    snprintf (keys.public_key, sizeof keys.public_key, "%s", zcert_public_txt (cert));
    snprintf (keys.secret_key, sizeof keys.secret_key, "%s", zcert_secret_txt (cert));
    return keys;
}

static zsock_t *socket_to (const struct hub *hub, const struct link_keys *hub_keys, zcert_t *cert)
{
    zsock_t *socket = zsock_new (ZMQ_DEALER);
    assert_non_null (socket);
    zcert_apply (cert, socket);
    zsock_set_curve_serverkey (socket, hub_keys->public_key);
    zsock_set_rcvtimeo (socket, LAB_WAIT_MS);
    zsock_set_sndtimeo (socket, LAB_WAIT_MS);
    assert_int_equal (zsock_connect (socket, "tcp://127.0.0.1:%u", (unsigned) hub_port (hub, LINK_CONTROL)), 0);
    return socket;
}

static void talk (struct hub *hub, zsock_t *socket)
{
    assert_int_equal (zstr_send (socket, "up"), 0);
    lab_expect (hub, LINK_CONTROL, RANK, "up");
    assert_true (hub_send (hub, LINK_CONTROL, RANK, "down", 4));
    char *received = zstr_recv (socket);
    assert_non_null (received);
    assert_string_equal (received, "down");
    zstr_free (&received);
}

TEST (a_peer_of_czmq_with_a_key_of_czmq_is_admitted)
{
    struct link_keys hub_keys;
    link_keys_make (&hub_keys);
    struct hub *hub = lab_hub (&hub_keys);
    zcert_t *cert = zcert_new ();
    struct link_keys keys = keys_of (cert);
    lab_admit (hub, RANK, &keys);
    zsock_t *socket = socket_to (hub, &hub_keys, cert);
    talk (hub, socket);
    zsock_destroy (&socket);
    zcert_destroy (&cert);
    hub_close (hub);
}

TEST (a_peer_of_czmq_may_use_a_key_of_ours)
{
    struct link_keys hub_keys, keys;
    link_keys_make (&hub_keys);
    link_keys_make (&keys);
    uint8_t public_key[32], secret_key[32];
    assert_non_null (zmq_z85_decode (public_key, keys.public_key));
    assert_non_null (zmq_z85_decode (secret_key, keys.secret_key));
    zcert_t *cert = zcert_new_from (public_key, secret_key);
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, RANK, &keys);
    zsock_t *socket = socket_to (hub, &hub_keys, cert);
    talk (hub, socket);
    zsock_destroy (&socket);
    zcert_destroy (&cert);
    hub_close (hub);
}

TEST (our_links_work_with_keys_of_czmq)
{
    zcert_t *hub_cert = zcert_new (), *cert = zcert_new ();
    struct link_keys hub_keys = keys_of (hub_cert), keys = keys_of (cert);
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, RANK, &keys);
    struct spoke *spoke = lab_spoke (hub, &hub_keys, &keys);
    assert_true (lab_spoke_says (spoke, LINK_CONTROL, "up"));
    lab_expect (hub, LINK_CONTROL, RANK, "up");
    spoke_close (spoke, 0);
    hub_close (hub);
    zcert_destroy (&hub_cert);
    zcert_destroy (&cert);
}

TEST (a_key_of_czmq_that_nobody_admitted_is_refused)
{
    struct link_keys hub_keys, admitted;
    link_keys_make (&hub_keys);
    link_keys_make (&admitted);
    struct hub *hub = lab_hub (&hub_keys);
    lab_admit (hub, RANK, &admitted);
    uint64_t refused = hub_counts (hub).refused_handshakes;
    zcert_t *cert = zcert_new ();
    zsock_t *socket = socket_to (hub, &hub_keys, cert);
    assert_true (lab_counts_reach (hub, refused + 1, 0));
    zsock_set_linger (socket, 0);
    zsock_destroy (&socket);
    zcert_destroy (&cert);
    hub_close (hub);
}

int main (int argc, char **argv)
{
    zsys_handler_set (NULL);
    return test_run (argc, argv);
}
