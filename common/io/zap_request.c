#include "common/io/zap_request.h"

#include <assert.h>
#include <string.h>

#include "common/io/socket.h"

enum { VERSION, REQUEST_ID, DOMAIN, ADDRESS, IDENTITY, MECHANISM, CREDENTIALS };

static void keep (struct zap_request *request, zmq_msg_t *part)
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

bool zap_request_read (void *socket, struct zap_request *out)
{
    zmq_msg_t part;
    int rc = zmq_msg_init (&part);
    assert (rc == 0);
    memset (out, 0, sizeof *out);
    out->fits = true;
    bool there = socket_receive (socket, &part);
    if (there)
        keep (out, &part);
    for (bool more = there; more && zmq_msg_more (&part);) {
        more = socket_receive (socket, &part); /* always: libzmq hands over whole messages only */
        assert (more);
        keep (out, &part);
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

bool zap_request_key (const struct zap_request *request, struct curve_key *key)
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

bool zap_request_domain_is (const struct zap_request *request, const char *domain)
{
    return part_is (request, DOMAIN, domain);
}

void zap_request_answer (void *socket, const struct zap_request *request, const char *status, const char *user)
{
    const struct zap_part *id = &request->parts[REQUEST_ID];
    const struct {
        const void *bytes;
        size_t len;
    } parts[] = {
        { "1.0", 3 }, { id->bytes, id->len },  { status, strlen (status) },
        { "", 0 },    { user, strlen (user) }, { "", 0 },
    };
    enum { PARTS = sizeof parts / sizeof parts[0] };
    for (int i = 0; i < PARTS; i++) {
        bool sent = socket_send (socket, parts[i].bytes, parts[i].len, i + 1 < PARTS ? ZMQ_SNDMORE : 0);
        assert (sent); /* a REP drops an answer nobody waits for, it does not refuse it */
    }
}
