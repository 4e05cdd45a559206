/* peer.h - one simulated worker: says hello, beats, answers RUN with a result at once. Speaks either the real protocol
 * or, bare, frames of the same sizes whose only content is a kind and a rank. */
#ifndef SLICEUP_TESTS_BENCH_PEER_H
#define SLICEUP_TESTS_BENCH_PEER_H

#include "crowd.h"

struct peer {
    uint32_t rank;
    struct link_keys keys;
    void *socket, *bulk;
    int fd; /* ZMQ_FD: edge-triggered */
    uint64_t session, epoch, seq, seen_seq;
    bool welcomed, stopped;
    bool holds; /* an ended attempt that is not acknowledged */
    struct attempt_key key;
    uint64_t beat_at_ms, sent_ms;
};
/* What all peers of a helper share. */
struct peer_world {
    struct crowd_request request;
    void *context;
    struct crowd_report report;
    uint32_t welcomed_n, stopped_n;
    struct arena arena;
    struct buf frame;
};

void peer_make_socket (struct peer_world *world, struct peer *peer);
void peer_connect (struct peer_world *world, struct peer *peer); /* and says hello */
/* Takes everything that is there; `now_ms` for its heartbeat. Call it after every event and every send. */
void peer_pump (struct peer_world *world, struct peer *peer, uint64_t now_ms);
void peer_beat (struct peer_world *world, struct peer *peer, uint64_t now_ms);
void peer_close (struct peer *peer);

#endif
