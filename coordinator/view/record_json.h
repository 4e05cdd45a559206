/* record_json.h - records <-> JSON, from their tables. A list of variables or numbers ({name, value}) is shown as an
 * object. */
#ifndef SLICEUP_COORDINATOR_VIEW_RECORD_JSON_H
#define SLICEUP_COORDINATOR_VIEW_RECORD_JSON_H

#include "common/base/err.h"
#include "common/model/record.h"
#include <jansson.h>

/* Every field is present, also when empty; an enum that is none is null; a double that is not finite is null. */
json_t *record_to_json (const struct record *record, const void *value);
/* The reverse: unknown members, wrong types and values out of bounds are errors that name the place. Missing members
 * and null are empty. Texts are copied into `arena`. */
int record_from_json (const struct record *record, const json_t *json, void *out, struct arena *arena, struct err *err);

#endif
