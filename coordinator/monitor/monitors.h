/* monitors.h - the coordinator's side of monitors: admits their keys, and answers their questions about earlier facts.
 *
 * Who: the public keys in <run>/monitors/<name>.pub (MONITORS_MAX of them), noticed as they appear; taking a file away
 * ends nothing before the next resume. What: answers to the questions of snapshots (below), from the journal. A monitor can
 * only ask; it changes nothing and nobody waits for it. The folder is read once when this is opened; from then on
 * folder and journal are read on a thread of its own, at a pace that leaves the sockets to the workers. Everything here
 * is called on the loop's thread. */
#ifndef SLICEUP_COORDINATOR_MONITOR_MONITORS_H
#define SLICEUP_COORDINATOR_MONITOR_MONITORS_H

#include "common/base/buf.h"
#include "common/io/link.h"
#include "common/io/log.h"
#include "common/io/loop.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_dir.h"

/* ---- snapshot ---- */

/* The messages with which a monitor fetches facts that were recorded before it connected, or that it
 * missed.
 *
 *   question  "listen"                    nothing but events, for a while
 *             "facts <index> <offset>"    the recorded facts from there on; offset: bytes of the first that it has
 *   answer    frames that begin with 'S' (an event begins with a MessagePack array), then one byte of flags, then
 *             pieces of facts: index u64, size u32, offset u32, length u32, all big-endian, and the bytes
 *
 * A question is answered with at most SNAPSHOT_FRAMES frames: that is the credit it gives. Pure functions. */

enum { SNAPSHOT_FRAMES = 8, SNAPSHOT_MARK = 'S', SNAPSHOT_HEAD_BYTES = 2, SNAPSHOT_PIECE_BYTES = 20 };
enum snapshot_flag { SNAPSHOT_LAST = 1, SNAPSHOT_END = 2 }; /* of this answer; of what was durable when it was begun */

struct snapshot_position {
    uint64_t index;
    uint32_t offset;
}; /* the next byte that is wanted */
struct snapshot_piece {
    uint64_t index;
    uint32_t size_bytes, offset;
    struct text bytes;
};

/* Returns the length of the question in `out`. */
size_t snapshot_write_question (const struct snapshot_position *position, char out[QUESTION_MAX_BYTES + 1]);
bool snapshot_parse_question (struct text question,
                              struct snapshot_position *position); /* false: no question for facts */

void snapshot_begin_answer (struct buf *frame); /* its max: ANSWER_MAX_BYTES */
/* As much of the piece as fits; returns how many bytes of it. */
uint32_t snapshot_put_piece (struct buf *frame, const struct snapshot_piece *piece);
void snapshot_set_flag (struct buf *frame, enum snapshot_flag flag);

bool snapshot_is_answer (struct text frame);
bool snapshot_has_flag (struct text frame, enum snapshot_flag flag);
/* The piece at `*at` (start at SNAPSHOT_HEAD_BYTES), which moves on. False: there is none, or it is none. */
bool snapshot_next_piece (struct text frame, uint32_t *at, struct snapshot_piece *piece);

/* ---- monitors ---- */

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
