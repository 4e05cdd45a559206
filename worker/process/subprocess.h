/* subprocess.h - runs a short command to its end, keeps its output, and limits its time.
 *
 * For our own commands (an interpreter, an installer), not for programs of rungs, since it has no containment. Blocks
 * the caller. The command has the caller's environment, no standard input, default signals, and only the named
 * descriptors. Waits only for this child. Any thread. */
#ifndef SLICEUP_WORKER_PROCESS_SUBPROCESS_H
#define SLICEUP_WORKER_PROCESS_SUBPROCESS_H

#include "common/base/err.h"
#include "common/model/record.h"
#include <stdint.h>

struct subprocess {
    const char *const *argv; /* ends in NULL; argv[0] without '/' is searched in PATH */
    uint64_t limit_ms;
    int echo_fd; /* also gets its output, as it comes; -1: none */
    int held_fd; /* kept open for it under another number; -1: none */
};

/* 0: it ended; `*status` is its exit status, or 128 + the signal that ended it. `out` has its standard output and
 * error, or the end of it if that does not fit. -1: it could not be started, or was killed at the time limit
 * (ERR_LIMIT). */
int subprocess_run (const struct subprocess *subprocess, struct buf *out, int *status, struct err *err);

/* ---- packets ---- */

/* Sends one record a packet, over a pair of SEQPACKET sockets between two processes of the worker.
 *
 * The kernel keeps packets whole and in order. The receiver distrusts the sender as wire.h does, because others that
 * have the descriptor may write anything. Any thread; no state. */

enum { PACKET_BYTES_MAX = 32 * 1024 };

enum packet {
    PACKET_NONE, /* none now */
    PACKET_OVER, /* none any more: the other end is closed */
    PACKET_RECORD,
    PACKET_REFUSED, /* not such a record, or too long */
};

/* Waits for room, and raises no SIGPIPE. Errors name the record. */
int packet_send (int fd, const struct record *record, const void *value, struct err *err);
/* Never waits. RECORD and REFUSED: `*raw` are the bytes, cut to PACKET_BYTES_MAX. Both live in the arena. */
enum packet packet_receive (int fd, const struct record *record, void *out, struct text *raw, struct arena *arena);

#endif
