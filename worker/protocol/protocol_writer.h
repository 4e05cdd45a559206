/* protocol_writer.h - the program's end of the canary protocol (docs/spec/canary.md), for the programs built into the
 * worker.
 *
 * With SLICEUP_FD in the environment it writes to that descriptor, after it read the worker's attempt line. Without it,
 * it was started by hand: there is no attempt line, and the same lines go to standard output.
 *
 * Texts are made valid UTF-8 and cut to what a result may hold. After a failed line the writer sends nothing more, and
 * protocol_writer_close returns the error. One thread. */
#ifndef SLICEUP_WORKER_PROTOCOL_PROTOCOL_WRITER_H
#define SLICEUP_WORKER_PROTOCOL_PROTOCOL_WRITER_H

#include "common/model/result.h"

enum { PROTOCOL_WRITER_BUNDLE_MAX = 64 }; /* items a line, so that it stays below 64 KiB */

struct protocol_writer;
/* Removes SLICEUP_FD from the environment and hides the descriptor from children. Waits a minute for the attempt. */
struct protocol_writer *protocol_writer_open (struct err *err);              /* NULL on error */
int protocol_writer_close (struct protocol_writer *writer, struct err *err); /* frees; -1: not everything was sent */

bool protocol_writer_by_hand (const struct protocol_writer *writer);
/* A text in the attempt's `args`; NULL: not there. Lives as long as the writer. */
const char *protocol_writer_arg (const struct protocol_writer *writer, const char *name);
/* All of them, as an object of jansson; NULL by hand. */
struct json_t;
const struct json_t *protocol_writer_args (const struct protocol_writer *writer);
bool protocol_writer_arg_is_false (const struct protocol_writer *writer, const char *name); /* there, and false */

/* The texts in the object of that name in `args`, in `arena`, in any order; empty if it is not there. */
var_list protocol_writer_arg_vars (const struct protocol_writer *writer, const char *name, struct arena *arena);

void protocol_writer_phase (struct protocol_writer *writer, const char *name);
void protocol_writer_fact (struct protocol_writer *writer, const char *name, struct text value);
void protocol_writer_note (struct protocol_writer *writer, struct text text, const char *source, enum durability how);
void protocol_writer_bundle (struct protocol_writer *writer, const struct var *items, uint32_t n);
void protocol_writer_backend (struct protocol_writer *writer, const struct observed_backend *backend);
void protocol_writer_check (struct protocol_writer *writer, const struct value_check *check);
void protocol_writer_counters (struct protocol_writer *writer, const struct named_number *items, uint32_t n);
/* Sends the memory of this process, and the device's as predicted and as counted; 0: unknown. */
void protocol_writer_memory (struct protocol_writer *writer, uint64_t peak_bytes, uint64_t predicted_bytes,
                             uint64_t device_peak_bytes);
void protocol_writer_failure (struct protocol_writer *writer, enum owner owner, struct text text);
/* Waits, without a limit of its own, until all hosts are at the gate. -1, ERR_STATE: it was told to stop. */
int protocol_writer_pass_gate (struct protocol_writer *writer, const char *name, struct err *err);
void protocol_writer_done (struct protocol_writer *writer);

#endif
