/* member_state.h - what a member remembers; private to member*.c. */
#ifndef SLICEUP_WORKER_CORE_MEMBER_STATE_H
#define SLICEUP_WORKER_CORE_MEMBER_STATE_H

#include "worker/core/lease_client.h"
#include "worker/core/member.h"
#include "worker/core/pending_results.h"

enum link_state { LINK_NONE = 0, LINK_JOINING, LINK_JOINED, LINK_LEAVING, LINK_LEFT };

/* The attempt whose program is alive, or waits for its lease. */
struct current_attempt {
    struct holding holding; /* state NONE: there is none. Its texts live below, one arena each: they change often */
    struct arena phase_arena, gate_arena;
    bool hard;      /* STOPPING: SIGKILL was already asked for */
    bool started;   /* MEMBER_START was said; else it waits for the lease, and nothing of it runs */
    struct msg run; /* until it is started */
    struct arena run_arena;
};

struct member {
    struct text host, run_id, version, boot_id;
    uint64_t pid, pid_start;
    struct arena arena; /* the texts above */

    enum link_state link;
    uint64_t epoch, session, seen_seq;
    uint64_t told_epoch, told_index; /* the newest fact that this process was told of */
    uint64_t heartbeat_ms;
    struct limits limits;
    bool welcomed; /* at least once: limits hold */
    bool stepped;  /* time has begun */
    uint64_t received_ms, hello_at_ms, beat_at_ms, beaten_ms, leave_by_ms;
    uint64_t beat;
    struct text why; /* LEAVING */

    struct current_attempt current;
    struct lease_client lease_client; /* of the current attempt, if it writes a generation */
    struct pending_results pending_results;
    bool pending; /* a RUN that waits until the current attempt is gone */
    struct msg pending_msg;
    struct arena pending_arena;
};

/* Effects. Whatever they point at is copied into the outbox. */
struct member_effect *member_outbox_add (struct member_outbox *out, enum member_effect_kind kind);
struct result *member_outbox_copy_result (struct member_outbox *out, const struct result *result);
struct msg *member_outbox_copy_msg (struct member_outbox *out, const struct msg *msg);

void member_send_hello (struct member *member, uint64_t now_ms, struct member_outbox *out);
void member_send_heartbeat (struct member *member, uint64_t now_ms, struct member_outbox *out);
void member_send_result (struct pending_result *held, uint64_t now_ms, struct member_outbox *out);
void member_send_bye (struct member *member, struct member_outbox *out);
/* When the next heartbeat is due, questions about the lease included. Only while joined. */
uint64_t member_beat_at_ms (const struct member *member);
/* The next heartbeat goes out as soon as may be. */
void member_hasten_heartbeat (struct member *member, uint64_t now_ms);

bool current_alive (const struct member *member);
bool current_is (const struct member *member, const struct attempt_key *key); /* alive, and this one */
void current_begin (struct member *member, const struct msg *msg, uint64_t now_ms, struct member_outbox *out);
/* Starts the RUN that waits, if there is one and its way is free. */
void current_begin_pending (struct member *member, uint64_t now_ms, struct member_outbox *out);
void current_forget_pending (struct member *member);
/* Repeating it changes nothing, but for a first `hard`. */
void current_stop (struct member *member, bool hard, enum ending ending, struct text why, uint64_t now_ms,
                   struct member_outbox *out);
void current_pass_gate (struct member *member, struct text gate, struct text value, uint64_t now_ms,
                        struct member_outbox *out);
void current_see_phase (struct member *member, struct text phase, uint64_t now_ms);
void current_see_gate (struct member *member, const struct member_input *in, uint64_t now_ms);
void current_see_end (struct member *member, const struct result *result, uint64_t now_ms, struct member_outbox *out);

/* Stops what its lease does not carry any more. Before anything else is done in a step: whoever slept past the end of
 * the lease kills first, and hears afterwards. */
void member_stop_without_lease (struct member *member, uint64_t now_ms, struct member_outbox *out);
/* Starts what has its lease now. */
void member_start_with_lease (struct member *member, uint64_t now_ms, struct member_outbox *out);
void member_receive_lease (struct member *member, const struct msg_lease *lease, uint64_t now_ms);

#endif
