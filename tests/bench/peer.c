#include "peer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "common/wire/wire.h"
#include "made_plan.h"
#include "project.h"
#include "usage.h"

enum { BEAT_MS = 1000, RESEND_MS = 500 };

/* ---- sending ---- */

static uint32_t peer_send (struct peer *peer, const void *bytes, size_t len)
{
    if (zmq_send (peer->socket, bytes, len, ZMQ_DONTWAIT) < 0 && errno != EAGAIN)
        bench_die ("a worker cannot send");
    return (uint32_t) len;
}

static uint32_t send_msg (struct peer_world *world, struct peer *peer, struct msg *msg)
{
    msg->major = PROTOCOL_MAJOR;
    msg->minor = PROTOCOL_MINOR;
    msg->run_id = (struct text){ world->request.run_id, RUN_ID_BYTES };
    msg->epoch = peer->epoch;
    msg->session = peer->session;
    msg->seq = ++peer->seq;
    msg->ack = peer->seen_seq;
    buf_clear (&world->frame);
    wire_put_msg (&world->frame, msg);
    return peer_send (peer, world->frame.ptr, world->frame.len);
}

static uint32_t send_bare (struct peer *peer, enum msg_kind kind, uint32_t bytes)
{
    char frame[MSG_MAX_BYTES] = { (char) kind };
    memcpy (frame + 1, &peer->rank, sizeof peer->rank);
    return peer_send (peer, frame, bytes);
}

static void say_hello (struct peer_world *world, struct peer *peer)
{
    char name[32];
    snprintf (name, sizeof name, BENCH_HOST_FORMAT, peer->rank);
    struct msg msg = { .kind = MSG_HELLO };
    msg.of.hello = (struct msg_hello){ .host = text_of (name),
                                       .version = TEXT_LIT (BENCH_VERSION),
                                       .pid = 4000 + peer->rank,
                                       .pid_start = 123456,
                                       .boot_id = TEXT_LIT ("8f2f6c1e-1d6c-4a8e-b3a4-0c1d4f2e9a77") };
    world->report.frames.hello = world->request.bare ? send_bare (peer, MSG_HELLO, world->request.frames.hello)
                                                     : send_msg (world, peer, &msg);
}

static void say_result (struct peer_world *world, struct peer *peer, uint64_t now_ms)
{
    struct msg msg = { .kind = MSG_RESULT };
    msg.of.result = bench_result_of (&peer->key);
    peer->sent_ms = now_ms;
    world->report.frames.result = world->request.bare ? send_bare (peer, MSG_RESULT, world->request.frames.result)
                                                      : send_msg (world, peer, &msg);
}

static void say_bye (struct peer_world *world, struct peer *peer)
{
    struct msg msg = { .kind = MSG_BYE };
    msg.of.bye.why = TEXT_LIT ("the run is over");
    if (!world->request.bare)
        send_msg (world, peer, &msg);
}

static void say_heartbeat (struct peer_world *world, struct peer *peer)
{
    struct holding holding = { .key = peer->key, .state = ATTEMPT_ENDED };
    struct msg msg = { .kind = MSG_HEARTBEAT };
    msg.of.heartbeat.beat = peer->seq;
    msg.of.heartbeat.holdings.items = &holding;
    msg.of.heartbeat.holdings.n = peer->holds;
    uint32_t bytes = world->request.frames.heartbeat;
    world->report.frames.heartbeat = world->request.bare ? send_bare (peer, MSG_HEARTBEAT, bytes)
                                                         : send_msg (world, peer, &msg);
}

void peer_beat (struct peer_world *world, struct peer *peer, uint64_t now_ms)
{
    if (!peer->welcomed || peer->stopped || now_ms < peer->beat_at_ms)
        return;
    say_heartbeat (world, peer);
    if (peer->holds && !world->request.bare && now_ms >= peer->sent_ms + RESEND_MS)
        say_result (world, peer, now_ms);
    peer->beat_at_ms = now_ms + BEAT_MS;
    peer_pump (world, peer, now_ms);
}

/* ---- taking ---- */

static void take_welcome (struct peer_world *world, struct peer *peer, uint32_t bytes, uint64_t now_ms)
{
    world->report.frames.welcome = bytes;
    if (peer->welcomed)
        return;
    peer->welcomed = true;
    peer->beat_at_ms = now_ms + BEAT_MS;
    world->report.welcomed_ns = usage_now_ns ();
    world->welcomed_n++;
}

