/* evidence.h - turns the lines that a program sends on its channel into the pieces of a result.
 *
 * It alone keeps the rules for lines. Nothing a program says is fatal: a line that breaks a rule counts for nothing but
 * as broken, and the first one is described. Whatever it sends, memory and the size of the result stay within bounds.
 * It judges nothing else. It knows nothing of descriptors or processes. Not thread-safe. Spec: docs/spec/canary.md. */
#ifndef SLICEUP_WORKER_PROTOCOL_EVIDENCE_H
#define SLICEUP_WORKER_PROTOCOL_EVIDENCE_H

#include "common/base/digest.h"
#include "common/model/msg.h"

/* What the lists of a result may cost on the wire: with its single texts and with what the worker itself adds
 * (findings, notes, what was found in its log) it still fits one message (MSG_MAX_BYTES). */
enum { EVIDENCE_MAX_BYTES = 39 * 1024, EVIDENCE_NONCE_MAX_BYTES = 64 };
/* Counter: keys that a program told and the result does not carry. */
#define EVIDENCE_KEYS_LEFT_OUT "cache_keys_left_out"
enum { STACKS_SIGNALS_MAX = 64 };
enum { LINE_MAX_BYTES = 64 * 1024 - 1 }; /* without its newline */

/* Sums of secrets under which a metric was said, and how often; of the rarest of too many only the number stays. */
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

struct evidence {
    struct result result;  /* the pieces that come from the program; `problem` is not among them */
    struct text complaint; /* about the first line that was refused */
    struct text nonce;
    const struct msg_run *asked;        /* NULL: nobody knows what the program was asked to do */
    bool failed;                        /* it said failure */
    uint32_t stacks_signal, stacks_pid; /* who prints its stacks on which signal, as it said; 0: nobody */
    bool saw_backend, saw_program_gate;
    struct metric_sums_tally pasts[RESULT_METRICS_MAX]; /* of result.metrics */
    size_t left_bytes, keys_left_bytes;
    struct arena arena, phase_arena, gate_arena; /* phases and gates come and go: they must not add up */
    struct arena scratch;                        /* of the line that is being taken */
};

/* What the worker has to act on at once. Texts live until the next line. */
struct statement {
    enum {
        STATEMENT_NOTHING = 0,
        STATEMENT_PHASE,
        STATEMENT_GATE,
        STATEMENT_BAD_GATE
    } kind; /* it waits at a gate that nobody will open; `value` says why */
    struct text name;
    enum gate_mode mode;
    struct text value;
};

void evidence_init (struct evidence *evidence, struct text nonce);
/* What the attempt asks of its program, and so which order its lines must have. Borrowed. */
void evidence_expect (struct evidence *evidence, const struct msg_run *run);
void evidence_release (struct evidence *evidence);
void evidence_take (struct evidence *evidence, struct text line, struct statement *statement);
/* A line that could not even be taken. */
void evidence_refuse (struct evidence *evidence, const char *why);

#endif
