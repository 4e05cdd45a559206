/* cache.h - generations of a shared compile cache: <frontend_root>/gen-<token>/.
 *
 * The token is in the name, so a late writer writes where nobody reads. The coordinator's order says who may write and
 * which generation is current; nothing here decides it.
 *
 *     writer:  cache_prepare_writer -> the program fills `dir` -> everything of it is dead -> cache_seal
 *     reader:  cache_prepare_reader -> the program reads `dir` -> audit_generation
 *     own:     cache_prepare_host_cache -> the program uses it freely
 *
 * An order comes over the network and is checked again here. All of these read or copy whole generations and may take
 * long: never in a thread that must answer. Any thread; calls for one generation do not overlap. A failed call leaves
 * nothing half published: no generation that was being prepared, no MANIFEST. Errors are sentences for people. */
#ifndef SLICEUP_COMMON_CACHE_CACHE_H
#define SLICEUP_COMMON_CACHE_CACHE_H

#include "common/base/err.h"
#include "common/cache/audit.h"
#include "common/model/msg.h"
#include <stddef.h>

/* Makes gen-<token> and seeds it from generation `base` by copying (or reflink, never links: a late write through an
 * old name would change both), and checks base against its manifest. `dir` becomes its absolute path. An existing
 * gen-<token> is refused: another host got this token, or this order was already carried out. */
int cache_prepare_writer (const struct cache_access *access, char *dir, size_t dir_bytes, struct err *err);
/* Compares the manifest of generation `token` with the digest of the order, then the content with the manifest, to
 * `depth` (audit.h); `dir` becomes its absolute path. Token 0: `private_dir` is made anew, empty and of mode 0555, and
 * `dir` names it. ERR_DAMAGE: the generation is not what was sealed. */
int cache_prepare_reader (const struct cache_access *access, enum audit_depth depth, uint64_t seed,
                          const char *private_dir, char *dir, size_t dir_bytes, struct err *err);
/* The folder host-<host>, which only this host uses: made the first time with mode 0700, and kept. Half-written files
 * are the framework's; what has no place in a cache (tree.h) is refused by name. */
int cache_prepare_host_cache (const struct cache_access *access, struct text host, char *dir, size_t bytes,
                              struct err *err);
/* Seals gen-<token>: makes everything durable and read-only, leaves WITNESS, writes MANIFEST last. Call it only after
 * every process of the program is dead. ERR_DAMAGE: it holds what no cache may, or an entry of `base` changed:
 * audit_base lists those. `seal->sha256` lives in `arena`. */
int cache_seal (const struct cache_access *access, struct seal *seal, struct arena *arena, struct err *err);
/* Makes `link_path` a symbolic link to `dir`, atomically: programs see one path whatever the generation. */
int cache_set_symlink (const char *link_path, const char *dir, struct err *err);

#endif
