/* get.h - a record out of a reader, along its table. For msg.c and fact.c of this room; others use wire.h. */
#ifndef SLICEUP_COMMON_WIRE_GET_H
#define SLICEUP_COMMON_WIRE_GET_H

#include "common/model/record.h"
#include "common/wire/reader.h"

/* Reads a map. `*out` is zeroed first; `depth` levels may be opened, the map itself being one. */
int get_record (struct reader *reader, const struct record *record, void *out, uint32_t depth, struct arena *arena,
                struct err *err);
int get_u64 (struct reader *reader, const char *name, uint64_t max, uint64_t *out, struct err *err);
/* A list's head with exactly `items`. */
int get_list_head_of_n (struct reader *reader, const char *name, uint32_t items, struct err *err);
int get_end (const struct reader *reader, struct err *err);

#endif
