/* steps.h - the steps of the engine, each called by the one before: handle messages, close a pass, continue the climb.
 * Times are the caller's `now_ms`; results are added to `out`. */
#ifndef SLICEUP_COORDINATOR_CORE_STEPS_H
#define SLICEUP_COORDINATOR_CORE_STEPS_H

#include "coordinator/core/state.h"

/* ---- apply.c ---- */

/* Only facts change state. A replay runs this, too: coord_apply of coord.h. */

/* The whole engine, for coord.c, which makes it, and for apply*.c: the only way to write `state`. */
struct engine {
    struct coord coord; /* first: coord_create returns it. Its `state` is the one below */
    struct state state;
    struct arena arena;      /* lives as long as the run */
    struct arena pass_arena; /* of the running pass */
    struct arena pass_before;
};

static inline struct engine *engine_of (struct coord *coord)
{
    return (struct engine *) coord;
}

/* apply_retry.c, for apply.c alone. */
void apply_cache_fact (struct engine *to, const struct fact *fact);
void apply_writer_ended (struct engine *to, const struct fact_attempt_ended *ended, uint64_t index);
/* False: the failed pass is not run again. */
bool apply_call_for_retry (struct engine *to, const struct fact_pass_ended *ended);
void apply_retry_planned (struct engine *to, const struct fact_retry_planned *planned);
void apply_call_for_isolation (struct engine *to, const struct fact_pass_ended *ended);
void apply_trial_ended (struct engine *to, const struct fact_pass_ended *ended);
void apply_suspects_named (struct engine *to, const struct fact_suspects_named *named);
/* False: the failed pass ends the climb. */
bool apply_going_on (struct engine *to, const struct fact_pass_ended *ended);
void apply_rung_blocked (struct engine *to, const struct fact_pass_ended *ended);
void apply_hosts_left_behind (struct engine *to, const struct fact_hosts_left_behind *left);

/* Handles a worker's message. */
void inbox_handle_message (struct coord *coord, uint32_t host, const struct msg *msg, uint64_t now_ms,
                           struct outbox *out);
/* Handles a RUN that its worker will never get. */
void inbox_handle_undeliverable (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);

/* Begins what is next, pass by pass, to the end of the run. */
void climb_advance (struct coord *coord, uint64_t now_ms, struct outbox *out);
uint64_t climb_retry_at (const struct coord *coord); /* run clock; UINT64_MAX: no retry is awaited */

