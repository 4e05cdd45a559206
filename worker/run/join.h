/* join.h - tells a worker its run, host and coordinator: a JSON line each way on standard input and output, then "GO".
 *
 * Nothing secret is in argv or the environment, and the worker's own secret key never leaves this process. Every wait
 * is bounded. Spec: docs/spec/protocol.md, "Launch". */
#ifndef SLICEUP_WORKER_RUN_JOIN_H
#define SLICEUP_WORKER_RUN_JOIN_H

#include "common/io/link.h"
#include "common/io/log.h"
#include "common/io/loop.h"
#include "common/io/proc.h"
#include "worker/attempt/command.h"
#include "worker/environment/kit.h"

#define JOIN_WAY_FILE "way" /* in the worker's folder: "<control port> <bulk port>" of 127.0.0.1 */
enum { JOIN_WAIT_MS = 60 * 1000, JOIN_LINE_MAX_BYTES = 8 * 1024 };

struct join_config {
    uint8_t run_id[RUN_ID_BYTES];
    char run_hex[2 * RUN_ID_BYTES + 1];
    char host[HOST_NAME_MAX_BYTES + 1];
    char slice[ID_MAX_BYTES + 1];     /* to be shown; empty: unknown */
    char address[NAME_MAX_BYTES + 1]; /* of the coordinator */
    uint16_t control_port, bulk_port;
    char hub_key[LINK_KEY_BYTES];
    char directory[PATH_MAX_BYTES + 1]; /* of this worker, absolute */
    /* For a worker that joins by itself: the folder of all its runs, and its ticket. NULL: none. Borrowed. */
    const char *trusted[TRUSTED_MAX];
    uint32_t try_ms;         /* it tries to reach the coordinator for so long; 0: it just connects */
    bool tied;               /* it ends with its standard input; else it outlives its starter */
    struct link_keys keys;   /* made by the worker */
    uint64_t pid, pid_start; /* clock ticks since boot: tells a reused pid from this process */
    char boot_id[PROC_BOOT_ID_BYTES];
};

/* Reads the line from `in_fd`, answers on `out_fd`, waits for GO. A worker that cannot reach the coordinator says so, and
 * gets a second line, with another way. */
int join_exchange_launch_line (struct join_config *join, int in_fd, int out_fd, const char *version, struct err *err);
/* Fills in the process and the boot. */
int join_fill_process (struct join_config *join, struct err *err);
/* Makes the worker's directory if missing, refuses one that others may write to, and changes to it. */
int join_enter_directory (const char *directory, struct err *err);
/* Shows run, host and slice as the command line of this process; its arguments are lost (process_title_set). */
void join_show_in_ps (const struct join_config *join);
/* Parses the launch line. */
int join_parse (struct join_config *join, struct text line, struct err *err);
/* The connection to its coordinator; NULL on error. Borrows nothing of `join`. */
struct spoke *join_open_spoke (const struct join_config *join, uint32_t bulk_bytes_max, struct err *err);

/* One worker for one host's directory.
 *
 * A dead coordinator may leave a started worker that never was recorded as joined; the next coordinator starts another
 * for the same host. The last worker keeps the directory: it ends the earlier one, first with SIGTERM, then with
 * SIGKILL. The lock is the kernel's and ends with the process. One thread; blocks for at most INSTANCE_LOCK_WAIT_MS. */
enum { INSTANCE_LOCK_POLITE_MS = 2000, INSTANCE_LOCK_WAIT_MS = 6000 };

/* Keeps "<directory>/worker.lock" locked for the rest of this process's life. */
int instance_lock_take_over (const char *directory, struct err *err);

/* Finds the run that a worker with a ticket joins: it sends HELLO without a run until the coordinator names one.
 *
 * Uses a connection of its own and closes it; then the worker joins like any other. Waits for `wait_ms`, and logs each
 * minute what it waits for. One thread; SIGTERM, SIGINT, SIGHUP and SIGUSR1 end the wait and stay blocked afterwards: a
 * run ignores SIGUSR1. */
enum run_discovery { RUN_DISCOVERY_CAME = 0, RUN_DISCOVERY_GIVEN_UP = 1 };

/* `join` has host, address and keys; the run is filled in. `wait_ms` 0: without end. Returns the outcome, or -1: the
 * coordinator refused, or nothing came in time. */
int run_discovery_wait (struct join_config *join, const char *version, uint64_t wait_ms, const struct log *log,
                        struct err *err);

/* ---- the file with which a worker joins by itself; its bearer acts as that host ---- */

enum { TICKET_FILE_MAX_BYTES = 4096 };

struct ticket {
    char slice[ID_MAX_BYTES + 1];
    char host[HOST_NAME_MAX_BYTES + 1];
    char address[NAME_MAX_BYTES + 1]; /* of the coordinator */
    uint16_t control_port, bulk_port;
    char coordinator_key[LINK_KEY_BYTES];
    struct link_keys keys;
};

/* ERR_REFUSED: others may read the file; ERR_PARSE: not a ticket. Never quotes its content. */
int ticket_load (struct ticket *ticket, const char *path, struct err *err);

/* ---- driver.c ---- */

/* The main loop of a worker in a run: one loop, one connection, one member, at most one attempt.
 *
 * It performs the member's effects in order, and reports events to it. Nothing in the loop blocks: slow work is a
 * process of its own. Runs until the member ends the worker. */

/* Call it on the main thread, before any other was started. 0: it ended as told. */
int driver_run (const struct join_config *join, const char *version, const struct log *log, struct err *err);

/* Large files that hosts give to one another. The coordinator alone says who asks whom; messages are as with it. This
 * host opens a port for others with the first file that is here as a whole, and closes it before the next attempt. Who
 * asks holds the whole against the plan's sha256, so that nobody has to trust this host. Main thread only. */
struct host_files;
struct host_files *host_files_make (struct loop *loop, const struct join_config *join, const struct log *log);
void host_files_destroy (struct host_files *files); /* NULL is fine */
void host_files_close (struct host_files *files);   /* forgets what it offers and whom it asks */
void host_files_leave (struct host_files *files);   /* asks nobody any more */
bool host_files_ask (struct host_files *files, const struct msg_fetch *ask, const struct giver *giver);
/* Says in `have` where others get the file; nowhere, if no port can be opened. `address`: this host's, in the plan. */
void host_files_offer (struct host_files *files, struct text address, const char *path, struct msg_fetch *have);
/* Answers what others asked, and hands out what was asked for. Returns how many frames came; call it until 0. */
typedef void host_files_fn (void *owner, const struct msg_chunk *chunk);
uint32_t host_files_take (struct host_files *files, host_files_fn *fn, void *owner);

#endif
