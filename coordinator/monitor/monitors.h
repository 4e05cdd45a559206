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
#include "coordinator/monitor/snapshot.h"

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

/* ---- query queue ---- */

/* A queue of questions from monitors: it chooses which one is answered next, and knows which monitors
 * have all facts.
 *
 * Fair by key, not by question: the next turn is that of the key that was served longest ago, and within it of the
 * connection served longest ago; one question a connection waits, the latest. So whoever asks without end takes turns
 * from nobody. Knows no sockets and no journal. Pure; one thread. */

/* As many connections of each key, and keys, as the hub seats at a time: common/io/link.h. */
enum { QUERY_QUEUE_A_KEY = MONITOR_PLACES_A_KEY, QUERY_QUEUE_MAX = MONITOR_KEYS * QUERY_QUEUE_A_KEY };

struct query {
    struct hub_monitor who;
    struct snapshot_position from;
    uint64_t asked_ms;
    uint64_t turn; /* of its last answer; 0: none yet */
    bool waits;    /* a question of it is not answered */
    bool served;   /* an answer for it is being made */
    bool told;     /* since query_queue_note_run_ended: it was given everything */
    bool gone;     /* nobody is at its connection any more */
};
struct query_queue {
    struct query items[QUERY_QUEUE_MAX];
    uint32_t n;
    uint64_t turn;
};

void query_queue_add (struct query_queue *query_queue, const struct hub_monitor *who,
                      const struct snapshot_position *from, uint64_t now_ms);
/* Whose turn it is: takes its question and serves it until query_queue_done. False: nobody waits unserved. */
bool query_queue_next (struct query_queue *query_queue, struct hub_monitor *who, struct snapshot_position *from);
void query_queue_done (struct query_queue *query_queue, const struct hub_monitor *who, bool told);
void query_queue_note_gone (struct query_queue *query_queue, const struct hub_monitor *who);
/* Nothing more will be recorded: from now on it counts who was told all. */
void query_queue_note_run_ended (struct query_queue *query_queue);
/* One that asked within the last `lately_ms` and was not told yet, after `*at` (start at 0), which moves on. */
bool query_queue_next_pending (const struct query_queue *query_queue, uint64_t now_ms, uint64_t lately_ms, uint32_t *at,
                               struct hub_monitor *who);

#endif
