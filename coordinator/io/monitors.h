/* monitors.h - the coordinator's side of monitors: who may listen, and what they missed.
 *
 * Who: the public keys in <run>/monitors/<name>.pub (MONITORS_MAX of them), noticed as they appear; taking a file away
 * ends nothing before the next resume. What: answers to the questions of snapshot.h, from the journal. A monitor can
 * only ask; it changes nothing and nobody waits for it. Folder and journal are read on a thread of its own, at a pace
 * that leaves the sockets to the workers; everything here is called on the loop's thread. */
#ifndef SLICEUP_IO_MONITORS_H
#define SLICEUP_IO_MONITORS_H

#include "common/io/log.h"
#include "common/io/loop.h"
#include "coordinator/io/run_dir.h"

enum { MONITORS_MAX = 64 };

struct hub;
struct monitors;
/* `dir`, `hub` and `log` must outlive it. Makes the folder. */
struct monitors *monitors_open (struct loop *loop, const struct run_dir *dir, struct hub *hub, const struct log *log,
                                struct err *err);
/* Takes the questions that are there; at every pass, since the socket's descriptor is edge-triggered. */
void monitors_turn (struct monitors *monitors);
void monitors_close (struct monitors *monitors);        /* before the hub's; NULL is fine */

#endif
