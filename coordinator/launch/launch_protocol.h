/* launch_protocol.h - reads and writes the lines between the launcher and a worker or courier at its start.
 *
 * Knows lines and JSON, nothing of processes. Output of a worker or courier is untrusted: unknown lines are skipped (a
 * shell's greeting, a library's warning), within bounds. Spec: docs/spec/launch.md. */
#ifndef SLICEUP_COORDINATOR_LAUNCH_LAUNCH_PROTOCOL_H
#define SLICEUP_COORDINATOR_LAUNCH_LAUNCH_PROTOCOL_H

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/base/err.h"
#include "common/base/text.h"
#include "common/model/plan.h"
#include <stdint.h>

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

#endif
