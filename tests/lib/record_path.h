/* record_path.h - a field of a record by its path, "cache.writers" or "hosts[1].name": printed, or set from a text. */
#ifndef SLICEUP_TESTS_LIB_RECORD_PATH_H
#define SLICEUP_TESTS_LIB_RECORD_PATH_H

#include "common/model/record.h"
#include "test.h"

/* Lists with ", " between their items: of records the first field, "name=value" of those that have two, or else their number. */
void record_path_print (const struct record *record, const void *value, struct text path, struct buf *out);
/* An index past the end makes the list longer, in `arena`. A list of texts is set item by item: "writers[0]"; "(none)" empties. */
void record_path_set (const struct record *record, void *value, struct text path, struct text text,
                      struct arena *arena);
/* For each line "PATH = ..." of `want` a line with what the record has there. */
void record_path_print_wanted (const struct record *record, const void *value, struct text want, struct buf *out);

#endif
