/* monitors.h - the coordinator's side of monitors: admits their keys, and answers their questions about earlier facts.
 *
 * Admits the public keys in <run>/monitors/<name>.pub (at most MONITORS_MAX) as they appear; removing a file has no
 * effect before the next resume. Answers questions for snapshots (below) from the journal. A monitor can only ask; it
 * changes nothing and nobody waits for it. The folder is read once when this is opened; after that a separate thread
 * reads folder and journal, at a pace that leaves the sockets to the workers. Call everything here on the loop's
 * thread. */
#ifndef SLICEUP_COORDINATOR_MONITOR_MONITORS_H
#define SLICEUP_COORDINATOR_MONITOR_MONITORS_H

#include "common/io/link.h"
#include "common/io/log.h"
#include "common/io/loop.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_dir.h"

/* ---- snapshot ---- */

/* The messages by which a monitor fetches facts from before it connected, or that it missed.
 *
 *   question  "listen"                    only events, for a while
 *             "facts <index> <offset>"    the recorded facts from there on; offset: bytes that it has of the first
 *   answer    frames that begin with 'S' (an event begins with a MessagePack array), then one byte of flags, then
 *             pieces of facts: index u64, size u32, offset u32, length u32, all big-endian, and the bytes
 *
 * A question gets at most SNAPSHOT_FRAMES frames in answer. Pure functions. */

enum { SNAPSHOT_FRAMES = 8, SNAPSHOT_MARK = 'S', SNAPSHOT_HEAD_BYTES = 2, SNAPSHOT_PIECE_BYTES = 20 };
enum snapshot_flag { SNAPSHOT_LAST = 1, SNAPSHOT_END = 2 }; /* of the answer; of the facts durable when it began */

struct snapshot_position {
    uint64_t index;
    uint32_t offset;
}; /* the next byte to fetch */
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
/* Puts as much of the piece as fits; returns how many bytes. */
uint32_t snapshot_put_piece (struct buf *frame, const struct snapshot_piece *piece);
void snapshot_set_flag (struct buf *frame, enum snapshot_flag flag);

bool snapshot_is_answer (struct text frame);
bool snapshot_has_flag (struct text frame, enum snapshot_flag flag);
/* Reads the piece at `*at` (start at SNAPSHOT_HEAD_BYTES) and advances. False: no piece, or a broken one. */
bool snapshot_next_piece (struct text frame, uint32_t *at, struct snapshot_piece *piece);

/* ---- monitors ---- */

struct monitors;
/* `dir`, `hub`, `recorded` and `log` must outlive it. An answer has only facts that are durable in `recorded`, the
 * run's journal, when it begins. Makes the folder. */
struct monitors *monitors_open (struct loop *loop, const struct run_dir *dir, struct hub *hub,
                                const struct journal *recorded, const struct log *log, struct err *err);
/* Takes waiting questions; call it at every pass, since the socket's descriptor is edge-triggered. Returns when to call
 * it again for those that it left; UINT64_MAX: at the next event. */
uint64_t monitors_poll (struct monitors *monitors);
/* The run's last fact is durable and published. */
void monitors_note_run_ended (struct monitors *monitors);
/* After that: has every monitor that asked for facts lately got all of them, or left? Called some times a second. */
bool monitors_are_caught_up (struct monitors *monitors);
void monitors_close (struct monitors *monitors); /* before the hub's; NULL is fine */

/* ---- query queue ---- */

/* A queue of questions from monitors: chooses which one is answered next, and knows which monitors have all facts.
 *
 * Fair by key, not by question: the next turn goes to the key served longest ago, and within it to the connection
 * served longest ago. Only the latest question of a connection waits. So endless questions take turns from nobody.
 * Knows no sockets and no journal. Pure; one thread. */

/* The hub's limits of connections a key, and of keys: common/io/link.h. */
enum { QUERY_QUEUE_A_KEY = MONITOR_PLACES_A_KEY, QUERY_QUEUE_MAX = MONITOR_KEYS * QUERY_QUEUE_A_KEY };

struct query {
    struct hub_monitor who;
    struct snapshot_position from;
    uint64_t asked_ms;
    uint64_t turn; /* of its last answer; 0: none yet */
    bool waits;    /* its question is not answered yet */
    bool served;   /* its answer is being made */
    bool told;     /* since query_queue_note_run_ended: it got everything */
    bool gone;     /* its connection is closed */
};
struct query_queue {
    struct query items[QUERY_QUEUE_MAX];
    uint32_t n;
    uint64_t turn;
};

void query_queue_add (struct query_queue *query_queue, const struct hub_monitor *who,
                      const struct snapshot_position *from, uint64_t now_ms);
/* Takes the question whose turn it is, and marks it served until query_queue_done. False: none waits unserved. */
bool query_queue_next (struct query_queue *query_queue, struct hub_monitor *who, struct snapshot_position *from);
void query_queue_done (struct query_queue *query_queue, const struct hub_monitor *who, bool told);
void query_queue_note_gone (struct query_queue *query_queue, const struct hub_monitor *who);
/* Nothing more will be recorded: from now on it tracks which monitors got all. */
void query_queue_note_run_ended (struct query_queue *query_queue);
/* The next monitor after `*at` (start at 0; it advances) that asked within `lately_ms` and has not got all. */
bool query_queue_next_pending (const struct query_queue *query_queue, uint64_t now_ms, uint64_t lately_ms, uint32_t *at,
                               struct hub_monitor *who);

#endif
