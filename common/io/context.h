/* context.h - private to common/io: the one libzmq context of this process.
 *
 * Several contexts with CURVE can crash one another in libzmq 4.3.4, and inproc names (the ZAP handler's) live in one.
 * Each hub and spoke holds it while it has sockets; the last release waits for what still lingers. Any
 * thread. After fork the child must not touch what the parent holds. */
#ifndef SLICEUP_COMMON_IO_CONTEXT_H
#define SLICEUP_COMMON_IO_CONTEXT_H
#include "common/base/err.h"
void *context_hold (struct err *err);
void context_release (void);
#endif
