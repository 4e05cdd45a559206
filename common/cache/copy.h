/* copy.h - copies the entries of one sealed generation into the folder of another.
 *
 * Never links: two names of one file would let a late write through the old one change both. The copy is compared with
 * the manifest, since the program will use the copy. */
#ifndef SLICEUP_COMMON_CACHE_COPY_H
#define SLICEUP_COMMON_CACHE_COPY_H

#include "common/cache/manifest.h"

/* `to` is an empty folder. Copies have the listed modes, and their owner may write them. A failure leaves a part. */
int copy_entries (const struct manifest *manifest, int from, int to, struct err *err);

#endif
