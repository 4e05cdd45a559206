/* confine_own.h - ways to change what sliceup itself executes, imports, reads as configuration or trusts, tried from inside
 * the sandbox that a program gets: through that, code of the program would run outside of it.
 *
 * Nothing stays changed: what worked is taken back. A name that is taken away comes back at once. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_OWN_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_OWN_H

#include "worker/sandbox/confine_places.h"

/* Bits of WAY_OWN_* (confine_ways.h) that are open; `*where`: one path of them, or NULL. `shown`: the folder of the constant
 * path; NULL: none. `moves`: whether names are taken
 * away as well, which others would miss for a moment if it worked. */
uint32_t own_ways_try (const struct confine_places *places, const char *shown, bool moves, const char **where);

#endif
