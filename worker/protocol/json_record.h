/* json_record.h - a JSON object read into a record by its table, for what a program says about itself.
 *
 * Members that the table does not name are ignored, so that a newer canary still speaks to an older worker. What must
 * be there: names, enums and numbers that measure something (all but a tolerance). Free text is cleaned and cut to its
 * bound; a name or a fingerprint that is too long is refused, since two that were cut could look equal. */
#ifndef SLICEUP_WORKER_PROTOCOL_JSON_RECORD_H
#define SLICEUP_WORKER_PROTOCOL_JSON_RECORD_H

#include "common/base/err.h"
#include "common/model/record.h"
#include <jansson.h>

/* MessagePack heads and the key of a field: more than any of them takes (spec: msgpack, formats). */
enum { JSON_FIELD_COST_BYTES = 10, JSON_ITEM_COST_BYTES = 8 };

/* What one reading may take: it goes into `arena`, and `left_bytes` shrinks by what it costs on the wire at most. */
struct json_budget {
    struct arena *arena;
    size_t left_bytes;
};

/* -1: nothing of `*out` may be used; the budget may be smaller. */
int json_read_record (const json_t *object, const struct record *record, void *out, struct json_budget *budget,
                      struct err *err);
/* What a value costs on the wire at most. */
size_t json_record_wire_bytes (const struct record *record, const void *value);
/* One text of at most `max_bytes`; `whole`: refused rather than cut. */
int json_read_text (const json_t *value, const char *name, uint32_t max_bytes, bool whole, struct text *out,
                    struct json_budget *budget, struct err *err);

#endif
