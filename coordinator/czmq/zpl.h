/* zpl.h - private to coordinator/czmq: checks that bytes are safe for czmq's reader of ZPL (RFC 4).
 *
 * zconfig prints what it does not understand on standard output, and in a key file that may be the secret. So it is
 * given only what it reads without a word; whatever it would find fault with is found here first. Pure. */
#ifndef SLICEUP_COORDINATOR_CZMQ_ZPL_H
#define SLICEUP_COORDINATOR_CZMQ_ZPL_H

#include "common/base/text.h"

/* Every line is a comment, a name, or a name with a value, quoted or not, and stands at most one step (four spaces)
 * deeper than the one before. */
bool zpl_is_plain (struct text bytes);

#endif
