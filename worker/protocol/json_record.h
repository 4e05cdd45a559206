/* json_record.h - reads a JSON object into a record by its table, for reports of programs.
 *
 * Members that the table does not name are ignored, so that a newer canary still speaks to an older worker. Required
 * are names, enums and measured numbers (all but a tolerance). Free text is cleaned and cut to its bound; a too long
 * name or fingerprint is refused, since two cut ones could look equal. */
#ifndef SLICEUP_WORKER_PROTOCOL_JSON_RECORD_H
#define SLICEUP_WORKER_PROTOCOL_JSON_RECORD_H

#include "common/base/err.h"
#include "common/model/record.h"
#include <jansson.h>

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

#endif
