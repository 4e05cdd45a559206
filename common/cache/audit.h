/* audit.h - lists everything in a generation that was modified after it was sealed, by name. docs/spec/cache.md.
 *
 * A difference is a finding; an error means that the generation could not be read. It never writes. Any thread. */
#ifndef SLICEUP_COMMON_CACHE_AUDIT_H
#define SLICEUP_COMMON_CACHE_AUDIT_H

#include "common/cache/generation.h"
#include <stddef.h>

/* STAT: names, kinds, sizes, modes. SAMPLE: also the bytes of all files below 1 MiB and of a sample of the larger ones,
 * drawn by `seed`. FULL: all bytes. */
enum audit_depth { AUDIT_STAT = 1, AUDIT_SAMPLE, AUDIT_FULL };

struct finding_list {
    struct finding *items;
    uint32_t n, more;
}; /* at most FINDINGS_MAX; `more` were not kept */

/* Generation `token` of `bundle_root` (<root>/<frontend>/<bundle>) against the manifest whose sha256 is given. A
 * manifest with another digest is the finding "changed" of MANIFEST. */
int audit_generation (struct text bundle_root, uint64_t token, struct text sha256, enum audit_depth depth,
                      uint64_t seed, struct arena *arena, struct finding_list *out, struct err *err);

/* Checks that generation `token`, which began as a copy of `base`, still holds every byte of base's manifest. */
int audit_base (struct text bundle_root, uint64_t token, uint64_t base, struct text base_sha256, struct arena *arena,
                struct finding_list *out, struct err *err);

/* One gen-<token> as it lies there, sealed or not. `listing`: digest of paths, kinds, modes, sizes and times of the
 * last write; equal means that nobody wrote, or hid it by an equal size and a time set back. */
struct generation_stat {
    uint64_t token;
    bool sealed;
    uint32_t entries;
    uint64_t bytes;
    struct digest listing;
};
/* Every gen-<token> of a bundle, by rising token; none if there is no folder. Other names are ignored. */
int audit_list_generations (struct text bundle_root, struct arena *arena, struct generation_stat **out, uint32_t *n,
                            struct err *err);

/* ---- differences from a manifest ---- */

/* Reports the differences between one generation and its manifest, one at a time. Prepare refuses at the first difference, an audit collects all of them. It writes nothing. Any thread. */
struct manifest_mismatch {
    enum finding_kind kind; /* EXTRA, MISSING or CHANGED */
    struct text path;       /* below the generation, as it was found: not safe to print; ".": all of it */
    const char *how;        /* in words that follow the path */
};
/* Not 0 stops the search, which then returns -1 with the `err` that was set here. The texts live until it returns. */
typedef int manifest_mismatch_fn (void *owner, const struct manifest_mismatch *difference, struct err *err);

/* The generation is open. -1 also if it could not be read. */
int manifest_find_mismatches (const struct generation *generation, struct text sha256, enum audit_depth depth,
                              uint64_t seed, manifest_mismatch_fn *each, void *owner, struct err *err);
/* A manifest_mismatch_fn: the first one is the error, ERR_DAMAGE, by name. */
int manifest_refuse_mismatch (void *owner, const struct manifest_mismatch *difference, struct err *err);

/* ---- cache.c ---- */

/* Generations of a shared compile cache: <frontend_root>/gen-<token>/.
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
 * are the framework's; what has no place in a cache (generation.h) is refused by name. */
int cache_prepare_host_cache (const struct cache_access *access, struct text host, char *dir, size_t bytes,
                              struct err *err);
/* Seals gen-<token>: makes everything durable and read-only, leaves WITNESS, writes MANIFEST last. Call it only after
 * every process of the program is dead. ERR_DAMAGE: it holds what no cache may, or an entry of `base` changed:
 * audit_base lists those. `seal->sha256` lives in `arena`. */
int cache_seal (const struct cache_access *access, struct seal *seal, struct arena *arena, struct err *err);
/* Makes `link_path` a symbolic link to `dir`, atomically: programs see one path whatever the generation. */
int cache_set_symlink (const char *link_path, const char *dir, struct err *err);

#endif
