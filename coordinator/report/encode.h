/* encode.h - what two formats of a report are written in. XML 1.0: texts made safe for a terminal first (buf_escaped), then for XML.
 *
 * Control characters, broken UTF-8 and what XML 1.0 cannot hold at all (U+FFFE, U+FFFF) become visible. Pure. */
#ifndef SLICEUP_COORDINATOR_REPORT_ENCODE_H
#define SLICEUP_COORDINATOR_REPORT_ENCODE_H

#include "common/base/buf.h"

/* Between tags, or within quotes of either kind; at most `columns` columns wide, 0: whole. */
void xml_text (struct buf *out, struct text text, uint32_t columns);
/* The same of several lines, which stay lines. */
void xml_lines (struct buf *out, struct text lines);
/* " name="value"" */
void xml_attribute (struct buf *out, const char *name, struct text value, uint32_t columns);

/* ---- proto ---- */

/* Protobuf's wire format, written (https://protobuf.dev/programming-guides/encoding): tag, then value.
 *
 * A message is opened, filled and closed; its length is put in front of it then. Pure; an overflow of the buffer
 * sticks, as everywhere. */

void proto_number (struct buf *out, uint32_t field, uint64_t value);  /* uint64, uint32, bool, enum; int64 from 0 */
void proto_fixed64 (struct buf *out, uint32_t field, uint64_t value); /* fixed64 */
void proto_text (struct buf *out, uint32_t field, struct text value); /* string: UTF-8; bytes */
size_t proto_open (struct buf *out, uint32_t field);                  /* to be given to proto_close */
void proto_close (struct buf *out, size_t opened);

#endif
