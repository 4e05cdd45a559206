/* setup_script.h - runs the setup script of a pin set, which prepares a host before its environment is used.
 *
 * Run at every restore: nobody can see whether what a script did to a host is still so. Its output goes to standard
 * error as it comes. Blocks, for SETUP_LIMIT_MS at most. One thread. */
#ifndef SLICEUP_WORKER_ENVIRONMENT_SETUP_SCRIPT_H
#define SLICEUP_WORKER_ENVIRONMENT_SETUP_SCRIPT_H

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/model/outcome.h"

/* 0: it ended with status 0. Else `*owner` says whose affair it is: SLICEUP (the file cannot be read, or is not the one
 * that was planned), HOST (it failed, or took too long); the error has its status and last lines.
 * `*told`: how it ended, in `arena`; empty: it did not come to an end. */
int setup_script_run (const char *path, const char *sha256, struct arena *arena, struct text *told, enum owner *owner,
                      struct err *err);

#endif
