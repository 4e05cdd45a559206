/* evidence_state.h - what the files that make up evidence.h share; private to evidence*.c. */
#ifndef SLICEUP_WORKER_PROTOCOL_EVIDENCE_STATE_H
#define SLICEUP_WORKER_PROTOCOL_EVIDENCE_STATE_H

#include "worker/protocol/evidence.h"
#include "worker/protocol/json_record.h"
#include <jansson.h>

/* -1: the line breaks a rule, which `err` names, and nothing of it was taken. */
typedef int line_handler_fn (struct evidence *evidence, const json_t *line, struct statement *out, struct err *err);

/* ---- evidence_state.c ---- */

/* The program has to say it, and has not. */
bool evidence_lacks_backend (const struct evidence *evidence);
/* It has to pass the gate `program`, and has not come to it. */
bool evidence_lacks_program_gate (const struct evidence *evidence);
/* Its attempt compiles and executes nothing. */
bool evidence_compiles_only (const struct evidence *evidence);
/* The list at `offset` of a result, as its table describes it. */
const struct field *evidence_list_field (size_t offset);
/* The place behind its last item; its memory was taken for all that it may ever hold. NULL: it is full. */
void *evidence_next_slot (struct evidence *evidence, size_t offset, struct err *err);
/* Pays `cost_bytes` out of what a result may carry, after `freed_bytes` were given back. */
int evidence_pay (struct evidence *evidence, size_t cost_bytes, size_t freed_bytes, struct err *err);
/* A record from a line, whatever it costs; what it points at lives until the next line. */
int evidence_read_record (struct evidence *evidence, const json_t *line, const struct record *record, void *item,
                          struct err *err);
/* A copy of it, behind the others; there is room, and it is paid. */
void evidence_put (struct evidence *evidence, size_t offset, const void *item);
/* The same for what decides nothing: left out where the list has `places` items already, or no room is to spare. */
void evidence_put_if_room (struct evidence *evidence, size_t offset, uint32_t places, const void *item);
void evidence_count_left_out (struct evidence *evidence, const char *list);
/* What is said anew leaves its old words behind: from time to time only the last ones are taken along. */
void evidence_compact (struct evidence *evidence);

/* ---- one function a type of line ---- */

/* evidence_lines.c */
line_handler_fn evidence_take_check, evidence_take_program, evidence_take_note, evidence_take_backend;
line_handler_fn evidence_take_metric;
/* texts and numbers by name */
line_handler_fn evidence_take_bundle, evidence_take_policy, evidence_take_fact, evidence_take_counters;
int evidence_add_counter (struct evidence *evidence, const char *name, uint64_t value, struct err *err);

#endif
