/* verified.h - which generations this worker has held against every byte of their manifests since the host booted.
 *
 * <directory>/verified: one digest a line, of host boot, cache, token and manifest. It saves reading large entries
 * again; what is forgotten, damaged or made up costs or saves only that. */
#ifndef SLICEUP_WORKER_ATTEMPT_VERIFIED_H
#define SLICEUP_WORKER_ATTEMPT_VERIFIED_H

#include "common/model/msg.h"

bool verified_before (const char *directory, const struct cache_access *access);
/* Keeps the newest; replaces the file at once. */
int verified_note (const char *directory, const struct cache_access *access, struct err *err);

#endif
