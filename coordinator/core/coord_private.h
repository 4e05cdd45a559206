/* coord_private.h - the parts of the coordinator's mind, for the files that make it up and for its tests. */
#ifndef SLICEUP_COORDINATOR_CORE_COORD_PRIVATE_H
#define SLICEUP_COORDINATOR_CORE_COORD_PRIVATE_H

#include "coordinator/core/state.h"

/* ---- outbox.c: what a step produces, in order: facts, which are applied at once, effects, and messages ---- */

struct fact *outbox_add_fact (struct outbox *out, enum fact_kind kind);
struct effect *outbox_add_effect (struct outbox *out, enum effect_kind kind);
/* Numbers, stamps and applies the fact that was just put into the outbox. */
void coord_commit (struct coord *coord, struct fact *fact, uint64_t now_ms);
/* The message to fill in, addressed. */
struct msg *coord_add_message (struct coord *coord, uint32_t host, enum msg_kind kind, struct outbox *out);

/* ---- what workers and the launcher are told to do ---- */

/* `hard`: kill it at once. Nothing is said of a part that has ended. */
void stop_part (struct coord *coord, uint32_t part, bool hard, struct text why, uint64_t now_ms, struct outbox *out);
void stop_all_parts (struct coord *coord, bool hard, struct text why, uint64_t now_ms, struct outbox *out);
void launch_hosts (struct coord *coord, enum host_life life, struct outbox *out); /* all hosts in this life */
/* Nothing more is begun. A pass that ended badly stops the climb by itself: apply.c. `why`: one sentence. */
void stop_climb (struct coord *coord, enum outcome outcome, struct text why, uint64_t now_ms, struct outbox *out);

/* ---- inbox.c: what workers say ---- */

void inbox_message (struct coord *coord, uint32_t host, const struct msg *msg, struct text sha256, uint64_t now_ms,
                    struct outbox *out);
/* An order that its worker will never get. */
void inbox_handle_undeliverable (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);

/* ---- journal_loss.c: what a worker knows of the run that the journal does not ---- */

/* True: it was recorded, as the last thing. */
bool journal_loss_detect (struct coord *coord, uint32_t host, const struct msg *msg, uint64_t now_ms,
                          struct outbox *out);

/* ---- gate.c: where every host of a slice-wide program waits for the others ---- */

/* `part` waits at the gate of `held`, as its worker says again and again. */
void gate_arrive (struct coord *coord, uint32_t part, const struct holding *held, uint64_t now_ms, struct outbox *out);

/* ---- loss.c: hosts that are gone, attempts that nobody reports, and the peers of those that ended badly ---- */

void loss_end_host (struct coord *coord, uint32_t host, struct text why, uint64_t now_ms, struct outbox *out);
/* The running attempt of `host` is over: it died with its worker. Nothing happens when it has none. */
void loss_end_running_attempt (struct coord *coord, uint32_t host, struct text why, uint64_t now_ms,
                               struct outbox *out);
/* The same for one that its worker never got, or will not report. It has one. */
void loss_end_attempt (struct coord *coord, uint32_t host, enum ending ending, struct text why, uint64_t now_ms,
                       struct outbox *out);
