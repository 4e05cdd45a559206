/* launch.h - starting workers. This version: local processes, each its own session and directory.
 *
 * A worker is given everything over its standard input, nothing secret in argv or environment. The exchange is one JSON
 * line each way, then "GO": docs/spec/protocol.md, "Launch". The worker outlives the coordinator.
 *
 * All on the loop's thread. `exited` is not called for a start that launch_start refused. A rank has one worker at a
 * time; its standard error is <directory>/worker.log. Callbacks may call back, to start the next worker for example. */
#ifndef SLICEUP_IO_LAUNCH_H
#define SLICEUP_IO_LAUNCH_H

#include "common/base/err.h"
#include "common/base/text.h"
#include "common/io/loop.h"

typedef void launch_keyed_fn (void *owner, uint32_t rank, struct text public_key);
typedef void launch_exited_fn (void *owner, uint32_t rank, struct text why); /* could not start, or ended; once per start */
struct launch_options {
    const char *worker_path;        /* sliceup-worker */
    const char *run_id_hex;
    const char *hub_address;
    uint16_t control_port, bulk_port;
    const char *hub_public_key;
    launch_keyed_fn *keyed;
    launch_exited_fn *exited;
    void *owner;
};
struct launch;
struct launch *launch_open (struct loop *loop, const struct launch_options *options);
void launch_close (struct launch *launch);          /* does not end the workers */
/* Starts `host`'s worker with `directory` as its own. */
int launch_start (struct launch *launch, uint32_t rank, struct text host, const char *directory, struct err *err);
/* The worker's key was admitted: it may connect now. Nothing happens for a rank whose worker does not wait for that. */
void launch_admitted (struct launch *launch, uint32_t rank);
/* A worker taken over from an earlier coordinator: watch its pid (pidfd) for its end. */
int launch_adopt (struct launch *launch, uint32_t rank, int64_t pid, uint64_t pid_start, struct err *err);
/* SIGKILL to a worker that did not end when told; only to processes that this launch started or adopted. */
void launch_kill (struct launch *launch, uint32_t rank);

#endif
