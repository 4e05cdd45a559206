/* clean.h - bytes of a program made into text that every reader accepts. Pure; any thread. */
#ifndef SLICEUP_WORKER_CLEAN_H
#define SLICEUP_WORKER_CLEAN_H

#include "common/base/text.h"

/* A copy in `arena`: valid UTF-8 without NUL, every byte that is not replaced by U+FFFD, and cut between two characters
 * to at most `max_bytes`. Control characters stay: who shows text to people escapes it. */
struct text text_clean (struct arena *arena, struct text raw, uint32_t max_bytes);

#endif
