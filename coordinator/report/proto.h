/* proto.h - protobuf's wire format, written (https://protobuf.dev/programming-guides/encoding): tag, then value.
 *
 * A message is opened, filled and closed; its length is put in front of it then. Pure; an overflow of the buffer
 * sticks, as everywhere. */
#ifndef SLICEUP_COORDINATOR_REPORT_PROTO_H
#define SLICEUP_COORDINATOR_REPORT_PROTO_H

#include "common/base/buf.h"

void proto_number (struct buf *out, uint32_t field, uint64_t value);  /* uint64, uint32, bool, enum; int64 from 0 */
void proto_fixed64 (struct buf *out, uint32_t field, uint64_t value); /* fixed64 */
void proto_text (struct buf *out, uint32_t field, struct text value); /* string: UTF-8; bytes */
size_t proto_open (struct buf *out, uint32_t field);                  /* to be given to proto_close */
void proto_close (struct buf *out, size_t opened);

#endif
