/* storage.h - identifies the storage of a cache root, to check that all hosts see the same one.
 *
 * `<root>/storage` holds 64 random bits, made once by whoever comes first (O_EXCL). Hosts that read different values
 * see different storages of the same name. docs/spec/cache.md. Any thread. */
#ifndef SLICEUP_COMMON_CACHE_STORAGE_H
#define SLICEUP_COMMON_CACHE_STORAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/model/plan.h"

enum { STORAGE_ID_BYTES = 17 }; /* 16 hex digits and a NUL */

/* `make`: also makes the root and the file when they are not there. ERR_STATE: there is none. */
int storage_id (const char *root, bool make, char id[STORAGE_ID_BYTES], struct err *err);
/* "<fstype> <options> <source>" of the mount that `path` lies on, as /proc/self/mountinfo has it, cut to fit. */
int storage_describe_mount (const char *path, char *out, size_t out_bytes, struct err *err);
/* Does a new file of mode 0600 keep it? On buckets, SMB and drives of Windows the mount decides: gcsfuse(1), s3fs(1),
 * mount.cifs(8). 0: it does, or nothing can be made there. ERR_STATE names the mount and its options. */
int storage_check_modes (const char *root, struct err *err);

/* ---- who could change it ---- */

/* Checks that only trusted users can change a cache, because its entries run as programs.
 *
 * Trusted are root, the user that asks, and the uids of the plan (cache: {trust: [...]}). The root, the folders of
 * frontend and bundle, a generation and the catalogue's files belong to one of these, and their modes let nobody else
 * write, sticky or not; so does the way there (common/io/safe_path.h). A generation's entries have its owner (generation.h).
 * Modes and owners are those that this host sees: on shared storage each host asks for itself. Any thread. */

/* A missing root is fine: whoever makes it owns it. ERR_REFUSED names path, owner, mode and what to do. */
int owners_check_root (const char *root, const uid_list *trust, struct err *err);
/* That, and <root>/<frontend>/<bundle> with its gen-<token>; 0: none. */
int owners_check_generation (struct text bundle_root, uint64_t token, const uid_list *trust, struct err *err);
/* That, and all entries of the generation, MANIFEST and WITNESS too, have its owner: stats each, opens none. */
int owners_check_entries (struct text bundle_root, uint64_t token, const uid_list *trust, struct err *err);

/* "1000,1001"; no text: nobody. */
struct text owners_print_trust (const uid_list *trust, struct arena *arena);
int owners_parse_trust (struct text words, struct arena *arena, uid_list *out, struct err *err);

#endif
