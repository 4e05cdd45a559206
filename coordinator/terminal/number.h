/* number.h - numbers for people: "4,096". Pure. */
#ifndef SLICEUP_COORDINATOR_TERMINAL_NUMBER_H
#define SLICEUP_COORDINATOR_TERMINAL_NUMBER_H

#include <stdint.h>

enum { NUMBER_BYTES = 32 };
const char *number_print (uint64_t number, char out[NUMBER_BYTES]); /* returns `out` */

#endif
