/* put.h - records along their tables, packed by msgpack-c. For this room; others use wire.h.
 * Its packer takes the shortest form of everything, the only one that reader.h accepts. */
#ifndef SLICEUP_WIRE_PUT_H
#define SLICEUP_WIRE_PUT_H

#include <msgpack/pack.h>

#include "common/base/buf.h"
#include "common/model/record.h"

/* The packer fails only if `out` has no room. */
msgpack_packer put_begin (struct buf *out);
/* Ends packing that began at byte `began` of `out`. rc other than 0: removes what was packed. */
void put_end (struct buf *out, size_t began, int rc);
int put_record (msgpack_packer *to, const struct record *record, const void *value);

#endif
