/* confine_overlay.h - mounts a scratch layer over a sealed generation (overlayfs), for programs that must write. It
 * shows what the program tried to write, and is removed with the attempt's scratch folder. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_OVERLAY_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_OVERLAY_H

#include "common/base/err.h"
#include "common/base/text.h"
#include <stdint.h>

enum { CONFINE_LAYER_NAMES = 5, CONFINE_LAYER_FILES_MAX = 100000 };

struct confine_overlay_writes {
    uint32_t files;                         /* and links, marks of removed files, ...: all except folders */
    struct text names[CONFINE_LAYER_NAMES]; /* of the first ones, below the generation, in no order */
};

/* Mounts `generation` at `at`, with a layer in `scratch` over it. Needs the rights of a mount namespace. */
int confine_overlay_mount (const char *generation, const char *scratch, const char *at, struct err *err);
/* Call it after the program is gone: lists what was written, and removes the layer. No layer: nothing was written. */
int confine_overlay_collect (const char *scratch, struct arena *arena, struct confine_overlay_writes *out,
                             struct err *err);

#endif
