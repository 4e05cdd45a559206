/* speaker.h - the program's end of the canary protocol (docs/spec/canary.md), for the programs built into the worker.
 *
 * With SLICEUP_FD in the environment it speaks over that descriptor and the worker's attempt line is read first;
 * without it a person is at the other end: there are no orders, and the same lines go to standard output.
 *
 * Texts are made valid UTF-8 and cut to what a result may hold. A line that cannot be said breaks the speaker: it says
 * nothing more, and speaker_close tells. One thread. */
#ifndef SLICEUP_WORKER_PROTOCOL_SPEAKER_H
#define SLICEUP_WORKER_PROTOCOL_SPEAKER_H

#include "common/base/err.h"
#include "common/model/outcome.h"
#include "common/model/result.h"

enum { SPEAKER_BUNDLE_MAX = 64 };   /* items a line, so that it stays below the protocol's 64 KiB */

struct speaker;
/* Takes SLICEUP_FD out of the environment and keeps the descriptor from children. Waits a minute for the attempt. */
struct speaker *speaker_open (struct err *err);             /* NULL on error */
int speaker_close (struct speaker *speaker, struct err *err); /* frees; -1: not everything was said */

bool speaker_by_hand (const struct speaker *speaker);
/* A text in the attempt's `args`; NULL when it is not there. Lives as long as the speaker. */
const char *speaker_arg (const struct speaker *speaker, const char *name);
/* All of them, as an object of jansson; NULL by hand. */
struct json_t;
const struct json_t *speaker_args (const struct speaker *speaker);
bool speaker_denies (const struct speaker *speaker, const char *name); /* it is there, and is false */

/* The texts in the object of that name in `args`, in `arena`, in any order; none when it is not there. */
var_list speaker_arg_vars (const struct speaker *speaker, const char *name, struct arena *arena);

void speaker_phase (struct speaker *speaker, const char *name);
void speaker_fact (struct speaker *speaker, const char *name, struct text value);
void speaker_note (struct speaker *speaker, struct text text, const char *source, enum durability durability);
void speaker_bundle (struct speaker *speaker, const struct var *items, uint32_t n);
void speaker_backend (struct speaker *speaker, const struct backend *backend);
void speaker_check (struct speaker *speaker, const struct check *check);
void speaker_counters (struct speaker *speaker, const struct number *items, uint32_t n);
/* Of this process; and of the device as the compiler and the runtime say, 0: they do not. */
void speaker_memory (struct speaker *speaker, uint64_t peak_bytes, uint64_t predicted_bytes, uint64_t device_peak_bytes);
void speaker_failure (struct speaker *speaker, enum layer layer, struct text text);
void speaker_done (struct speaker *speaker);

#endif
