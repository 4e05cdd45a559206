/* cache_builtin.h - the builtin program `cache`: checks that all hosts see one shared cache, that there is room, and
 * what protects it on this host.
 *
 * Speaks the canary protocol, before anything is compiled: a cache that cannot be used is found on every host at once.
 * It makes the root when it can, and leaves nothing else in it. By hand: --root DIR [--least LEVEL]. The level is found
 * by the very stage that later programs go through (confine.h), in the same place. Exit status: 0 usable, 1 not (the
 * failure line says why), 2 usage. argv[0] is the program's own word. */
#ifndef SLICEUP_WORKER_BUILTIN_CACHE_BUILTIN_H
#define SLICEUP_WORKER_BUILTIN_CACHE_BUILTIN_H

#include "common/model/result.h"

int cache_builtin_main (int argc, char **argv);
/* What its facts say, for the result that they came in. Texts alias or live in the arena. */
void cache_builtin_view_of_facts (const struct var *facts, uint32_t n, struct arena *arena, struct cache_view *out);

#endif
