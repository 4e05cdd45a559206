/* confine_overlay.h - mounts a scratch layer above a sealed generation (overlayfs), for programs that insist on
 * writing. It is discarded with the attempt's scratch folder, and shows what the program tried to write. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_OVERLAY_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_OVERLAY_H

#include "common/base/err.h"
#include "common/base/text.h"
#include <stdint.h>

enum { CONFINE_LAYER_NAMES = 5, CONFINE_LAYER_FILES_MAX = 100000 };

struct confine_overlay_writes {
    uint32_t files;                         /* and links, marks of removed ones, ...: everything but folders */
    struct text names[CONFINE_LAYER_NAMES]; /* of the first ones found, below the generation, in no order */
};

/* `at` shows `generation` with a layer in `scratch` above it. Needs the rights of a mount namespace. */
int confine_overlay_mount (const char *generation, const char *scratch, const char *at, struct err *err);
/* After the program is gone. No layer at all: nothing was written. It is removed. */
int confine_overlay_collect (const char *scratch, struct arena *arena, struct confine_overlay_writes *out,
                             struct err *err);

#endif
