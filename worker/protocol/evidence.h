/* evidence.h - turns the lines that a program sends on its channel into the pieces of a result.
 *
 * Only this file has the rules for lines. No line is fatal: one that breaks a rule is ignored and counted, and the
 * first such is described. Whatever a program sends, memory and the size of the result stay within bounds. It judges
 * nothing else. It knows nothing of descriptors or processes. Not thread-safe. Spec: docs/spec/canary.md. */
#ifndef SLICEUP_WORKER_PROTOCOL_EVIDENCE_H
#define SLICEUP_WORKER_PROTOCOL_EVIDENCE_H

#include "common/base/digest.h"
#include "common/model/msg.h"
#include <jansson.h>

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

/* ---- evidence_state.c: shared by evidence*.c, and private to them ---- */

/* -1: the line breaks a rule, which `err` names, and is ignored. */
typedef int line_handler_fn (struct evidence *evidence, const json_t *line, struct err *err);

/* Must the program report its backend, and has not? */
bool evidence_lacks_backend (const struct evidence *evidence);
/* Must it pass the gate `program`, and has not reached it? */
bool evidence_lacks_program_gate (const struct evidence *evidence);
/* Does its attempt only compile, and execute nothing? */
bool evidence_compiles_only (const struct evidence *evidence);
/* The list at `offset` of a result, as its table describes it. */
const struct field *evidence_list_field (size_t offset);
/* The place after the list's last item; memory for all items is already reserved. NULL: full. */
void *evidence_next_slot (struct evidence *evidence, size_t offset, struct err *err);
/* Takes `cost_bytes` from the result's room, after returning `freed_bytes`. */
int evidence_pay (struct evidence *evidence, size_t cost_bytes, size_t freed_bytes, struct err *err);
/* Reads a record from a line, without counting its size; its pointers live until the next line. */
int evidence_read_record (struct evidence *evidence, const json_t *line, const struct record *record, void *item,
                          struct err *err);
/* Appends a copy of the item, which has room and is paid for. */
void evidence_put (struct evidence *evidence, size_t offset, const void *item);
/* The same for items that decide nothing: left out if the list has `places` items, or no room is left. */
void evidence_put_if_room (struct evidence *evidence, size_t offset, uint32_t places, const void *item);
void evidence_count_left_out (struct evidence *evidence, const char *list);
/* Frees old values that newer ones replaced; done from time to time. */
void evidence_compact (struct evidence *evidence);

/* ---- one function a type of line ---- */

/* evidence_lines.c */
line_handler_fn evidence_take_check, evidence_take_program, evidence_take_note, evidence_take_backend;
line_handler_fn evidence_take_metric;
/* texts and numbers by name */
line_handler_fn evidence_take_bundle, evidence_take_policy, evidence_take_fact, evidence_take_counters;
int evidence_add_counter (struct evidence *evidence, const char *name, uint64_t value, struct err *err);

/* ---- records from JSON ---- */

/* Reads a JSON object into a record by its table, for reports of programs.
 *
 * Members that the table does not name are ignored, so that a newer canary still speaks to an older worker. Required
 * are names, enums and measured numbers (all but a tolerance). Free text is cleaned and cut to its bound; a too long
 * name or fingerprint is refused, since two cut ones could look equal. */

/* Upper bounds for MessagePack heads and the key of a field (spec: msgpack, formats). */
enum { JSON_FIELD_COST_BYTES = 10, JSON_ITEM_COST_BYTES = 8 };

/* Budget of a reading: values go into `arena`, and `left_bytes` shrinks by their largest size on the wire. */
struct json_budget {
    struct arena *arena;
    size_t left_bytes;
};

/* -1: nothing of `*out` may be used; the budget may be smaller. */
int json_read_record (const json_t *object, const struct record *record, void *out, struct json_budget *budget,
                      struct err *err);
/* The largest size of a value on the wire. */
size_t json_record_wire_bytes (const struct record *record, const void *value);
/* One text of at most `max_bytes`; `whole`: refused rather than cut. */
int json_read_text (const json_t *value, const char *name, uint32_t max_bytes, bool whole, struct text *out,
                    struct json_budget *budget, struct err *err);

/* ---- channel.c ---- */

/* The worker's end of the descriptor between it and a canary: JSON lines both ways (docs/spec/canary.md).
 *
 * Lines have a maximum length, and writing has a bounded queue; nothing here blocks and no line of a canary is fatal.
 * evidence.h interprets the lines. Not thread-safe.
 *
 *   channel_open -> give channel_take_program_fd () to the program -> channel_send (the attempt line) ->
 *   channel_read / channel_write as the descriptor asks -> channel_close */

/* Room for an attempt line, whose arguments came in one message and grow as JSON. */
enum { CHANNEL_QUEUE_BYTES = 512 * 1024 };

/* Called for each statement, in order, from channel_read. */
typedef void channel_statement_fn (void *owner, const struct statement *statement);

struct channel;
struct channel *channel_open (struct evidence *evidence, channel_statement_fn *fn, void *owner, struct err *err);
void channel_close (struct channel *channel); /* NULL is fine */
int channel_fd (const struct channel *channel);
int channel_take_program_fd (struct channel *channel); /* the program's end; the caller closes it */
/* `line` without its newline. False: the program does not read, the queue is full or the other end is closed. */
bool channel_send (struct channel *channel, struct text line);
bool channel_send_go (struct channel *channel, struct text gate, struct text value);
bool channel_send_stop (struct channel *channel, struct text reason);
bool channel_wants_write (const struct channel *channel);
void channel_write (struct channel *channel);
/* The program is being ended, so a partial last line is not its fault. */
void channel_allow_partial_line (struct channel *channel);
/* False: the other end is closed or broken; nothing more will come. */
bool channel_read (struct channel *channel);

#endif
