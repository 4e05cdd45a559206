/* member_state.h - the state of a member; private to member*.c. */
#ifndef SLICEUP_WORKER_CORE_MEMBER_STATE_H
#define SLICEUP_WORKER_CORE_MEMBER_STATE_H

#include "worker/core/member.h"
#include <stdbool.h>
#include <stdint.h>

/* ---- lease_client.c: says whether this host may write now: the lease of one generation, as its holder sees it. Pure ----
 *
 * The term counts from when it asked, never from the answer, so a late answer is worth less. Only the newest answered
 * question counts; unanswered questions are forgotten in order. Once lost it stays lost, whatever is received. All
 * instants are milliseconds of one clock that counts suspend (CLOCK_BOOTTIME).
 *
 * It knows nothing of messages, programs and sessions; answers to questions of another session must not come here. Owns
 * nothing. Not thread-safe. */

enum { LEASE_CLIENT_ASKS_MAX = 16 };

struct lease_client {
    uint64_t token; /* 0: wants nothing */
    uint64_t term_ms;
    uint64_t last_ask; /* rises across tokens, so that an old answer matches nothing */
    uint64_t answered; /* the newest question with an answer; 0: none */
    struct {
        uint64_t ask, sent_ms;
    } asks[LEASE_CLIENT_ASKS_MAX]; /* a ring of the last questions */
    uint64_t until_ms;             /* 0: never held */
    bool lost;                     /* refused, or ran out: never asked for again */
    bool refused;                  /* lost by a refusal */
};

void lease_client_want (struct lease_client *lease_client, uint64_t token,
                        uint64_t term_ms);                  /* term_ms 0: LEASE_TERM_MS */
void lease_client_drop (struct lease_client *lease_client); /* the lease is not needed any more */
/* The number of the question to send now; 0: none (wants nothing, lost it, or asked less than T/3 ago, T/15 if without an
 * answer). */
uint64_t lease_client_begin_ask (struct lease_client *lease_client, uint64_t now_ms);
void lease_client_ask_again (struct lease_client *lease_client); /* nobody answers what was asked */
/* Takes an answer. `term_ms` 0: refused. */
void lease_client_receive (struct lease_client *lease, uint64_t token, uint64_t ask, uint64_t term_ms, uint64_t now_ms);
bool lease_client_may_write (const struct lease_client *lease_client, uint64_t now_ms);
/* True: kill the writing program now, so that it is dead before the lease ends. Stays true. */
bool lease_client_must_stop (struct lease_client *lease_client, uint64_t now_ms);
/* When the next question is due; UINT64_MAX: never. It can be in the past, if no coordinator was there. */
uint64_t lease_client_ask_at_ms (const struct lease_client *lease_client);
/* When lease_client_must_stop becomes true without further answers; UINT64_MAX: never. */
uint64_t lease_client_stop_at_ms (const struct lease_client *lease_client);

/* ---- member_state ---- */

enum link_state { LINK_NONE = 0, LINK_JOINING, LINK_JOINED, LINK_LEAVING, LINK_LEFT };

/* Results that the coordinator has not acknowledged, and all attempts that this worker started.
 *
 * Each result owns its memory until it is dropped. Normally there is at most one; more appear only if the coordinator
 * gave up an attempt without its result: the worker must not lose that evidence. It knows no messages and no files. Not
 * thread-safe. */
/* HELD_MAX results and the running attempt must fit into the holdings of one message (common/model/msg.h: 4). */
enum { HELD_MAX = 4, SEEN_MAX = 256 };

struct pending_result {
    struct result result;
    uint64_t sent_ms; /* when it was last sent; 0: never in this session */
    struct arena arena;
};

struct pending_results {
    struct pending_result *held[HELD_MAX]; /* in the order of their ends */
    uint32_t held_n;
    struct attempt_key seen[SEEN_MAX]; /* a ring: the oldest is forgotten first */
    uint32_t seen_n, seen_next;
};

void pending_results_release (struct pending_results *pending_results);
bool pending_results_full (const struct pending_results *pending_results);
struct pending_result *pending_results_put (struct pending_results *pending_results,
                                            const struct result *result); /* copies; must not be full */