/* In a slice-wide program whose member ended badly peers cannot finish. Those at a gate are stopped at once, */
void loss_stop_waiting_peers (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* the others at this instant of the run's clock; UINT64_MAX: there is none. */
uint64_t loss_cascade_at (const struct coord *coord);
void loss_stop_peers_when_due (struct coord *coord, uint64_t now_ms, struct outbox *out);

/* ---- deadlines.c: every wait of the run has a bound: silence, joining, attempts that do not end, questions ---- */

void deadlines_discount_sleep (struct coord *coord, uint64_t now_ms); /* before anything else of a step */
void deadlines_check (struct coord *coord, uint64_t now_ms, struct outbox *out);
uint64_t deadlines_next (const struct coord *coord); /* run clock */
/* Tells whoever watches what the climb waits for that no host of this run has to do, when that changes. After
 * everything else of a step. */
void watch_report (struct coord *coord, uint64_t now_ms, struct outbox *out);

/* ---- climb.c: from pass to pass, to the end ---- */

void climb_advance (struct coord *coord, uint64_t now_ms, struct outbox *out);
uint64_t climb_retry_at (const struct coord *coord); /* run clock; UINT64_MAX: no retry is awaited */

/* ---- run_message.c: the RUN message of one part, and of all ---- */

void run_message_send_all (struct coord *coord, uint64_t now_ms, struct outbox *out);
void run_message_send (struct coord *coord, uint32_t part, uint64_t now_ms, struct outbox *out);

/* ---- close.c: verdicts of a pass whose parts have all ended ---- */

void close_pass (struct coord *coord, uint64_t now_ms, struct outbox *out);

/* ---- prove_metrics.c: what the metrics of a pass prove, once everything else is judged ---- */

void prove_metrics (struct coord *coord, struct verdict *verdicts, uint64_t now_ms, struct outbox *out);

/* ---- status_sentence.c: the one line that says where the slice stands ---- */

struct text status_sentence_of_verdicts (const struct plan *plan, const struct fact_pass_ended *ended,
                                         struct arena *arena);
/* The same for the end of a run: with the retries that went before. */
struct text status_sentence_of_failure (const struct coord *coord, const struct fact_pass_ended *ended,
                                        struct arena *arena);
struct text status_sentence_of_run (const struct coord *coord, struct arena *arena);

/* ---- cache_family.c: names of caches: what must be equal for one compile cache to serve two runs ---- */

/* Of this run: as the first fact about it says, or what it would be now. */
struct text cache_family_name (const struct coord *coord, struct arena *arena);
struct text cache_family_rung_cover (const struct plan *plan, const struct rung *rung, struct arena *arena);
text_list cache_family_all_covers (const struct coord *coord, struct arena *arena); /* of all rungs that use a cache */

/* ---- acquire.c: gets the shared cache for the climb: what the catalogue holds, an audit, a token to write ----
 * What follows what is acquisition.h's. Instants are `now_ms` of the caller, a clock that counts suspend. */

/* True: the catalogue's generation is known, and nothing was done to the cache since the root was audited. Else it does
 * what is next for that. */
bool acquire_generation (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* A cold pass has to be granted: does what is next for that. */
void acquire_request_token (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* The run ends. True: the root was audited since the cache was last used, or was never found. */
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
bool write_lease_is_free (const struct coord *coord, uint64_t now_ms); /* a token may be asked for */
void write_lease_ask (struct coord *coord, uint64_t now_ms, struct outbox *out);
void write_lease_note_owner (struct coord *coord, const struct lease_owner *lease_owner, uint64_t now_ms);
void write_lease_clear_owner (struct coord *coord);
bool write_lease_waited_too_long (const struct coord *coord, uint64_t now_ms);
void write_lease_grant (struct coord *coord, uint64_t token, uint64_t now_ms, struct outbox *out);
void write_lease_answer (struct coord *coord, uint32_t host, const struct msg_heartbeat *beat, uint64_t now_ms,
                         struct outbox *out);
void write_lease_note_ended (struct coord *coord, uint32_t host, const struct result *result);
/* The catalogue gave it to another run, which had not seen ours move. */
void write_lease_note_taken (struct coord *coord, uint64_t now_ms, struct outbox *out);
void write_lease_check_expiry (struct coord *coord, uint64_t now_ms, struct outbox *out);
bool write_lease_is_unused (const struct coord *coord);        /* granted, and nobody was told to write yet */
void write_lease_decline (uint64_t token, struct outbox *out); /* nobody ever writes under it */
void write_lease_abandon (struct coord *coord, uint64_t now_ms, struct outbox *out);
const struct fact_generation *write_lease_base_generation (
    const struct coord *coord); /* what the granted one is built upon; token 0: nothing */
void write_lease_publish (const struct coord *coord,
                          struct outbox *out); /* tells the catalogue of what was published */
uint64_t write_lease_deadline_ms (const struct coord *coord);

/* ---- violation.c: what is found in the cache that the single writer's rules exclude ---- */

void violation_record_pass (struct coord *coord, uint64_t now_ms, struct outbox *out);
/* The root could not be audited: that nothing was found is no evidence then. */
void violation_record_unaudited (struct coord *coord, struct text why, uint64_t now_ms, struct outbox *out);
void violation_record_audit (struct coord *coord, const struct core_input *in, uint64_t now_ms, struct outbox *out);
void violation_resume (struct coord *coord, uint64_t now_ms, struct outbox *out);

#endif
