/* transport.h - the courier's connection to a program on its host: an ssh channel, or a child's pipes.
 *
 * Only `close` waits: `watch` says what to poll for. One thread. */
#ifndef SLICEUP_COORDINATOR_COURIER_TRANSPORT_H
#define SLICEUP_COORDINATOR_COURIER_TRANSPORT_H

#include "coordinator/courier/reporter.h"
#include "coordinator/courier/request.h"
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

enum { DIAL_ADDRESS_BYTES = 64 }; /* the near end of a connection, as a number */
enum { CARRIED_MAX = 32 };        /* connections at once: a worker has two, and some that end */
enum { TRANSPORT_FDS_MAX = 1 + CARRIED_MAX };
#define TRANSPORT_LOST "the connection was lost" /* how it ended, when the program may still run */
enum transport_stream { TRANSPORT_OUTPUT, TRANSPORT_ERROR };

struct transport;
struct transport_ops {
    size_t (*watch) (struct transport *transport, bool to_send,
                     struct pollfd entries[TRANSPORT_FDS_MAX]); /* their number */
    /* Reads from a stream of the program: number of bytes; 0: none now; -1: the stream has ended. */
    ssize_t (*receive) (struct transport *transport, enum transport_stream stream, void *bytes, size_t max);
    /* Writes to the program's standard input: bytes taken; 0: it takes none now; -1: it never will. */
    ssize_t (*say) (struct transport *transport, const void *bytes, size_t len);
    /* Has the program or the connection ended? `how`: "exit status 3". */
    bool (*ended) (struct transport *transport, struct buf *how);
    /* Explains an end before the bootstrap answered, from TRANSPORT_ERROR; false: nothing to add. Or NULL. */
    bool (*explain) (struct text received, enum step *step, struct err *err);
    /* Begins to carry the worker's link, and fills in the ports on the host. NULL: this transport cannot. */
    int (*carry) (struct transport *transport, const struct carrier_ends *to, uint64_t until_ms,
                  uint16_t at[CARRIER_ENDS], struct err *err);
    /* Moves what is carried. True: more may come. `idle`: no connection is carried. NULL: never carries. */
    bool (*move) (struct transport *transport, bool *idle);
    /* Ends the program's input, and frees the transport. The program has `leave_ms` to end by itself. */
    void (*close) (struct transport *transport, uint64_t leave_ms);
};
struct transport {
    const struct transport_ops *ops;
};

/* The last line of `received` that is not blank; "": none. */
struct text transport_last_line (struct text received);
/* Appends `line` without numbers of jobs and job steps: each host has its own job, but equal causes must fold. */
void transport_mask_job_ids (struct text line, struct buf *out);

/* ---- transport_ssh.c: the bootstrap on a host over ssh, straight or through a jump host (docs/spec/launch.md) ---- */

/* Waits until the command runs on the host; the watchdog bounds that. `near_end`: this machine's address in the
 * connection; "" through something else. For a request that only carries again, no command is run, and the worker is told
 * its new ports. NULL on error. */
struct transport *transport_ssh_open (const struct request *request, struct reporter *reporter, uint64_t until_ms,
                                      char near_end[DIAL_ADDRESS_BYTES], struct err *err);

/* transport_srun.c - the bootstrap on a host as a job step of Slurm: a child `srun` and three pipes. Spec: launch.md.
 * Inside an allocation (SLURM_JOB_ID) the step overlaps what runs there; outside, srun asks for an allocation of its
 * own and waits in the queue. The worker belongs to the step: it ends with srun. */

/* Returns at once; NULL on error. */
struct transport *transport_srun_open (const struct request *request, struct err *err);

#endif
