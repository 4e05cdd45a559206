/* duration.h - "30s" <-> milliseconds; durations and sizes for people. */
#ifndef SLICEUP_COMMON_BASE_DURATION_H
#define SLICEUP_COMMON_BASE_DURATION_H

#include "common/base/text.h"
#include <stdbool.h>
#include <stdint.h>

/* A number and one unit of ms, s, m or min, h, d: "250ms", "1.5s", "2m". Numbers without a unit and fractions of a
 * millisecond are refused. At most 365 days. `ms` is untouched on false. */
bool duration_parse (struct text text, uint64_t *ms);
enum { DURATION_TEXT_BYTES = 32 };
/* For people, cut, never rounded up: "340 ms", "1.5 s", "12 s", "3 min 20 s", "2 h 5 min", "3 d 4 h". Returns `out`. */
const char *duration_print (uint64_t ms, char out[DURATION_TEXT_BYTES]);
/* DURATION_TEXT, OFFSET_TEXT, SIZE_TEXT: the text in a buffer of its own, which lives to the end of the block. */
#define DURATION_TEXT(ms) duration_print (ms, (char[DURATION_TEXT_BYTES]){ "" })
/* By how much a clock is ahead of another one; behind it: negative. From CLOCK_OFF_MS on one of them is wrong. */
struct clock_offset {
    int64_t ms;
    uint64_t error_ms; /* by how much that may be wrong; 0: it is not known */
};
enum { OFFSET_TEXT_BYTES = DURATION_TEXT_BYTES + 8, CLOCK_OFF_MS = 1000 };
/* "1 h behind", "2.3 s ahead"; rounded. Returns `out`. */
const char *offset_print (int64_t ms, char out[OFFSET_TEXT_BYTES]);
#define OFFSET_TEXT(ms) offset_print (ms, (char[OFFSET_TEXT_BYTES]){ "" })

/* Bytes for people: "0 B", "312 B", "3.2 MiB"; cut, never rounded up. */
enum { SIZE_TEXT_BYTES = 32 };
const char *size_print (uint64_t bytes, char out[SIZE_TEXT_BYTES]); /* returns `out` */
#define SIZE_TEXT(bytes) size_print (bytes, (char[SIZE_TEXT_BYTES]){ "" })

#endif
