/* launch.h - starts workers on their hosts, and reports when they end.
 *
 * A local worker is a process started here. With launcher ssh or slurm a courier process per host (sliceup-courier)
 * takes the worker there; at most `at_once` start at the same time, so that they do not overload one sshd. Both get
 * everything over standard input, nothing secret in argv or environment: docs/spec/launch.md, and "Launch" in
 * docs/spec/protocol.md. Workers outlive the coordinator, except tied ones and those of Slurm.
 *
 * All on the loop's thread. `exited` is not called if launch_start failed. A rank has one worker at a time; its
 * standard error, or its courier's, is <directory>/worker.log. Callbacks may call back. */
#ifndef SLICEUP_COORDINATOR_LAUNCH_LAUNCH_H
#define SLICEUP_COORDINATOR_LAUNCH_LAUNCH_H

#include "common/io/loop.h"
#include "common/model/plan.h"

typedef void launch_keyed_fn (void *owner, uint32_t rank, struct text public_key);
typedef void launch_step_fn (void *owner, uint32_t rank, struct text step);       /* step that its courier begins */
typedef void launch_remark_fn (void *owner, uint32_t rank, struct text sentence); /* from its courier, about the host */
/* The start failed, or the worker ended; once per start. Ends of independent workers are not reported here. */
typedef void launch_exited_fn (void *owner, uint32_t rank, struct text why);
struct launch_options {
    enum launcher launcher;         /* LOCAL, SSH or SLURM */
    const struct start_plan *start; /* SSH, SLURM; outlives the launch */
    const char *worker_path;        /* LOCAL: sliceup-worker */
    const struct plan *plan;        /* names the slice in ps; LOCAL: and what programs inherit; outlives the launch */
    const char *courier_path, *bundle_path; /* SSH, SLURM */
    const char *run_id_hex;
    const char *hub_address; /* empty: the courier finds it */
    const char *hub_local;   /* where this machine reaches it */
    uint16_t control_port, bulk_port;
    const char *hub_public_key;
    struct text password; /* SSH: a line for couriers; empty: none. Outlives the launch, and stands nowhere else */
    launch_keyed_fn *keyed;
    launch_step_fn *step;     /* may be NULL */
    launch_remark_fn *remark; /* may be NULL */
    launch_exited_fn *exited;
    void *owner;
};
struct launch;
struct launch *launch_open (struct loop *loop, const struct launch_options *options);
void launch_close (struct launch *launch); /* does not end the workers */
/* Starts `host`'s worker. `directory` is on this machine: a local worker's own, else only for its log. */
int launch_start (struct launch *launch, uint32_t rank, const struct plan_host *host, const char *directory,
                  struct err *err);
/* The worker's key was admitted, so it may connect now. Does nothing if the rank's worker does not wait for that. */
void launch_note_admitted (struct launch *launch, uint32_t rank);
/* Takes over a worker of an earlier coordinator. A pidfd reports the end of a local one; a remote one only falls
 * silent. */
int launch_adopt (struct launch *launch, uint32_t rank, int64_t pid, uint64_t pid_start, struct err *err);
/* A worker of an earlier coordinator whose link a courier carried: another one does. `directory` as for launch_start.
 * Does nothing for others. A courier that ends while the run goes on is replaced in the same way. */
void launch_carry_again (struct launch *launch, uint32_t rank, const char *directory);
/* Starts no queued worker any more: the run is over. */
void launch_begin_no_more (struct launch *launch);
/* Sends SIGKILL to a worker that did not end when told; only to processes that this launch started or adopted. */
void launch_kill (struct launch *launch, uint32_t rank);

#endif
