/* remote.h - reads the facts of a run on another machine: it asks the coordinator with a monitor key, then receives
 * new ones.
 *
 * The same promise as follow.h: every durable fact once, in order; a gap is asked for. A connection that is lost, or a
 * coordinator that is resumed, costs nothing but time. Knows no run folder. One thread. */
#ifndef SLICEUP_COORDINATOR_CLI_REMOTE_H
#define SLICEUP_COORDINATOR_CLI_REMOTE_H

#include "common/model/fact.h"
#include "coordinator/keys/monitor_key.h"

typedef void remote_fact_fn (void *owner, const struct fact *fact);
struct remote;
struct remote *remote_open (const struct monitor_key *key, remote_fact_fn *fn, void *owner, struct err *err);
void remote_close (struct remote *remote);
void remote_wait (struct remote *remote, uint32_t most_ms); /* until something may have come, or a signal */
/* Hands on what came, asks for what is missing; several times a second. -1: what came is not this run. */
int remote_poll (struct remote *remote, struct err *err);
bool remote_answers (const struct remote *remote);   /* lately */
bool remote_caught_up (const struct remote *remote); /* has it been told all that was recorded when it came? */

#endif
