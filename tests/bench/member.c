#include "member.h"

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

static uint32_t member_send (struct member *member, const void *bytes, size_t len)
{
    if (zmq_send (member->socket, bytes, len, ZMQ_DONTWAIT) < 0 && errno != EAGAIN)
        bench_die ("a worker cannot send");
    return (uint32_t) len;
}

static uint32_t send_msg (struct member_world *world, struct member *member, struct msg *msg)
{
    msg->major = PROTOCOL_MAJOR;
    msg->minor = PROTOCOL_MINOR;
    msg->run_id = (struct text){ world->request.run_id, RUN_ID_BYTES };
    msg->epoch = member->epoch;
    msg->session = member->session;
    msg->seq = ++member->seq;
    msg->ack = member->seen_seq;
    buf_clear (&world->frame);
    wire_put_msg (&world->frame, msg);
    return member_send (member, world->frame.ptr, world->frame.len);
}

static uint32_t send_bare (struct member *member, enum msg_kind kind, uint32_t bytes)
{
    char frame[MSG_MAX_BYTES] = { (char) kind };
    memcpy (frame + 1, &member->rank, sizeof member->rank);
    return member_send (member, frame, bytes);
}

static void say_hello (struct member_world *world, struct member *member)
{
    char name[32];
    snprintf (name, sizeof name, BENCH_HOST_FORMAT, member->rank);
    struct msg msg = { .kind = MSG_HELLO };
    msg.of.hello = (struct msg_hello){ .host = text_of (name),
                                       .version = TEXT_LIT (BENCH_VERSION),
                                       .pid = 4000 + member->rank,
                                       .pid_start = 123456,
                                       .boot_id = TEXT_LIT ("8f2f6c1e-1d6c-4a8e-b3a4-0c1d4f2e9a77") };
    world->report.frames.hello = world->request.bare ? send_bare (member, MSG_HELLO, world->request.frames.hello)
                                                     : send_msg (world, member, &msg);
}

static void say_result (struct member_world *world, struct member *member, uint64_t now_ms)
{
    struct msg msg = { .kind = MSG_RESULT };
    msg.of.result = bench_result_of (&member->key);
    member->sent_ms = now_ms;
    world->report.frames.result = world->request.bare ? send_bare (member, MSG_RESULT, world->request.frames.result)
                                                      : send_msg (world, member, &msg);
}

static void say_bye (struct member_world *world, struct member *member)
{
    struct msg msg = { .kind = MSG_BYE };
    msg.of.bye.why = TEXT_LIT ("the run is over");
    if (!world->request.bare)
        send_msg (world, member, &msg);
}

static void say_heartbeat (struct member_world *world, struct member *member)
{
    struct holding holding = { .key = member->key, .state = ATTEMPT_ENDED };
    struct msg msg = { .kind = MSG_HEARTBEAT };
    msg.of.heartbeat.beat = member->seq;
    msg.of.heartbeat.holdings.items = &holding;
    msg.of.heartbeat.holdings.n = member->holds;
    uint32_t bytes = world->request.frames.heartbeat;
    world->report.frames.heartbeat = world->request.bare ? send_bare (member, MSG_HEARTBEAT, bytes)
                                                         : send_msg (world, member, &msg);
}

void member_beat (struct member_world *world, struct member *member, uint64_t now_ms)
{
    if (!member->welcomed || member->stopped || now_ms < member->beat_at_ms)
        return;
    say_heartbeat (world, member);
    if (member->holds && !world->request.bare && now_ms >= member->sent_ms + RESEND_MS)
        say_result (world, member, now_ms);
    member->beat_at_ms = now_ms + BEAT_MS;
    member_pump (world, member, now_ms);
}

/* ---- taking ---- */

static void take_welcome (struct member_world *world, struct member *member, uint32_t bytes, uint64_t now_ms)
{
    world->report.frames.welcome = bytes;
    if (member->welcomed)
        return;
    member->welcomed = true;
    member->beat_at_ms = now_ms + BEAT_MS;
    world->report.welcomed_ns = usage_now_ns ();
    world->welcomed_n++;
}

