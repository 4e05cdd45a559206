/* descriptor_limit.h - private to common/io: enough descriptors, before the first peer comes.
 * With none left libzmq's listener spins at 100 % CPU. */
#ifndef SLICEUP_IO_DESCRIPTOR_LIMIT_H
#define SLICEUP_IO_DESCRIPTOR_LIMIT_H
#include <stdint.h>
#include "common/base/err.h"
/* Raises this process's soft RLIMIT_NOFILE, never lowers it. Programs started later should be given the old one
 * back. */
int descriptor_limit_raise (uint32_t hosts, struct err *err);
#endif
