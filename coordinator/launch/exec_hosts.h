/* exec_hosts.h - starts one command on many hosts, a limited number at once, and learns how it ends on each.
 *
 * A host's process is a local worker or a courier, as for a run (docs/spec/launch.md). Every wait is bounded: a start
 * by its deadline, a command by its timeout plus EXEC_ENDING_MS, a stop by the latter. Input from hosts is untrusted.
 *
 * All on the loop's thread. Callbacks must not call back. */
#ifndef SLICEUP_COORDINATOR_LAUNCH_EXEC_HOSTS_H
#define SLICEUP_COORDINATOR_LAUNCH_EXEC_HOSTS_H

#include "common/io/loop.h"
#include "common/model/plan.h"
#include "common/model/remote_command.h"

/* ENDING: longest time from the order to end a command (worker/process/remote_exec.c) to its report. SILENCE: how long
 * a host lets its command run without hearing from us. */
enum { EXEC_ENDING_MS = 25 * 1000, EXEC_SILENCE_MS = 30 * 1000, EXEC_LOCAL_START_MS = 30 * 1000 };

enum exec_state {
    EXEC_QUEUED = 0,
    EXEC_STARTS,
    EXEC_RUNS,
    /* over from here on */
    EXEC_ENDED,       /* its host reported it: `end` */
    EXEC_NOT_REACHED, /* nothing began there: `why` */
    EXEC_LOST,        /* begun, but its end is unknown: `why` */
    EXEC_NOT_BEGUN,   /* stopped before it began */
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
    int input_fd;         /* a file that is its standard input on every host; 0: none */
    struct text password; /* a line for couriers; empty: none */
    const char *worker_path, *courier_path, *bundle_path;
    void (*output) (void *owner, uint32_t host, struct text bytes); /* `host` counts in `ranks` */
    void (*ended) (void *owner, uint32_t host);
    void *owner;
};

struct exec_hosts;
struct exec_hosts *exec_hosts_open (const struct exec_options *options); /* pointers in `options` must outlive this */
void exec_hosts_close (struct exec_hosts *hosts);                        /* kills processes left here; NULL is fine */
/* Starts hosts while there is room, and gives up hosts past a deadline. */
void exec_hosts_poll (struct exec_hosts *hosts, uint64_t now_ms);
uint64_t exec_hosts_deadline_ms (const struct exec_hosts *hosts);
/* Begins no further host, and tells running commands to end; `hard`: with SIGKILL. */
void exec_hosts_stop (struct exec_hosts *hosts, bool hard);
const struct exec_host *exec_hosts_at (const struct exec_hosts *hosts, uint32_t host);
bool exec_hosts_done (const struct exec_hosts *hosts); /* all are over, and their local processes gone */

/* ---- what hosts printed: the beginning and the end of each output, and which outputs are equal ----
 *
 * Pure. Adds a missing last newline. Drops the middle of an output that is too large, but compares all of it. Keeps an
 * ended output once for all hosts with the same. */
/* Kept for one host; less if all hosts together would exceed OUTPUTS_KEPT_BYTES. */
enum { OUTPUT_KEPT_BYTES = 1 << 20, OUTPUTS_KEPT_BYTES = 256 << 20, OUTPUT_KEPT_LEAST_BYTES = 16 << 10 };
enum { OUTPUT_NO_GROUP = UINT32_MAX };

struct output_group {
    struct text head, tail;
    uint64_t dropped_bytes; /* between beginning and end */
    uint32_t hosts_n;
};

struct output_fold;
struct output_fold *output_fold_create (uint32_t hosts_n, uint32_t kept_bytes);
void output_fold_destroy (struct output_fold *fold); /* NULL is fine */
uint32_t output_fold_kept_bytes (uint32_t hosts_n);  /* kept for each host */
void output_fold_add (struct output_fold *fold, uint32_t host, struct text bytes);
void output_fold_end (struct output_fold *fold, uint32_t host); /* call it once, when its output is complete */
uint32_t output_fold_groups (const struct output_fold *fold);
const struct output_group *output_fold_group (const struct output_fold *fold, uint32_t group);
uint32_t output_fold_group_of (const struct output_fold *fold, uint32_t host); /* NO_GROUP: it has not ended */

/* ---- how a command ended on its hosts: a sentence for each set of hosts, an exit status, a document; pure ---- */
struct exec_ends {
    const struct text *names; /* in host order */
    const struct exec_host *const *hosts;
    uint32_t n;
    uint64_t timeout_ms;
    bool cancelled;
};

/* "v[3,7]: exit status 2", a line for each set of hosts that did not simply succeed. */
void exec_report_put_ends (const struct exec_ends *ends, struct buf *out);
/* "exit status 0 on 62 of 64 hosts" */
void exec_report_put_sum (const struct exec_ends *ends, struct buf *out);
/* 130: cancelled; 3: a host was not reached, or its end is unknown; 1: a command did not end with 0; else 0. */
int exec_report_exit_status (const struct exec_ends *ends);
/* "v[0-2] (3 hosts)" for the `chosen` hosts, in host order. */
void exec_report_put_hosts (const struct exec_ends *ends, const bool *chosen, struct buf *out);
/* The document of docs/spec/exec.schema.json, and a newline. */
void exec_report_put_json (const struct exec_ends *ends, const struct output_fold *fold, struct buf *out);

#endif
