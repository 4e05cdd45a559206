/* member_fixture.h - a member, a clock and a coordinator that numbers its messages. Include after cmocka.h. */
#ifndef SLICEUP_TESTS_UNIT_MEMBER_FIXTURE_H
#define SLICEUP_TESTS_UNIT_MEMBER_FIXTURE_H

#include "test.h"
#include "worker/core/member.h"

static const struct text run_id = { "0123456789abcdef", RUN_ID_BYTES };

struct bench {
    struct member *member;
    struct member_outbox out;
    uint64_t now_ms, epoch, session, seq;
};

static inline void bench_open (struct bench *bench)
{
    *bench = (struct bench){ .now_ms = 5000, .epoch = 1, .session = 7 };
    member_outbox_init (&bench->out);
    bench->member = member_create (TEXT_LIT ("h0"), run_id, TEXT_LIT ("0.1.0"), 42, 99, TEXT_LIT ("boot"));
}

static inline void bench_close (struct bench *bench)
{
    member_destroy (bench->member);
    member_outbox_release (&bench->out);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

static inline void step (struct bench *bench, const struct member_input *in)
{
    member_outbox_clear (&bench->out);
    member_step (bench->member, in, bench->now_ms, &bench->out);
}

static inline void tick (struct bench *bench, uint64_t ms)
{
    bench->now_ms += ms;
    step (bench, &(struct member_input){ .kind = MEMBER_TICK });
}

static inline struct msg said (struct bench *bench, enum msg_kind kind)
{
    return (struct msg){ .kind = kind,
                         .major = PROTOCOL_MAJOR,
                         .run_id = run_id,
                         .epoch = bench->epoch,
                         .session = bench->session,
                         .seq = ++bench->seq };
}

static inline void receive (struct bench *bench, const struct msg *msg)
{
    step (bench, &(struct member_input){ .kind = MEMBER_MSG, .msg = msg });
}

static inline const struct member_effect *effect_of (const struct bench *bench, enum member_effect_kind kind,
                                                     uint32_t nth)
{
    for (uint32_t i = 0; i < bench->out.n; i++) {
        if (bench->out.items[i].kind == kind && nth-- == 0)
            return &bench->out.items[i];
    }
    return NULL;
}

static inline const struct msg *sent (const struct bench *bench, enum msg_kind kind)
{
    for (uint32_t i = 0; i < bench->out.n; i++) {
        const struct member_effect *effect = &bench->out.items[i];
        if (effect->kind == MEMBER_SEND && effect->msg->kind == kind)
            return effect->msg;
    }
    return NULL;
}

static inline void receive_welcome (struct bench *bench)
{
    struct msg msg = said (bench, MSG_WELCOME);
    msg.of.welcome.heartbeat_ms = 1000;
    msg.of.welcome.limits = (struct limits){ .orphan_ms = 20000, .exit_ms = 60000, .stop_ms = 1000 };
    receive (bench, &msg);
}

static inline struct attempt_key key_of (uint32_t attempt)
{
    return (struct attempt_key){ .rung = 3, .pass = PASS_ONCE, .attempt = attempt };
}

static inline void receive_run (struct bench *bench, uint32_t attempt)
{
    struct msg msg = said (bench, MSG_RUN);
    msg.of.run.key = key_of (attempt);
    msg.of.run.nonce = TEXT_LIT ("00112233445566778899aabbccddeeff");
    receive (bench, &msg);
}

static inline void receive_ack (struct bench *bench, uint32_t attempt)
{
    struct msg msg = said (bench, MSG_RESULT_ACK);
    msg.of.ack_result.key = key_of (attempt);
    receive (bench, &msg);
}

static inline void receive_cancel (struct bench *bench, uint32_t attempt, bool hard)
{
    struct msg msg = said (bench, MSG_CANCEL);
    msg.of.cancel.key = key_of (attempt);
    msg.of.cancel.hard = hard;
    receive (bench, &msg);
}

static inline void receive_go (struct bench *bench, const char *gate)
{
    struct msg msg = said (bench, MSG_GO);
    msg.of.go.key = key_of (1);
    msg.of.go.gate = text_of (gate);
    msg.of.go.value = TEXT_LIT ("opened");
    receive (bench, &msg);
}

static inline void end (struct bench *bench, uint32_t attempt, enum ending ending)
{
    struct result result = { .key = key_of (attempt), .ending = ending, .phase = TEXT_LIT ("run") };
    step (bench, &(struct member_input){ .kind = MEMBER_ENDED, .result = &result });
}

static inline void reach_gate (struct bench *bench, const char *gate)
{
    step (bench,
          &(struct member_input){
              .kind = MEMBER_GATE, .text = text_of (gate), .gate_mode = GATE_SHARE, .gate_value = TEXT_LIT ("mine") });
}

static inline void join (struct bench *bench)
{
    tick (bench, 0);
    receive_welcome (bench);
}

static inline void run (struct bench *bench, uint32_t attempt)
{
    receive_run (bench, attempt);
    assert_non_null (effect_of (bench, MEMBER_START, 0));
}

static inline const struct holding *held (const struct bench *bench, uint32_t n)
{
    const struct msg *beat = sent (bench, MSG_HEARTBEAT);
    assert_non_null (beat);
    assert_true (beat->of.heartbeat.holdings.n > n);
    return &beat->of.heartbeat.holdings.items[n];
}

#endif
