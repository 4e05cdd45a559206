/* snapshot.h - the messages with which a monitor fetches facts that were recorded before it connected, or that it
 * missed.
 *
 *   question  "listen"                    nothing but events, for a while
 *             "facts <index> <offset>"    the recorded facts from there on; offset: bytes of the first that it has
 *   answer    frames that begin with 'S' (an event begins with a MessagePack array), then one byte of flags, then
 *             pieces of facts: index u64, size u32, offset u32, length u32, all big-endian, and the bytes
 *
 * A question is answered with at most SNAPSHOT_FRAMES frames: that is the credit it gives. Pure functions. */
#ifndef SLICEUP_COORDINATOR_MONITOR_SNAPSHOT_H
#define SLICEUP_COORDINATOR_MONITOR_SNAPSHOT_H

#include "common/base/buf.h"
#include "common/io/link.h"

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

#endif
