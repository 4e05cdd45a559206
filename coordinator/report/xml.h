/* xml.h - texts for XML 1.0: made safe for a terminal first (buf_escaped), then for XML.
 *
 * Control characters, broken UTF-8 and what XML 1.0 cannot hold at all (U+FFFE, U+FFFF) become visible. Pure. */
#ifndef SLICEUP_COORDINATOR_REPORT_XML_H
#define SLICEUP_COORDINATOR_REPORT_XML_H

#include "common/base/buf.h"

/* Between tags, or within quotes of either kind; at most `columns` columns wide, 0: whole. */
void xml_text (struct buf *out, struct text text, uint32_t columns);
/* The same of several lines, which stay lines. */
void xml_lines (struct buf *out, struct text lines);
/* " name="value"" */
void xml_attribute (struct buf *out, const char *name, struct text value, uint32_t columns);

#endif
