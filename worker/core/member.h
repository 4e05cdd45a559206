/* member.h - decides what the worker does: join, run attempts, report until acknowledged, survive a silent coordinator.
 *
 * Pure, like the coordinator's core: (state, input, now) -> effects. It holds at most one unacknowledged attempt. It
 * answers a repeated RUN with its state, and sends a result again with every heartbeat until acknowledged.
 *
 * A cache writer's attempt is accepted like any other, but started only once it holds the lease of its generation
 * (worker/core/lease_client.c). If it loses the lease it is killed, and its result seals nothing.
 *
 *            HELLO sent          WELCOME              RUN            program ended        RESULT_ACK
 *   joining ------------> joining ------> idle ------------> running ------------> reporting ----------> idle
 *      ^                                    |  silence > orphan_ms: the program is killed (ending orphaned)
 *      +---- REHELLO, new epoch ------------+  silence > exit_ms: leave */
#ifndef SLICEUP_WORKER_CORE_MEMBER_H
#define SLICEUP_WORKER_CORE_MEMBER_H

#include "common/base/duration.h"
#include "common/model/msg.h"

enum member_input_kind {
    MEMBER_TICK,
    MEMBER_MSG,
    MEMBER_PHASE, /* the canary named a phase: `text` */
    MEMBER_GATE,  /* the canary waits at a gate */
    MEMBER_STAND, /* `text`: where the program stands, asked for by MEMBER_LOOK */
    MEMBER_ENDED, /* the program and all its processes are gone: `result` */
    MEMBER_LEAVE, /* the worker itself must end (a signal, the end of its starter if tied): `text` says why, `ending` is
                     its program's, which is stopped politely, and killed the second time */
};
struct member_input {
    enum member_input_kind kind;
    const struct msg *msg;
    struct text text; /* PHASE: its name; GATE: the gate's name; LEAVE: why */
    enum gate_mode gate_mode;
    struct text gate_value;
    enum ending ending;
    const struct result *result;
};

enum member_effect_kind {
    MEMBER_SEND,   /* `msg`; the driver fills run_id, epoch, session, seq, ack from member_* below */
    MEMBER_START,  /* start the program of `msg->of.run`; a writer holds its lease by then */
    MEMBER_LOOK,   /* find out where the program stands; MEMBER_STAND follows */
    MEMBER_GO,     /* let it through `text`, with `value` */
    MEMBER_STOP,   /* politely, then by force (limits.stop_ms); `hard`: at once; `ending`: to report */
    MEMBER_KEEP,   /* make the result durable, before the next SEND */
    MEMBER_FORGET, /* the result was acknowledged: remove it */
    MEMBER_EXIT,   /* end the worker; `text` says why */
};
struct member_effect {
    enum member_effect_kind kind;
    struct msg *msg;
    struct text text, value;
    bool hard;
    enum ending ending;
    const struct result *result;
};
struct member_outbox {
    struct member_effect *items;
    uint32_t n, capacity;
    struct arena arena;
};
void member_outbox_init (struct member_outbox *out);
void member_outbox_clear (struct member_outbox *out);
void member_outbox_release (struct member_outbox *out);

struct member;
struct member *member_create (struct text host, struct text run_id, struct text version, uint64_t pid,
                              uint64_t pid_start, struct text boot_id);
void member_destroy (struct member *member);
/* Takes a result that an earlier process of this worker kept on disk. Call it before the first step. */
void member_recall (struct member *member, const struct result *result);
void member_step (struct member *member, const struct member_input *in, uint64_t now_ms, struct member_outbox *out);
uint64_t member_deadline_ms (const struct member *member);

uint64_t member_epoch (const struct member *member);
uint64_t member_session (const struct member *member);
uint64_t member_seen_seq (const struct member *member);           /* highest seq seen in this session */
const struct limits *member_limits (const struct member *member); /* of the last WELCOME; zero before */
/* Of the clock that shows `wall_ms` now, against the coordinator's; 0 ms where it is no more than four times the error. */
struct clock_offset member_clock_offset (const struct member *member, uint64_t now_ms, uint64_t wall_ms);

#endif
