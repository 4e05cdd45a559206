/* follow.h - reads the facts of a run as they arrive, in another process than the coordinator: the journal for durable
 * facts, the events socket for speed and for soft facts.
 *
 * It hands on every durable fact once, in order, from whichever source comes first, and closes gaps between events from
 * the journal. Soft facts are handed on as they come. With a monitor key it asks the coordinator instead of a journal;
 * this holds for all functions below. It never writes to the run. One thread. */
#ifndef SLICEUP_COORDINATOR_MONITOR_FOLLOW_H
#define SLICEUP_COORDINATOR_MONITOR_FOLLOW_H

#include "coordinator/monitor/key_file.h"

typedef void follow_fact_fn (void *owner, const struct fact *fact); /* the fact lives until it returns */
struct follow;
struct follow *follow_open (const struct run_dir *dir, follow_fact_fn *fn, void *owner);
/* The same from another machine: it asks the coordinator for the facts, then receives new ones, and asks for gaps. A
 * lost connection or a resumed coordinator costs only time. */
struct follow *follow_open_remote (const struct monitor_key *key, follow_fact_fn *fn, void *owner, struct err *err);
void follow_close (struct follow *follow);
/* Hands on new facts of the journal. A missing journal has none: 0. */
int follow_read_journal (struct follow *follow, struct err *err);
/* One look at the run: whether a coordinator holds it first, its facts second, since one that ends records so before it
 * lets go. As follow_check_coordinator says; -1: also when its facts cannot be read. `more` NULL: all facts. */
int follow_look (struct follow *follow, int64_t *pid, bool *more, struct err *err);
/* Did its folder's journal have facts? ERR_STATE: none, so it was never begun. */
int follow_check_begun (const struct follow *follow, struct err *err);
bool follow_has_journal (const struct follow *follow); /* did it exist when it was last read? */
/* Does a coordinator hold the run now (1, 0; -1: unknown), and which process? Remote: does it answer; `pid` as
 * recorded, 0: not known. */
int follow_check_coordinator (const struct follow *follow, int64_t *pid, struct err *err);
/* Were all facts handed on that were recorded when this was opened? */
bool follow_caught_up (const struct follow *follow);
/* Connects to the events of a live coordinator; 0 also if already connected. */
int follow_connect_events (struct follow *follow, struct err *err);
bool follow_is_connected (const struct follow *follow);
/* Waits until an event may be there, for a signal, or `most_ms`. */
void follow_wait (struct follow *follow, uint32_t most_ms);
/* Hands on waiting events; some may be left for the next call. Remote: call it several times a second; -1 also: the
 * facts are another run's. */
int follow_poll_events (struct follow *follow, struct err *err);

/* ---- events_client.c ---- */

/* A monitor's side of the events socket: a DEALER of czmq, with CURVE and every bound set before it
 * connects.
 *
 * Reconnects for ever. The first one opened keeps czmq from changing the process: no handler for signals, no variable
 * ZSYS_*, errors on standard error. czmq's context then stays until exit, beside no other: a process of ours that
 * listens has no hub. One thread. */

struct events_client;
struct events_client *events_client_open (const char *address, uint16_t events_port, const char *hub_public_key,
                                          const struct link_keys *keys, struct err *err);
void events_client_close (struct events_client *listener);
/* Connects anew, because libzmq gives up a connection for good if something else answered at the port. */
void events_client_reconnect (struct events_client *listener);
/* Sends at most QUESTION_MAX_BYTES. False: not connected now. Without questions no events come. */
bool events_client_ask (struct events_client *listener, const void *bytes, size_t len);
/* Answers, and events for 10 s after each question. False: nothing useful now. `bytes` live until the next call. */
bool events_client_receive (struct events_client *listener, struct text *bytes);
/* Waits until something may be there, for a signal, or `most_ms`. */
void events_client_wait (struct events_client *listener, uint32_t most_ms);

#endif
