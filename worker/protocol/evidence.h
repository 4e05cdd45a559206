/* evidence.h - turns the lines that a program sends on its channel into the pieces of a result.
 *
 * Only this file has the rules for lines. No line is fatal: one that breaks a rule is ignored and counted, and the
 * first such is described. Whatever a program sends, memory and the size of the result stay within bounds. It judges
 * nothing else. It knows nothing of descriptors or processes. Not thread-safe. Spec: docs/spec/canary.md. */
#ifndef SLICEUP_WORKER_PROTOCOL_EVIDENCE_H
#define SLICEUP_WORKER_PROTOCOL_EVIDENCE_H

#include "common/base/digest.h"
#include "common/model/msg.h"

/* Bound of a result's lists on the wire: with its single texts and the worker's additions (findings, notes, sightings)
 * it still fits one message (MSG_MAX_BYTES). */
enum { EVIDENCE_MAX_BYTES = 39 * 1024, EVIDENCE_NONCE_MAX_BYTES = 64 };
/* Counter: keys that a program reported but the result has no room for. */
#define EVIDENCE_KEYS_LEFT_OUT "cache_keys_left_out"
enum { STACKS_SIGNALS_MAX = 64 };
enum { LINE_MAX_BYTES = 64 * 1024 - 1 }; /* without its newline */

/* Sums of secrets that came with a metric's values, and how often; if too many differ, the rarest are only counted. */
enum { METRIC_SUMS_MAX = 8 };
struct metric_sums_tally_entry {
    struct digest sums;
    uint64_t times;
};
struct metric_sums_tally {
    struct metric_sums_tally_entry seen[METRIC_SUMS_MAX];
    uint32_t n;
    uint64_t forgotten;
};

/* What the worker must act on at once. Texts live until the next line. */
struct statement {
    enum {
        STATEMENT_NOTHING = 0,
        STATEMENT_PHASE,
        STATEMENT_GATE,
        STATEMENT_BAD_GATE
    } kind; /* waits at a gate that will never open; `value` says why */
    struct text name;
    enum gate_mode mode;
    struct text value;
};

struct evidence {
    struct result result;  /* the pieces from the program, without `problem` */
    struct text complaint; /* about the first refused line */
    struct text nonce;
    struct statement statement;         /* of the present line */
    const struct msg_run *asked;        /* NULL: the program's RUN is not known */
    bool failed;                        /* it sent `failure` */
    uint32_t stacks_signal, stacks_pid; /* the process that prints its stacks on this signal, as reported; 0: none */
    bool saw_backend, saw_program_gate;
    struct metric_sums_tally pasts[RESULT_METRICS_MAX]; /* of result.metrics */
    size_t left_bytes, keys_left_bytes;
    struct arena arena, phase_arena, gate_arena; /* phases and gates have their own, since they change often */
    struct arena scratch;                        /* for the present line */
};

void evidence_init (struct evidence *evidence, struct text nonce);
/* Sets the RUN, which decides the order of lines. Borrows it. */
void evidence_expect (struct evidence *evidence, const struct msg_run *run);
void evidence_release (struct evidence *evidence);
void evidence_take (struct evidence *evidence, struct text line, struct statement *statement);
/* Counts a line that could not be read. */
void evidence_refuse (struct evidence *evidence, const char *why);

#endif