struct pending_result *pending_results_find (const struct pending_results *pending, const struct attempt_key *key);
bool pending_results_drop (struct pending_results *pending, const struct attempt_key *key); /* false: not there */
void pending_results_note_seen (struct pending_results *pending_results, const struct attempt_key *key);
bool pending_results_has_seen (const struct pending_results *pending_results, const struct attempt_key *key);

/* The attempt whose program is alive, or waits for its lease. */
struct current_attempt {
    struct holding holding; /* state NONE: no attempt. Its texts live below, one arena each: they change often */
    struct arena phase_arena, gate_arena, stand_arena;
    bool hard;      /* STOPPING: SIGKILL was already asked for */
    bool started;   /* MEMBER_START was given; else it waits for the lease, and nothing runs */
    struct msg run; /* until it is started */
    struct arena run_arena;
};

struct member {
    struct text host, run_id, version, boot_id;
    uint64_t pid, pid_start;
    struct arena arena; /* the texts above */

    enum link_state link;
    uint64_t epoch, session, seen_seq;
    uint64_t told_epoch, told_index; /* the newest fact that this process knows */
    uint64_t heartbeat_ms;
    struct limits limits;
    bool welcomed; /* at least once, so limits are set */
    bool stepped;  /* a first step gave the time */
    uint64_t received_ms, hello_at_ms, beat_at_ms, beaten_ms, leave_by_ms;
    uint64_t beat;
    uint64_t clock_error_ms; /* of clock_ahead_ms; 0: not known */
    int64_t clock_ahead_ms;  /* the coordinator's wall clock less `now_ms` */
    struct text why;         /* LEAVING */

    struct current_attempt current;
    struct lease_client lease_client; /* of the current attempt, if it writes a generation */
    struct pending_results pending_results;
    bool pending; /* a RUN that waits until the current attempt is gone */
    struct msg pending_msg;
    struct arena pending_arena;
};

/* Adds an effect. Whatever it points to is copied into the outbox. */
struct member_effect *member_outbox_add (struct member_outbox *out, enum member_effect_kind kind);
struct result *member_outbox_copy_result (struct member_outbox *out, const struct result *result);
struct msg *member_outbox_copy_msg (struct member_outbox *out, const struct msg *msg);

void member_send_hello (struct member *member, uint64_t now_ms, struct member_outbox *out);
void member_send_heartbeat (struct member *member, uint64_t now_ms, struct member_outbox *out);
void member_send_result (struct pending_result *held, uint64_t now_ms, struct member_outbox *out);
void member_send_bye (struct member *member, struct member_outbox *out);
/* When the next heartbeat is due, also for a question about the lease. Only while joined. */
uint64_t member_beat_at_ms (const struct member *member);
/* Sends the next heartbeat as soon as allowed. */
void member_hasten_heartbeat (struct member *member, uint64_t now_ms);

bool current_alive (const struct member *member);
bool current_is (const struct member *member, const struct attempt_key *key); /* is this attempt running? */
void current_begin (struct member *member, const struct msg *msg, uint64_t now_ms, struct member_outbox *out);
/* Starts the pending RUN, if any, once no attempt runs. */
void current_begin_pending (struct member *member, uint64_t now_ms, struct member_outbox *out);
void current_forget_pending (struct member *member);
/* Repeating it changes nothing, except a first `hard`. */
void current_stop (struct member *member, bool hard, enum ending ending, struct text why, uint64_t now_ms,
                   struct member_outbox *out);
void current_pass_gate (struct member *member, struct text gate, struct text value, uint64_t now_ms,
                        struct member_outbox *out);
void current_see_phase (struct member *member, struct text phase, uint64_t now_ms);
void current_see_stand (struct member *member, struct text stand, uint64_t now_ms);
void current_see_gate (struct member *member, const struct member_input *in, uint64_t now_ms);
void current_see_end (struct member *member, const struct result *result, uint64_t now_ms, struct member_outbox *out);

/* Stops a writer without its lease. Call it first in a step: a worker that slept past the end of the lease must kill
 * before it reads messages. */
void member_stop_without_lease (struct member *member, uint64_t now_ms, struct member_outbox *out);
/* Starts a waiting writer that has its lease now. */
void member_start_with_lease (struct member *member, uint64_t now_ms, struct member_outbox *out);

#endif
