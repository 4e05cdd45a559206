/* crowd.h - simulated workers in two helper processes: one DEALER each, told where to connect, released together.
 *
 * Start it before this process has threads (it forks). Every call waits for the helpers; trouble ends the program,
 * since a measurement that went wrong has no result. Knows nothing of what is measured. */
#ifndef SLICEUP_TESTS_BENCH_CROWD_H
#define SLICEUP_TESTS_BENCH_CROWD_H

#include "common/io/link.h"
#include "common/model/msg.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { CROWD_HELPERS = 2, BARE_HEAD_BYTES = 5 };

/* Bytes of each kind of frame. The bare side is told those that the project side used. */
struct frames {
    uint32_t hello, heartbeat, result, welcome, run, ack;
};

struct crowd_request {
    bool bare;
    bool bulk; /* a second connection each, as real workers make one */
    uint16_t port, bulk_port;
    char hub_key[LINK_KEY_BYTES];
    char run_id[RUN_ID_BYTES];
    struct frames frames; /* bare only */
};
struct crowd_report {
    uint64_t welcomed_ns; /* when the last of its workers was welcomed, CLOCK_MONOTONIC */
    uint64_t cpu_ns;      /* of the helper, from its release on */
    uint64_t runs, acks;  /* taken in */
    struct frames frames; /* as last seen */
};

struct crowd {
    uint32_t hosts;
    pid_t pids[CROWD_HELPERS];
    int fds[CROWD_HELPERS];
    char (*public_keys)[LINK_KEY_BYTES]; /* by rank */
};
void crowd_start (struct crowd *crowd, uint32_t hosts);
void crowd_aim (struct crowd *crowd, const struct crowd_request *request); /* returns when all sockets are made */
void crowd_release (struct crowd *crowd);                                  /* now they connect and say hello */
void crowd_finish (struct crowd *crowd, struct crowd_report *sum);         /* once they were told to stop */

/* One message of fixed size over a socketpair, whole or not at all. */
void crowd_read (int fd, void *bytes, size_t len);
void crowd_write (int fd, const void *bytes, size_t len);
void bench_die (const char *what) __attribute__ ((noreturn));

/* The helper's own program: ranks `first` to `first + n - 1`. */
void members_serve (int fd, uint32_t first, uint32_t n);

#endif
