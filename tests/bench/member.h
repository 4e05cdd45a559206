/* member.h - one simulated worker: says hello, beats, answers RUN with a result at once. Speaks either the real protocol
 * or, bare, frames of the same sizes whose only content is a kind and a rank. */
#ifndef SLICEUP_TESTS_BENCH_MEMBER_H
#define SLICEUP_TESTS_BENCH_MEMBER_H

#include "crowd.h"

struct member {
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
/* What all members of a helper share. */
struct member_world {
    struct crowd_request request;
    void *context;
    struct crowd_report report;
    uint32_t welcomed_n, stopped_n;
    struct arena arena;
    struct buf frame;
};

void member_make_socket (struct member_world *world, struct member *member);
void member_connect (struct member_world *world, struct member *member); /* and says hello */
/* Takes everything that is there; `now_ms` for its heartbeat. Call it after every event and every send. */
void member_pump (struct member_world *world, struct member *member, uint64_t now_ms);
void member_beat (struct member_world *world, struct member *member, uint64_t now_ms);
void member_close (struct member *member);

#endif
