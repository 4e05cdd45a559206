/* follow.h - reads the facts of a run as they arrive, in another process than the coordinator: the journal for all
 * that is durable, the events socket for speed and for what is not recorded.
 *
 * Every durable fact is handed on once, in order, whichever way it came first; a gap between events is closed from the
 * journal. Soft facts are handed on as they come. With a monitor key there is no journal here: its coordinator is asked
 * instead, and everything below means that. Never writes anything of the run. One thread. */
#ifndef SLICEUP_COORDINATOR_MONITOR_FOLLOW_H
#define SLICEUP_COORDINATOR_MONITOR_FOLLOW_H

#include "common/model/fact.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/monitor/key_file.h"

typedef void follow_fact_fn (void *owner, const struct fact *fact); /* the fact lives until it returns */
struct follow;
struct follow *follow_open (const struct run_dir *dir, follow_fact_fn *fn, void *owner);
/* The same from another machine. */
struct follow *follow_open_remote (const struct monitor_key *key, follow_fact_fn *fn, void *owner, struct err *err);
void follow_close (struct follow *follow);
/* Hands on what the journal has that was not handed on yet. A journal that is not there yet has nothing: 0. */
int follow_read_journal (struct follow *follow, struct err *err);
/* The same, but no more at a time than keeps who watches waiting; `*more`: there is more. */
int follow_read_journal_some (struct follow *follow, bool *more, struct err *err);
/* Did the facts of its folder's journal say that it began? ERR_STATE: none did, so it was never begun. */
int follow_check_begun (const struct follow *follow, struct err *err);
bool follow_has_journal (const struct follow *follow); /* was it there when it was last read? */
/* Does a coordinator hold the run now (1, 0; -1: that cannot be told), and which process? Remote: does it answer; `pid`
 * as recorded, 0: not known. */
int follow_check_coordinator (const struct follow *follow, int64_t *pid, struct err *err);
/* Was everything told that was recorded when this began? */
bool follow_caught_up (const struct follow *follow);
/* Connects to the events of a live coordinator; done already: 0. */
int follow_connect_events (struct follow *follow, struct err *err);
bool follow_is_connected (const struct follow *follow);
/* Until there may be an event, a signal came, or so long. */
void follow_wait (struct follow *follow, uint32_t most_ms);
/* Hands on events that are there now; some may be left for the next call. */
int follow_poll_events (struct follow *follow, struct err *err);

/* remote_facts.c - reads the facts of a run on another machine: it asks the coordinator with a monitor key, then
 * receives new ones. The same promise as follow.h: every durable fact once, in order; a gap is asked for. A connection
 * that is lost, or a coordinator that is resumed, costs nothing but time. Knows no run folder. One thread. */
struct remote_facts;
struct remote_facts *remote_facts_open (const struct monitor_key *key, follow_fact_fn *fn, void *owner,
                                        struct err *err);
void remote_facts_close (struct remote_facts *remote);
void remote_facts_wait (struct remote_facts *remote, uint32_t most_ms); /* until something may have come, or a signal */
/* Hands on what came, asks for what is missing; several times a second. -1: what came is not this run. */
int remote_facts_poll (struct remote_facts *remote, struct err *err);
bool remote_facts_answers (const struct remote_facts *remote); /* lately */
bool remote_facts_caught_up (
    const struct remote_facts *remote); /* has it been told all that was recorded when it came? */

#endif
