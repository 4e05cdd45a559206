/* verified_generations.h - remembers which generations this worker has verified byte by byte since the host booted.
 *
 * <directory>/verified: one digest a line, of host boot, cache, token and manifest. It saves reading large entries
 * again. A record that is lost, damaged or forged changes only how much is read again. */
#ifndef SLICEUP_WORKER_ATTEMPT_VERIFIED_GENERATIONS_H
#define SLICEUP_WORKER_ATTEMPT_VERIFIED_GENERATIONS_H

#include "common/model/msg.h"

bool verified_contains (const char *directory, const struct cache_access *access);
/* Keeps the newest; replaces the file at once. */
int verified_note (const char *directory, const struct cache_access *access, struct err *err);

#endif
