/* option.h - an option for creating a client, as one writes it: NAME=VALUE, or NAME:TYPE=VALUE.
 *
 * TYPE is int64, bool, float or string. Without one it is what VALUE looks like: a whole number, true or false, a
 * number with a point or an exponent, or else a text. Pure; any thread. */
#ifndef SLICEUP_WORKER_PROBE_OPTION_H
#define SLICEUP_WORKER_PROBE_OPTION_H

#include "common/base/err.h"
#include "common/base/text.h"
#include "worker/probe/pjrt.h"

enum { OPTIONS_MAX = 64, OPTION_NAME_MAX = 127, OPTION_BYTES_MAX = 1024 };

/* Borrows `written`. ERR_USAGE. */
int option_read (const char *written, struct pjrt_named_value *out, struct err *err);

#endif
