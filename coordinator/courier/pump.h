/* pump.h - moves bytes between a socket and an ssh channel, both ways, without waiting.
 *
 * The owner polls and calls pump_move until nothing moves: reading one channel also buffers packets of others, which
 * poll does not report again. Only the thread that has the channel's session may call this. */
#ifndef SLICEUP_COORDINATOR_COURIER_PUMP_H
#define SLICEUP_COORDINATOR_COURIER_PUMP_H

#include <libssh/libssh.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest ssh packet (RFC 4253, 6.1); senders wait while this is full. */
enum { PUMP_CHUNK_BYTES = 32 * 1024 };

struct pump_chunk {
    size_t at, len;
    char bytes[PUMP_CHUNK_BYTES];
};

struct pump {
    ssh_channel channel;
    int fd;                    /* non-blocking */
    struct pump_chunk out, in; /* to the channel, from the channel */
    bool fd_ended, channel_ended;
    uint64_t given_bytes; /* to the channel */
};

/* True: something moved, so more may. */
bool pump_move (struct pump *pump);
/* One side ended, and the other has what came before. */
bool pump_is_over (const struct pump *pump);
/* What to poll its socket and its session for. */
short pump_fd_events (const struct pump *pump);
short pump_session_events (const struct pump *pump);

#endif
