/* transport.h - a program that runs on a host, as its courier reaches it: over an ssh channel, or a child's pipes.
 *
 * Nothing here but `close` waits: `watch` says what to poll for. One thread. */
#ifndef SLICEUP_COORDINATOR_COURIER_TRANSPORT_H
#define SLICEUP_COORDINATOR_COURIER_TRANSPORT_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "coordinator/courier/reporter.h"
#include "coordinator/courier/request.h"
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { DIAL_ADDRESS_BYTES = 64 }; /* the near end of a connection, as a number */
enum { TRANSPORT_FDS_MAX = 3 };
enum transport_stream { TRANSPORT_OUTPUT, TRANSPORT_ERROR };

struct transport;
struct transport_ops {
    size_t (*watch) (struct transport *transport, bool to_send,
                     struct pollfd entries[TRANSPORT_FDS_MAX]); /* their number */
    /* Bytes of a stream of the program: their number, 0 when there are none now, -1 when there will be none. */
    ssize_t (*receive) (struct transport *transport, enum transport_stream stream, void *bytes, size_t max);
    /* To the program's standard input: bytes taken, 0 when it takes none now, -1 when it never will. */
    ssize_t (*say) (struct transport *transport, const void *bytes, size_t len);
    /* Has the program ended, or the connection? Then how: "exit status 3". */
    bool (*ended) (struct transport *transport, struct buf *how);
    /* Its end before the bootstrap spoke, explained by what TRANSPORT_ERROR said; false: nothing to add. Or NULL. */
    bool (*explain) (struct text received, enum step *step, struct err *err);
    /* Ends the program's input, and frees the way. A program that may leave by itself is given `leave_ms` for it. */
    void (*close) (struct transport *transport, uint64_t leave_ms);
};
struct transport {
    const struct transport_ops *ops;
};

/* Of what was heard, the last line that says something; "" when there is none. */
struct text transport_last_line (struct text received);
/* A line without the numbers of jobs and job steps in it: each host has its own job, and equal causes are to fold. */
void transport_mask_job_ids (struct text line, struct buf *out);

/* ---- transport_ssh.c: the bootstrap on a host over ssh, straight or through a jump host (docs/spec/launch.md) ---- */

/* Waits until the command runs on the host: the watchdog bounds that. `near_end`: this machine's address as the
 * connection has it; "" through a jump host. NULL on error. */
struct transport *transport_ssh_open (const struct request *request, struct reporter *reporter, uint64_t until_ms,
                                      char near_end[DIAL_ADDRESS_BYTES], struct err *err);

/* transport_srun.c - the bootstrap on a host as a job step of Slurm: a child `srun` and three pipes. Spec: launch.md.
 * Inside an allocation (SLURM_JOB_ID) the step overlaps what runs there; outside, srun asks for an allocation of its
 * own and waits in the queue. The worker lives in the step: it ends when srun does. */

/* Returns at once; NULL on error. */
struct transport *transport_srun_open (const struct request *request, struct err *err);

#endif
