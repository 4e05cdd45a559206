/* copy.h - copies the entries of one sealed generation into the folder of another.
 *
 * Never links: two names of one file would let a late write through the old one change both. What is held against the
 * manifest is the copy, since that is what the program will use. */
#ifndef SLICEUP_COMMON_CACHE_COPY_H
#define SLICEUP_COMMON_CACHE_COPY_H

#include "common/cache/manifest.h"

/* `from` and `to` are folders; `to` is empty. Copies have the modes of the manifest, and may be written by their owner. On failure `to` holds a part. */
int copy_entries (const struct manifest *manifest, int from, int to, struct err *err);

#endif
