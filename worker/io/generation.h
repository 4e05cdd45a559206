/* generation.h - one folder gen-<token>, opened.
 *
 * Shared by those who prepare and those who seal. The frontend's root is opened once, by the path the administrator
 * wrote (which may hold links); everything below goes through tree.h. */
#ifndef SLICEUP_WORKER_GENERATION_H
#define SLICEUP_WORKER_GENERATION_H

#include "common/model/msg.h"
#include "worker/io/manifest.h"

enum { GENERATION_NAME_BYTES = 32 };

struct generation {
    int root;                           /* the frontend's folder; -1: not open */
    int fd;                             /* gen-<token>; -1: not open */
    char root_path[PATH_MAX_BYTES + 1];
    char name[GENERATION_NAME_BYTES];
};

/* Opens the root, and makes it when `make`; names the generation but does not open it. Closed again on failure. */
int generation_open_root (struct generation *generation, struct text root, uint64_t token, bool make, struct err *err);
int generation_open (struct generation *generation, struct err *err);   /* gen-<token>, which must be there */
void generation_close (struct generation *generation);
int generation_path (const struct generation *generation, char *dir, size_t dir_bytes, struct err *err);
/* Reads MANIFEST and holds it against `sha256` (64 hex digits). */
int generation_manifest (const struct generation *generation, struct text sha256, struct arena *arena,
                         struct manifest *out, struct err *err);

#endif