static void take_kind (struct member_world *world, struct member *member, enum msg_kind kind, uint32_t bytes,
                       uint64_t now_ms)
{
    switch (kind) {
    case MSG_WELCOME: take_welcome (world, member, bytes, now_ms); break;
    case MSG_RUN:
        world->report.frames.run = bytes;
        world->report.runs++;
        member->holds = true;
        say_result (world, member, now_ms);
        break;
    case MSG_RESULT_ACK:
        world->report.frames.ack = bytes;
        world->report.acks++;
        member->holds = false;
        break;
    case MSG_SHUTDOWN:
        if (!member->stopped)
            say_bye (world, member);
        world->stopped_n += !member->stopped;
        member->stopped = true;
        break;
    default: bench_die ("a worker heard something that no round needs");
    }
}

static void take_real (struct member_world *world, struct member *member, struct text bytes, uint64_t now_ms)
{
    struct msg msg;
    struct err err = { 0 };
    arena_reset (&world->arena);
    if (wire_get_msg (bytes, &msg, &world->arena, &err) < 0)
        bench_die (err.text);
    member->epoch = msg.epoch;
    member->seen_seq = msg.seq;
    if (msg.kind == MSG_WELCOME && msg.session != member->session) {
        member->session = msg.session;
        member->seq = 0;
    }
    if (msg.kind == MSG_RUN)
        member->key = msg.of.run.key;
    take_kind (world, member, msg.kind, bytes.len, now_ms);
}

/* libzmq's descriptor tells changes only: whatever was sent or taken may have used the change up, so it ends with
 * "nothing there". */
void member_pump (struct member_world *world, struct member *member, uint64_t now_ms)
{
    zmq_msg_t frame;
    zmq_msg_init (&frame);
    while (zmq_msg_recv (&frame, member->socket, ZMQ_DONTWAIT) >= 0) {
        struct text bytes = { zmq_msg_data (&frame), (uint32_t) zmq_msg_size (&frame) };
        if (world->request.bare)
            take_kind (world, member, (enum msg_kind) bytes.ptr[0], bytes.len, now_ms);
        else
            take_real (world, member, bytes, now_ms);
    }
    zmq_msg_close (&frame);
}

/* ---- life ---- */

static void *dealer (struct member_world *world, const struct member *member)
{
    const int linger = 0;
    void *socket = zmq_socket (world->context, ZMQ_DEALER);
    if (socket == NULL || zmq_setsockopt (socket, ZMQ_LINGER, &linger, sizeof linger) != 0 ||
        zmq_setsockopt (socket, ZMQ_CURVE_SERVERKEY, world->request.hub_key, LINK_KEY_BYTES) != 0 ||
        zmq_setsockopt (socket, ZMQ_CURVE_PUBLICKEY, member->keys.public_key, LINK_KEY_BYTES) != 0 ||
        zmq_setsockopt (socket, ZMQ_CURVE_SECRETKEY, member->keys.secret_key, LINK_KEY_BYTES) != 0)
        bench_die ("no socket for a worker");
    return socket;
}

void member_make_socket (struct member_world *world, struct member *member)
{
    size_t len = sizeof member->fd;
    member->socket = dealer (world, member);
    if (world->request.bulk)
        member->bulk = dealer (world, member);
    if (zmq_getsockopt (member->socket, ZMQ_FD, &member->fd, &len) != 0)
        bench_die ("no descriptor for a worker");
}

static void connect_to (void *socket, uint16_t port)
{
    char endpoint[64];
    snprintf (endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", port);
    if (zmq_connect (socket, endpoint) != 0)
        bench_die ("a worker cannot connect");
}

void member_connect (struct member_world *world, struct member *member)
{
    connect_to (member->socket, world->request.port);
    if (member->bulk)
        connect_to (member->bulk, world->request.bulk_port);
    say_hello (world, member);
}

void member_close (struct member *member)
{
    zmq_close (member->socket);
    if (member->bulk)
        zmq_close (member->bulk);
}
