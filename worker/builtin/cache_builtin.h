/* cache_builtin.h - the builtin program `cache`: checks that all hosts see one shared cache, that it has room, and how
 * this host protects it.
 *
 * Speaks the canary protocol, before anything is compiled, so that an unusable cache is found on every host at once. It
 * makes the root if it can, and leaves nothing else in it. By hand: --root DIR [--least LEVEL]. It tries the level in
 * the same sandbox (confine.h), in the same place, as later programs. Exit status: 0 usable, 1 not (the failure line
 * says why), 2 usage. argv[0] is the builtin's name. */
#ifndef SLICEUP_WORKER_BUILTIN_CACHE_BUILTIN_H
#define SLICEUP_WORKER_BUILTIN_CACHE_BUILTIN_H

#include "common/model/result.h"

int cache_builtin_main (int argc, char **argv);
/* Makes a result's cache view from its facts. Texts alias or live in the arena. */
void cache_builtin_view_of_facts (const struct var *facts, uint32_t n, struct arena *arena, struct cache_view *out);

#endif
