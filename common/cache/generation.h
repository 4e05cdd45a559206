/* generation.h - opens the folder gen-<token> of one generation.
 *
 * Also host-<name>, the folder that one host has for itself. Shared by those who prepare and those who seal. It opens
 * the frontend's root once, by the administrator's path, which may hold links, and all below through tree.h. */
#ifndef SLICEUP_COMMON_CACHE_GENERATION_H
#define SLICEUP_COMMON_CACHE_GENERATION_H

#include "common/cache/manifest.h"
#include "common/model/msg.h"

enum { GENERATION_NAME_BYTES = 256 };

struct generation {
    int root; /* the frontend's folder; -1: not open */
    int fd;   /* gen-<token>; -1: not open */
    char root_path[PATH_MAX_BYTES + 1];
    char name[GENERATION_NAME_BYTES];
};

/* Opens the root, and makes it when `make`; names the generation but does not open it. Closed again on failure. */
int generation_open_root (struct generation *generation, struct text root, uint64_t token, bool make, struct err *err);
int generation_open_host_cache (struct generation *generation, struct text root, struct text host, struct err *err);
/* gen-<token>. ERR_DAMAGE: it is not there, or is something else. */
int generation_open (struct generation *generation, struct err *err);
void generation_close (struct generation *generation);
/* Makes it with exactly this mode, and opens it; `taken`: it may exist already. Errors say what to do. On failure
 * nothing was made. */
int generation_make (struct generation *generation, mode_t mode, bool taken, struct err *err);
/* Adds the needed and the free space to an error, if less is free than needed. */
int generation_explain_space (const struct generation *generation, uint64_t needed_bytes, struct err *err);
int generation_path (const struct generation *generation, char *dir, size_t dir_bytes, struct err *err);
/* Reads MANIFEST and compares its digest with `sha256` (64 hex digits). */
int generation_read_manifest (const struct generation *generation, struct text sha256, struct arena *arena,
                              struct manifest *out, struct err *err);

/* ---- copying ---- */

/* Copies the entries of one sealed generation into the folder of another.
 *
 * Never links: two names of one file would let a late write through the old one change both. The copy is compared with
 * the manifest, since the program will use the copy. */

/* `to` is an empty folder. Copies have the listed modes, and their owner may write them. A failure leaves a part. */
int copy_entries (const struct manifest *manifest, int from, int to, struct err *err);

#endif