/* Judges a pass whose parts have all ended. */
void close_pass (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* Different long reasons of every host of a large slice must fit one fact. Results, and HOST_LOST, have the full texts. */
void pass_close_fit_verdicts (struct verdict *verdicts, uint32_t n);
/* Puts the plan's hint behind "sliceup" in the commands that they propose. */
void pass_close_complete_commands (const struct plan *plan, struct verdict *verdicts, uint32_t n, struct arena *arena);
bool pass_all_passed (const struct verdict *verdicts, uint32_t n);
/* Judges the metrics of a pass, once everything else is judged. */
void prove_metrics (struct coord *coord, struct verdict *verdicts, uint64_t now_ms, struct outbox *out);

/* ---- outbox.c: collects what a step produces, in order: facts (applied at once), effects, messages ---- */

struct fact *outbox_add_fact (struct outbox *out, enum fact_kind kind);
struct effect *outbox_add_effect (struct outbox *out, enum effect_kind kind);
/* Numbers, stamps and applies the fact that was just put into the outbox. */
void coord_commit_fact (struct coord *coord, struct fact *fact, uint64_t now_ms);
/* Adds a message with its address, for the caller to fill in. */
struct msg *coord_add_message (struct coord *coord, uint32_t host, enum msg_kind kind, struct outbox *out);

/* ---- what workers and the launcher are told to do ---- */

/* `hard`: kill it at once. Does nothing for a part that has ended. */
void stop_part (struct coord *coord, uint32_t part, bool hard, struct text why, uint64_t now_ms, struct outbox *out);
void stop_all_parts (struct coord *coord, bool hard, struct text why, uint64_t now_ms, struct outbox *out);
void launch_hosts (struct coord *coord, enum host_life life, struct outbox *out); /* all hosts in this life */
/* Begins nothing more. A failed pass stops the climb by itself: apply.c. `why`: one sentence. */
void stop_climb (struct coord *coord, enum outcome outcome, struct text why, uint64_t now_ms, struct outbox *out);

/* ---- acquire.c ----
 *
 * Gets the shared cache for the climb: find a generation in the catalogue, audit the root, get a token to
 * write. state.h has the order. Instants are `now_ms` of the caller, a clock that counts suspend. */

/* True: the generation is known, and the cache was not used since its audit. Else takes the next step towards that. */
bool acquire_audited_generation (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* Takes the next step towards a grant for a cold pass. */
void acquire_writer_grant (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* At the end of the run. True: the root was audited since the cache was last used, or was never found. */
bool acquire_final_audit (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* The cache cannot be used: the climb stops. */
void acquire_give_up (struct coord *coord, struct text problem, uint64_t now_ms, struct outbox *out);

void acquire_receive_generation (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);
void acquire_receive_audit (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);
void acquire_receive_token (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);

bool acquire_is_pending (const struct coord *coord); /* the catalogue */
void acquire_check_timeout (struct coord *coord, uint64_t now_ms,
                            struct outbox *out);          /* questions that nobody answers */
uint64_t acquire_deadline_ms (const struct coord *coord); /* UINT64_MAX: no question is out */

/* ---- write_lease.c: who may write the cache now ---- */

void write_lease_resume (struct coord *coord, uint64_t now_ms);
uint32_t write_lease_candidate (const struct coord *coord); /* the next writer; NONE: no possible writer is left */
bool write_lease_is_free (const struct coord *coord, uint64_t now_ms); /* may a token be asked for? */
void write_lease_ask_token (struct coord *coord, uint64_t now_ms, struct outbox *out);
void write_lease_note_owner (struct coord *coord, const struct lease_owner *lease_owner, uint64_t now_ms);
void write_lease_clear_owner (struct coord *coord);
bool write_lease_waited_too_long (const struct coord *coord, uint64_t now_ms);
void write_lease_grant (struct coord *coord, uint64_t token, uint64_t now_ms, struct outbox *out);
void write_lease_answer_heartbeat (struct coord *coord, uint32_t host, const struct msg_heartbeat *beat,
                                   uint64_t now_ms, struct outbox *out);
void write_lease_note_result (struct coord *coord, uint32_t host, const struct result *result);
/* The catalogue gave our lease to another run, which had not seen its beat move. */
void write_lease_note_lost (struct coord *coord, uint64_t now_ms, struct outbox *out);
void write_lease_check_expiry (struct coord *coord, uint64_t now_ms, struct outbox *out);
void write_lease_return_token (uint64_t token, struct outbox *out); /* nobody ever writes under it */
void write_lease_abandon (struct coord *coord, uint64_t now_ms, struct outbox *out);
const struct fact_generation *write_lease_base_generation (
    const struct coord *coord); /* the base of the granted generation; token 0: none */
void write_lease_publish_generation (const struct coord *coord,
                                     struct outbox *out); /* tells the catalogue to publish it */
uint64_t write_lease_deadline_ms (const struct coord *coord);

/* ---- loss.c: handles lost hosts, attempts that nobody will report, and peers of attempts that ended badly ---- */

void loss_end_host (struct coord *coord, uint32_t host, struct text why, uint64_t now_ms, struct outbox *out);
/* Ends the running attempt of `host`, if any: it died with its worker. */
void loss_end_running_attempt (struct coord *coord, uint32_t host, struct text why, uint64_t now_ms,
                               struct outbox *out);
/* The same for an attempt that its worker never got, or will not report. The host must have one. */
void loss_end_attempt (struct coord *coord, uint32_t host, enum ending ending, struct text why, uint64_t now_ms,
                       struct outbox *out);
/* Peers of a bad end in a slice-wide program cannot finish. Stops those at a gate at once, */
void loss_stop_waiting_peers (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* and the others at this time of the run's clock; UINT64_MAX: never. */
uint64_t loss_cascade_at (const struct coord *coord);
void loss_stop_peers_when_due (struct coord *coord, uint64_t now_ms, struct outbox *out);

/* ---- journal loss ---- */

/* Handles claims of workers that the run has facts which this journal lacks.
 *
 * One host may err or lie. So the journal is refused for good only if at least two hosts claim it, and more than do
 * not; nothing begins until all others have spoken since or are lost. A lone claimant is lost by its own fault. */

/* True: the message holds such a claim; it is recorded once, and the rest of the message is ignored. */
bool journal_loss_detect (struct coord *coord, uint32_t host, const struct msg *msg, uint64_t now_ms,
                          struct outbox *out);
/* Call it after every input. True: nothing may begin, because a claim is undecided, or was believed. */
bool journal_loss_weigh (struct coord *coord, uint64_t now_ms, struct outbox *out);

/* ---- violation.c: records findings in the cache that the single writer's rules exclude ---- */

void violation_record_pass (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* Records that the root could not be audited, so no finding proves nothing. */
void finding_record_unaudited (struct coord *coord, struct text why, uint64_t now_ms, struct outbox *out);
void violation_record_audit (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);
void violation_repeat_drops (struct coord *coord, uint64_t now_ms, struct outbox *out);

/* ---- run_message.c: the RUN message of one part, and of all ---- */

/* Deals the secrets of the running pass; again after a restart, since no fact holds them. Call it first in a pass. */
void run_message_deal (struct coord *coord);
/* Sends the RUN messages of a new pass; deals its secrets, too. */
void run_message_send_all (struct coord *coord, uint64_t now_ms, struct outbox *out);
void run_message_send (struct coord *coord, uint32_t part, uint64_t now_ms, struct outbox *out);

/* ---- status_sentence.c: makes the one line that says where the slice stands ---- */

struct text status_sentence_of_verdicts (const struct plan *plan, const struct fact_pass_ended *ended,
                                         struct arena *arena);
/* The same for the end of a run, with its earlier retries. */
struct text status_sentence_of_failure (const struct coord *coord, const struct fact_pass_ended *ended,
                                        struct arena *arena);
/* The same for a failed rung that did not end the climb. */
struct text status_sentence_of_shortfall (const struct coord *coord, const struct fact_pass_ended *ended,
                                          struct arena *arena);
struct text status_sentence_of_run (const struct coord *coord, struct arena *arena);

#endif
