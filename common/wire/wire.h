/* wire.h - bytes <-> records, messages and facts. The only home of MessagePack.
 *
 * Encoding: a record is a map from small integer keys to values, keys rising, zero and empty fields left out (so equal
 * values have equal bytes); enums are integers; lists are arrays; embedded records are maps.
 * Decoding trusts nothing: one bounded walk checks depth, item count, every length against what remains, UTF-8,
 * duplicate or falling keys, ranges from the record's table, and that nothing trails. Unknown keys are skipped within
 * the same limits. Texts alias `bytes`; lists are allocated in `arena` only after their length was checked against both
 * the table and the bytes that remain. Every value has one form: longer integers or lengths than needed, a zero field
 * that is written, -0.0 and other NaNs are refused. On failure nothing of `*out` may be used; `arena` may have grown.
 *
 * Writing does not check values against their tables (record_check does): the reader may refuse an unchecked record. A
 * record that does not fit in `out` sets its `overflow` and leaves its bytes unchanged. No threads, no state. */
#ifndef SLICEUP_COMMON_WIRE_WIRE_H
#define SLICEUP_COMMON_WIRE_WIRE_H

#include "common/model/fact.h"

/* Messages have few items; a first fact of 4096 hosts, 64 rungs with files and arguments, and 1,024 signatures has some
 * 830,000. */
enum { WIRE_DEPTH_MAX = 12, WIRE_ITEMS_MAX = 16384, WIRE_RECORD_ITEMS_MAX = 1 << 22 };

void wire_put_record (struct buf *out, const struct record *record, const void *value);
int wire_get_record (struct text bytes, const struct record *record, void *out, struct arena *arena, struct err *err);

/* At most MSG_MAX_BYTES; run_id of 16 bytes. A HELLO or REFUSE of any major version is read (the caller compares and
 * answers), everything else of another major is refused with ERR_REFUSED.
 * Envelope: [major, minor, kind, run_id, epoch, session, seq, ack, body]. */
void wire_put_msg (struct buf *out, const struct msg *msg);
int wire_get_msg (struct text bytes, struct msg *out, struct arena *arena, struct err *err);
/* [kind, index, at_ms, wall_ms, body] */
void wire_put_fact (struct buf *out, const struct fact *fact);
int wire_get_fact (struct text bytes, struct fact *out, struct arena *arena, struct err *err);

#endif
