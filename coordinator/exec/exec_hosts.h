/* exec_hosts.h - starts one command on many hosts, at most so many at once, and hears how it ends on each.
 *
 * A host's process is a local worker or a courier, as for a run (docs/spec/launch.md). Every wait is bounded: a start by
 * its deadline, a command by its timeout and what ending it takes, a stop by that alone. What a host says is data.
 *
 * All on the loop's thread. Callbacks must not call back. */
#ifndef SLICEUP_COORDINATOR_EXEC_EXEC_HOSTS_H
#define SLICEUP_COORDINATOR_EXEC_EXEC_HOSTS_H

#include "common/io/loop.h"
#include "common/model/plan.h"
#include "common/model/remote_command.h"

/* What ending a command takes at most after it was told to (worker/process/remote_exec.c), and the way back; and how long
 * a host lets its command run when it hears nothing any more. */
enum { EXEC_ENDING_MS = 25 * 1000, EXEC_SILENCE_MS = 30 * 1000, EXEC_LOCAL_START_MS = 30 * 1000 };

enum exec_state {
    EXEC_QUEUED = 0,
    EXEC_STARTS,
    EXEC_RUNS,
    /* from here on it is over */
    EXEC_ENDED,       /* its host told how: `end` */
    EXEC_NOT_REACHED, /* nothing was begun there: `why` */
    EXEC_LOST,        /* begun, and its end was not heard of: `why` */
    EXEC_NOT_BEGUN,   /* the stop came first */
};

struct exec_host {
    enum exec_state state;
    struct remote_end end;
    const char *why;
};

struct exec_options {
    struct loop *loop;
    const struct plan *plan;
    const uint32_t *ranks; /* of the plan: the hosts, in order */
    uint32_t n, at_once;
    const struct remote_command *command;
    const char *worker_path, *courier_path, *bundle_path;
    void (*output) (void *owner, uint32_t host, struct text bytes); /* `host` counts in `ranks` */
    void (*ended) (void *owner, uint32_t host);
    void *owner;
};

struct exec_hosts;
struct exec_hosts *exec_hosts_open (const struct exec_options *options); /* what it names outlives this */
void exec_hosts_close (struct exec_hosts *hosts);                        /* kills what is left here; NULL is fine */
/* Starts whom there is room for, and gives up on whom a bound is over for. */
void exec_hosts_poll (struct exec_hosts *hosts, uint64_t now_ms);
uint64_t exec_hosts_deadline_ms (const struct exec_hosts *hosts);
/* No further host is begun, and commands that run are told to end; `hard`: with SIGKILL. */
void exec_hosts_stop (struct exec_hosts *hosts, bool hard);
const struct exec_host *exec_hosts_at (const struct exec_hosts *hosts, uint32_t host);
bool exec_hosts_done (const struct exec_hosts *hosts); /* all are over, and their processes here gone */

#endif
