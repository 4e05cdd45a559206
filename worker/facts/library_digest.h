/* library_digest.h - identifies a shared library by a fast digest of its bytes.
 *
 * XXH3 with 128 bits, as `xxh128sum FILE` prints it: it compares hosts and does not protect against forgery. It must be
 * fast, since every host reads a runtime of half a gigabyte at every start. It follows symbolic links, as the loader
 * does. It knows nothing of packages. Any thread; blocks while it reads, at most LIBRARY_READ_MS unless a read hangs. */
#ifndef SLICEUP_WORKER_FACTS_LIBRARY_DIGEST_H
#define SLICEUP_WORKER_FACTS_LIBRARY_DIGEST_H

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include <stdint.h>

enum { LIBRARY_HEX_BYTES = 32, LIBRARY_READ_MS = 20000 };
#define LIBRARY_BYTES_MAX (UINT64_C (8) << 30)

/* `hex`: LIBRARY_HEX_BYTES digits in `arena`. `bytes` (may be NULL): its size. -1: not there, no regular file, larger
 * than LIBRARY_BYTES_MAX, slower than LIBRARY_READ_MS, or changed while it was read; then nothing is set. */
int library_xxh128 (const char *path, struct arena *arena, struct text *hex, uint64_t *bytes, struct err *err);

#endif
