/* rung_program.h - what a rung ran, in one line that somebody elsewhere can repeat. Pure. */
#ifndef SLICEUP_COORDINATOR_RECEIPT_RUNG_PROGRAM_H
#define SLICEUP_COORDINATOR_RECEIPT_RUNG_PROGRAM_H

#include "common/model/plan.h"

/* "builtin facts", "canary jax/tiny.py (sha256 5f2ac01277d0)", or the words of a command with the files of its own
 * that it names: "python3 ./sum.py (sum.py sha256 5f2ac01277d0)". Secrets in words are not shown. In `arena`. */
struct text rung_program_describe (const struct rung *rung, struct arena *arena);

#endif
