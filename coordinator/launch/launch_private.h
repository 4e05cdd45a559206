/* launch_private.h - the parts of a launch, for the files that make it up and for its tests.
 *
 *            launch_start      a place is free      its key line    launch_note_admitted       the courier's "left"
 *   (nothing) --------> QUEUED -------------> AWAITED ---------> KEYED --------------> ADMITTED ---------> LEFT
 *                                                | refused, broken, flood, no answer in time
 *   ADOPTED <--- launch_adopt                    +----> GIVEN_UP: killed, reported, waits to be reaped
 *
 *   "The process" is the worker, or its courier. From every state its end leads back to (nothing). The end is reported,
 *   except in GIVEN_UP and LEFT: there the courier is done, and its worker is independent. */
#ifndef SLICEUP_COORDINATOR_LAUNCH_LAUNCH_PRIVATE_H
#define SLICEUP_COORDINATOR_LAUNCH_LAUNCH_PRIVATE_H

#include "common/base/digest.h"
#include "coordinator/launch/launch.h"
#include "coordinator/launch/launch_process.h"
#include <stdint.h>

/* ---- launch_protocol.c ---- */

/* Reads and writes the lines between the launcher and a worker or courier at its start.
 *
 * Knows lines and JSON, nothing of processes. Output of a worker or courier is untrusted: unknown lines are skipped (a
 * shell's greeting, a library's warning), within bounds. Spec: docs/spec/launch.md. */

enum {
    LAUNCH_PROTOCOL = 1,
    LAUNCH_LINE_MAX_BYTES = 4096,
    LAUNCH_OUTPUT_MAX_BYTES = 64 * 1024,
    LAUNCH_KEY_BYTES = 41,
    LAUNCH_STEP_BYTES = 32,
    LAUNCH_WHY_BYTES = 1024,
    COURIER_LINE_MAX_BYTES = 64 * 1024
};

struct launch_line_fields { /* the launch line, for the worker */
    const char *run_id_hex;
    struct text host, slice;
    uint32_t rank;
    const char *address;
    uint16_t control_port, bulk_port;
    const char *hub_public_key, *directory;
    bool tied;
    uint32_t try_ms; /* how long it tries to reach the address before it answers; 0: it does not */
};
struct courier_request {    /* the line before it, for a courier */
    enum launcher launcher; /* SSH or SLURM */
    const struct plan_host *host;
    const struct start_plan *start;
    const char *nonce, *bundle, *bundle_sha256;
    uint64_t bundle_head_bytes, bundle_bytes;
    const char *hub_address; /* for a link that is carried: the coordinator on this machine; NULL: no link */
    bool password;           /* follows behind the other lines */
    bool again;              /* the worker runs: carry its link anew, after `pause_ms` */
    uint32_t pause_ms;
};

enum launch_word {
    WORD_NONE = 0,
    WORD_ANSWER,
    WORD_STEP,
    WORD_REFUSED,
    WORD_LEFT,
    WORD_ENDED,
    WORD_FOUND,
    WORD_EXEC,
    WORD_CARRIES
};
struct launch_report {
    enum launch_word word;
    char public_key[LAUNCH_KEY_BYTES]; /* ANSWER: the worker's */
    int64_t pid, pid_start;
    char step[LAUNCH_STEP_BYTES]; /* STEP, REFUSED */
    char why[LAUNCH_WHY_BYTES];   /* REFUSED, ENDED, FOUND, CARRIES; cut when longer */
};
/* Output is fed as it comes, in pieces of any size. {0} is a fresh one. */
struct launch_parser {
    bool courier; /* accepts a courier's words too */
    char line[LAUNCH_LINE_MAX_BYTES];
    uint32_t line_len;
    uint32_t received_bytes;
    bool too_long; /* this line is; its rest is skipped */
};

