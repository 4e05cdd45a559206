/* manifest.h - the list of everything in a sealed cache generation, as the file MANIFEST in it.
 *
 * One line an entry, sorted bytewise by path, each ended by a newline:
 *
 *     <sha256, 64 lower-case hex digits> <size in bytes> <mode, 4 octal digits> <path>       a file
 *     - 0 <mode> <path>/                                                                     a folder
 *
 * It lists everything below the generation's folder except itself and WITNESS, the file on which ways to write may be
 * tried. The coordinator journals the digest of its bytes, which readers trust. A manifest has one spelling, and
 * parsing refuses every other, so equal generations have equal digests. It knows nothing of tokens, orders and leases.
 * Any thread. */
#ifndef SLICEUP_COMMON_CACHE_MANIFEST_H
#define SLICEUP_COMMON_CACHE_MANIFEST_H

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/cache/tree.h"

#define MANIFEST_NAME "MANIFEST"
#define MANIFEST_PART_NAME MANIFEST_NAME ".part"
#define WITNESS_NAME "WITNESS"

enum { MANIFEST_BYTES_MAX = 32 * 1024 * 1024, DIFFERENCE_BYTES = 256 };
/* Files of a sealed generation that no manifest lists; ends in NULL. */
extern const char *const manifest_unlisted[];

struct manifest_entry {
    struct tree_entry at;
    struct digest digest; /* zeros for a folder */
};
struct manifest {
    struct manifest_entry *items;
    uint32_t n;
    uint32_t files;
    uint64_t bytes; /* of all files */
};

/* Our own names, in any case: no entry may have one. */
bool manifest_is_reserved (struct text path);

/* `out` overflows when the manifest is longer than its max. */
void manifest_print (const struct manifest *manifest, struct buf *out);
/* ERR_DAMAGE, with the line's number: manifest_print would not have written it. The paths are pieces of `bytes`. */
int manifest_parse (struct text bytes, struct arena *arena, struct manifest *out, struct err *err);
/* The number of the item with that path. */
bool manifest_find (const struct manifest *manifest, struct text path, uint32_t *number);
/* Checks that `tree` has exactly these entries, kinds, sizes and modes; the error names the first difference. */
int manifest_check_tree (const struct manifest *manifest, const struct tree *tree, struct err *err);
/* Checks that the manifest has every entry of `base`, with its kind, size, mode and bytes. There may be more. */
int manifest_check_base (const struct manifest *manifest, const struct manifest *base, struct err *err);
/* Does `now` differ from what was sealed? `how` explains it in words that follow the path. */
bool manifest_entry_differs (const struct tree_entry *was, const struct tree_entry *now, char how[DIFFERENCE_BYTES]);
/* The digest of all bytes in `fd`. It reads up to `bytes` + 1, to see the end. `*got`: how many there were. */
int manifest_hash_file (int fd, uint64_t bytes, struct digest *digest, uint64_t *got, struct err *err);
/* 1: the bytes differ from the listed ones, and `how` explains it. 0: equal. -1: they could not be read. */
int manifest_bytes_differ (const struct manifest_entry *entry, int fd, char how[DIFFERENCE_BYTES], struct err *err);
int manifest_check_bytes (const struct manifest_entry *entry, int fd, struct err *err); /* the same as an error */

#endif
