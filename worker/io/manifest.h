/* manifest.h - the list of everything in a sealed cache generation, as the file MANIFEST in it.
 *
 * One line an entry, sorted bytewise by path, each ended by a newline:
 *
 *     <sha256, 64 lower-case hex digits> <size in bytes> <mode, 4 octal digits> <path>       a file
 *     - 0 <mode> <path>/                                                                     a folder
 *
 * It lists everything below the generation's folder but itself; the digest of its own bytes is what the coordinator
 * journals, and so what a reader trusts. There is one way to write any manifest, and parsing refuses every other, so
 * equal generations have equal digests.
 * It knows nothing of tokens, orders and leases. Texts live in the arena given. Any thread. */
#ifndef SLICEUP_WORKER_MANIFEST_H
#define SLICEUP_WORKER_MANIFEST_H

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "worker/io/tree.h"

#define MANIFEST_NAME "MANIFEST"

enum { MANIFEST_BYTES_MAX = 32 * 1024 * 1024 };

struct manifest_entry {
    struct tree_entry at;
    struct digest digest;       /* zeros for a folder */
};
struct manifest {
    struct manifest_entry *items;
    uint32_t n;
    uint32_t files;
    uint64_t bytes;             /* of all files */
};

/* `out` overflows when the manifest is longer than its max. */
void manifest_print (const struct manifest *manifest, struct buf *out);
/* ERR_DAMAGE with the line's number for anything that manifest_print would not have written. */
int manifest_parse (struct text bytes, struct arena *arena, struct manifest *out, struct err *err);
/* Is exactly this there: same set, kinds, sizes and modes? The first difference is the error, by name. */
int manifest_compare (const struct manifest *manifest, const struct tree *tree, struct err *err);
/* Are these the bytes that were listed? Reads the entry's file through `fd`, from its beginning. */
int manifest_check_bytes (const struct manifest_entry *entry, int fd, struct err *err);

#endif