/* Appends the line with its newline. ERR_PARSE: a text is not UTF-8. ERR_LIMIT: too long. */
int launch_protocol_put_join (struct buf *out, const struct launch_line_fields *join, struct err *err);
int launch_protocol_put_courier (struct buf *out, const struct courier_request *request, struct err *err);
/* The same for a courier, with a new nonce. The bundle's file is read once. */
struct launch_bundle {
    char *path;
    char sha256[DIGEST_HEX_BYTES]; /* of its head; empty: not read yet */
    uint64_t head_bytes, bytes;
};
int launch_put_order (struct courier_request *request, struct launch_bundle *bundle, struct buf *out, struct err *err);
/* 1: `reply` is read, and `output` is the rest. 0: all of `output` was taken. -1: a broken word, or too much output;
 * `err` is a sentence on "it". */
int launch_protocol_receive (struct launch_parser *parser, struct text *output, struct launch_report *reply,
                             struct err *err);

/* A courier gets this grace, since it keeps the deadline itself and names the step that took too long. */
enum { LAUNCH_TIMEOUT_MS = 30 * 1000, COURIER_GRACE_MS = 5 * 1000, LAUNCH_WHY_MAX_BYTES = 1536 };
/* A worker tries the coordinator's address for so long. */
enum { LINK_TRY_MS = 3000 };
/* Between couriers that are to carry a link again. */
enum { AGAIN_PAUSE_MS = 1000, AGAIN_PAUSE_MAX_MS = 10 * 1000 };

enum start_state {
    START_QUEUED = 1,
    START_AWAITED,
    START_KEYED,
    START_ADMITTED,
    START_LEFT,
    START_ADOPTED,
    START_GIVEN_UP
};

struct start {
    struct launch *launch;
    struct start *next;
    enum start_state state;
    uint32_t rank;
    struct buf words;              /* QUEUED: its input */
    char *directory;               /* where its log is */
    bool carries;                  /* its link passes through its courier */
    bool again;                    /* the courier of a worker that runs, which it carries only */
    uint32_t tries_n;              /* couriers in a row that did not carry */
    struct launch_process process; /* descriptors are -1 when closed */
    uint64_t deadline_ms;          /* AWAITED */
    struct launch_parser *parser;  /* while its output is read */
    struct worker_log log;         /* none: ADOPTED */
};

struct launch {
    struct loop *loop;
    struct launch_options options; /* but for its texts, which end with the call: */
    char *program, *run_id_hex, *hub_address, *hub_local, *hub_public_key;
    struct launch_bundle bundle;
    uint32_t awaited_n, awaited_max; /* starts that are AWAITED */
    bool beginning;
    uint64_t timeout_ms;
    int timer_fd;
    uint64_t timer_ms;    /* when the timer fires; UINT64_MAX: never */
    struct start *starts; /* all of them, GIVEN_UP too, the latest first */
    struct start *by_rank[HOSTS_MAX];
};

static inline bool launch_is_remote (const struct launch *launch)
{
    return launch->options.launcher != LAUNCHER_LOCAL;
}

struct start *start_create (struct launch *launch, uint32_t rank, enum start_state state);
void start_destroy (struct start *start);
void start_set_state (struct start *start, enum start_state state);
void start_free_rank (struct start *start);   /* frees its rank for another start */
void start_drop_output (struct start *start); /* stops reading its output */
bool start_send (const struct start *start, struct text words);
void launch_drop_fd (struct loop *loop, int *fd); /* removes it from the loop, closes it, sets -1 */
/* launch_events.c: watches its output, if any, and its end. */
int start_watch (struct start *start, struct err *err);
int launch_timer_create (struct launch *launch, struct err *err);
void launch_timer_set (struct launch *launch, uint64_t at_ms);
/* launch_begin.c */
void start_note_carries (struct start *start);
/* Its courier ended, and its worker most likely runs: queues another one. False: there is no sense in that. */
bool launch_queue_again (struct launch *launch, uint32_t rank, const char *directory, uint32_t tries_n);
void launch_begin_queued (struct launch *launch);
/* Call it last for a start: the callback may start the next one. */
void launch_report_exit (struct launch *launch, uint32_t rank, const struct buf *why);

#endif
