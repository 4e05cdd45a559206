/* frame.h - frames: a letter, a length and that many bytes, as "o 5\nhello". What `sliceup exec` and its hosts say to
 * each other; docs/spec/launch.md has the letters.
 *
 * Pure. A reader holds one frame, so an announced length never decides how much memory is used. */
#ifndef SLICEUP_COMMON_BASE_FRAME_H
#define SLICEUP_COMMON_BASE_FRAME_H

#include "common/base/buf.h"
#include "common/base/err.h"

enum { FRAME_MAX_BYTES = 16 * 1024, FRAME_HEAD_MAX_BYTES = 8 };

struct frame {
    char letter;
    struct text bytes; /* good until the next one is read */
};
void frame_put (struct buf *out, char letter, struct text bytes); /* at most FRAME_MAX_BYTES */

/* {0} is a fresh one. */
struct frame_reader {
    char head[FRAME_HEAD_MAX_BYTES], letter;
    uint32_t head_len, wanted, len; /* of the body: announced, and there */
    bool in_body;
    char body[FRAME_MAX_BYTES];
};
/* 1: `frame` is read, and `input` is the rest. 0: all of `input` was taken, more is needed. -1: not a frame; nothing
 * after it can be read either. */
int frame_read (struct frame_reader *reader, struct text *input, struct frame *frame, struct err *err);

#endif
