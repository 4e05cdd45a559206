/* makers.h - answers that take long, each made by a process of `sliceup`: receipts, drift.
 *
 * Such a process reads journals, writes into memory that this one hands on, and is ended after MAKERS_LIMIT_MS. Who asks
 * for the same is given the same. What an ended run gave is kept, as long as there is room; what one that goes on gave,
 * or what could not be made, is made anew for who asks MAKERS_AGE_MS, or MAKERS_KEPT_MS, later. One thread. */
#ifndef SLICEUP_COORDINATOR_WEB_MAKERS_H
#define SLICEUP_COORDINATOR_WEB_MAKERS_H

#include "common/base/err.h"
#include <stdbool.h>
#include <stdint.h>

enum { MAKERS_MAX = 8, MAKERS_AT_ONCE = 2, MAKERS_LIMIT_MS = 60 * 1000, MAKERS_KEPT_MS = 5000, MAKER_WORDS_MAX = 8 };
enum { MAKERS_AGE_MS = 30 * 1000 };

struct makers;
struct makers *makers_open (const char *program, const char *home);
void makers_close (struct makers *makers); /* ends those that are at work */
/* `words`: the command line behind "sliceup --home HOME", ended by NULL; it names what is asked for. `lasting`: it will
 * say the same later. 1: it is made: `*fd` is the caller's, `*bytes` its size; 0: ask again later; -1. */
int makers_ask (struct makers *makers, const char *const *words, bool lasting, uint64_t boot_ms, int *fd,
                uint64_t *bytes, struct err *err);
/* Ends what takes too long, and forgets what is old; after SIGCHLD, and about each second. */
void makers_tick (struct makers *makers, uint64_t boot_ms);

#endif
