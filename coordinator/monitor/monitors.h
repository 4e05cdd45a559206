/* monitors.h - the coordinator's side of monitors: admits their keys, and answers their questions about earlier facts.
 *
 * Who: the public keys in <run>/monitors/<name>.pub (MONITORS_MAX of them), noticed as they appear; taking a file away
 * ends nothing before the next resume. What: answers to the questions of snapshot.h, from the journal. A monitor can
 * only ask; it changes nothing and nobody waits for it. The folder is read once when this is opened; from then on
 * folder and journal are read on a thread of its own, at a pace that leaves the sockets to the workers. Everything here
 * is called on the loop's thread. */
#ifndef SLICEUP_COORDINATOR_MONITOR_MONITORS_H
#define SLICEUP_COORDINATOR_MONITOR_MONITORS_H

#include "common/io/link.h"
#include "common/io/log.h"
#include "common/io/loop.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_dir.h"

struct monitors;
/* `dir`, `hub`, `recorded` and `log` must outlive it. Nobody is told more than what `recorded`, the run's journal, has
 * as durable when his answer is begun. Makes the folder. */
struct monitors *monitors_open (struct loop *loop, const struct run_dir *dir, struct hub *hub,
                                const struct journal *recorded, const struct log *log, struct err *err);
/* Takes the questions that are there; at every pass, since the socket's descriptor is edge-triggered. Returns when it
 * must be called again for those that it left; UINT64_MAX: when there is something new. */
uint64_t monitors_poll (struct monitors *monitors);
/* The run's last fact is durable and published. */
void monitors_note_run_ended (struct monitors *monitors);
/* Since then: does everybody who asked for facts lately have all of them, or has left? Called some times a second. */
bool monitors_are_caught_up (struct monitors *monitors);
void monitors_close (struct monitors *monitors); /* before the hub's; NULL is fine */

#endif
