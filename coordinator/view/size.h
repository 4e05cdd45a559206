/* size.h - bytes for people: "0 B", "312 B", "3.2 MiB"; cut, never rounded up. Pure. */
#ifndef SLICEUP_COORDINATOR_VIEW_SIZE_H
#define SLICEUP_COORDINATOR_VIEW_SIZE_H

#include <stdint.h>

enum { SIZE_TEXT_BYTES = 32 };
const char *size_print (uint64_t bytes, char out[SIZE_TEXT_BYTES]); /* returns `out` */

#endif