static void take_kind (struct peer_world *world, struct peer *peer, enum msg_kind kind, uint32_t bytes, uint64_t now_ms)
{
    switch (kind) {
    case MSG_WELCOME: take_welcome (world, peer, bytes, now_ms); break;
    case MSG_RUN:
        world->report.frames.run = bytes;
        world->report.runs++;
        peer->holds = true;
        say_result (world, peer, now_ms);
        break;
    case MSG_RESULT_ACK:
        world->report.frames.ack = bytes;
        world->report.acks++;
        peer->holds = false;
        break;
    case MSG_SHUTDOWN:
        if (!peer->stopped)
            say_bye (world, peer);
        world->stopped_n += !peer->stopped;
        peer->stopped = true;
        break;
    default: bench_die ("a worker heard something that no round needs");
    }
}

static void take_real (struct peer_world *world, struct peer *peer, struct text bytes, uint64_t now_ms)
{
    struct msg msg;
    struct err err = { 0 };
    arena_reset (&world->arena);
    if (wire_get_msg (bytes, &msg, &world->arena, &err) < 0)
        bench_die (err.text);
    peer->epoch = msg.epoch;
    peer->seen_seq = msg.seq;
    if (msg.kind == MSG_WELCOME && msg.session != peer->session) {
        peer->session = msg.session;
        peer->seq = 0;
    }
    if (msg.kind == MSG_RUN)
        peer->key = msg.of.run.key;
    take_kind (world, peer, msg.kind, bytes.len, now_ms);
}

/* libzmq's descriptor tells changes only: whatever was sent or taken may have used the change up, so it ends with
 * "nothing there". */
void peer_pump (struct peer_world *world, struct peer *peer, uint64_t now_ms)
{
    zmq_msg_t frame;
    zmq_msg_init (&frame);
    while (zmq_msg_recv (&frame, peer->socket, ZMQ_DONTWAIT) >= 0) {
        struct text bytes = { zmq_msg_data (&frame), (uint32_t) zmq_msg_size (&frame) };
        if (world->request.bare)
            take_kind (world, peer, (enum msg_kind) bytes.ptr[0], bytes.len, now_ms);
        else
            take_real (world, peer, bytes, now_ms);
    }
    zmq_msg_close (&frame);
}

/* ---- life ---- */

static void *dealer (struct peer_world *world, const struct peer *peer)
{
    const int linger = 0;
    void *socket = zmq_socket (world->context, ZMQ_DEALER);
    if (socket == NULL || zmq_setsockopt (socket, ZMQ_LINGER, &linger, sizeof linger) != 0 ||
        zmq_setsockopt (socket, ZMQ_CURVE_SERVERKEY, world->request.hub_key, LINK_KEY_BYTES) != 0 ||
        zmq_setsockopt (socket, ZMQ_CURVE_PUBLICKEY, peer->keys.public_key, LINK_KEY_BYTES) != 0 ||
        zmq_setsockopt (socket, ZMQ_CURVE_SECRETKEY, peer->keys.secret_key, LINK_KEY_BYTES) != 0)
        bench_die ("no socket for a worker");
    return socket;
}

void peer_make_socket (struct peer_world *world, struct peer *peer)
{
    size_t len = sizeof peer->fd;
    peer->socket = dealer (world, peer);
    if (world->request.bulk)
        peer->bulk = dealer (world, peer);
    if (zmq_getsockopt (peer->socket, ZMQ_FD, &peer->fd, &len) != 0)
        bench_die ("no descriptor for a worker");
}

static void connect_to (void *socket, uint16_t port)
{
    char endpoint[64];
    snprintf (endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", port);
    if (zmq_connect (socket, endpoint) != 0)
        bench_die ("a worker cannot connect");
}

void peer_connect (struct peer_world *world, struct peer *peer)
{
    connect_to (peer->socket, world->request.port);
    if (peer->bulk)
        connect_to (peer->bulk, world->request.bulk_port);
    say_hello (world, peer);
}

void peer_close (struct peer *peer)
{
    zmq_close (peer->socket);
    if (peer->bulk)
        zmq_close (peer->bulk);
}
