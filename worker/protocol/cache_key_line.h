/* cache_key_line.h - a canary's `cache` line taken into the keys of a result. Spec: docs/spec/canary.md.
 *
 * A program may compile more than a result carries: the budget is limited to the keys' share, parts are dropped before
 * keys, and a key without room is left out. Not thread-safe. A line that breaks a rule gives -1 and changes nothing. */
#ifndef SLICEUP_WORKER_PROTOCOL_CACHE_KEY_LINE_H
#define SLICEUP_WORKER_PROTOCOL_CACHE_KEY_LINE_H

#include "common/model/result.h"
#include "worker/protocol/json_record.h"

/* Of two lines about one key the one that tells more stays. */
int cache_key_line_store (const json_t *line, struct result *out, struct json_budget *budget, bool *left_out,
                          struct err *err);

#endif
