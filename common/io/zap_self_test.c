#include "common/io/zap_self_test.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/io/clock.h"
#include "common/io/handshake.h"

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
