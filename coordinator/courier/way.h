/* way.h - a program that runs on a host, as its courier reaches it: over an ssh channel, or a child's pipes.
 *
 * Nothing here but `close` waits: `watch` says what to poll for. One thread. */
#ifndef SLICEUP_COURIER_WAY_H
#define SLICEUP_COURIER_WAY_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/base/buf.h"
#include "common/base/err.h"
#include "coordinator/courier/step.h"

enum { WAY_FDS_MAX = 3 };
enum way_stream { WAY_OUTPUT, WAY_ERROR };

struct way;
struct way_ops {
    size_t (*watch) (struct way *way, bool to_send, struct pollfd entries[WAY_FDS_MAX]); /* their number */
    /* Bytes of a stream of the program: their number, 0 when there are none now, -1 when there will be none. */
    ssize_t (*hear) (struct way *way, enum way_stream stream, void *bytes, size_t max);
    /* To the program's standard input: bytes taken, 0 when it takes none now, -1 when it never will. */
    ssize_t (*say) (struct way *way, const void *bytes, size_t len);
    /* Has the program ended, or the connection? Then how: "exit status 3". */
    bool (*ended) (struct way *way, struct buf *how);
    /* Its end before the bootstrap spoke, explained by what was heard on WAY_ERROR; false: nothing to add. Or NULL. */
    bool (*explain) (struct text heard, enum step *step, struct err *err);
    /* Ends the program's input, and frees the way. A program that may leave by itself is given `leave_ms` for it. */
    void (*close) (struct way *way, uint64_t leave_ms);
};
struct way {
    const struct way_ops *ops;
};

/* Of what was heard, the last line that says something; "" when there is none. */
struct text way_last_line (struct text heard);
/* A line without the numbers of jobs and job steps in it: every host has a job of its own, and equal causes are to
 * fold. */
void way_without_jobs (struct text line, struct buf *out);

#endif
