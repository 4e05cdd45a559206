/* place.h - which process of which slice this is, and whom it waits for: what libtpu reads from variables, and from the
 * metadata server where the variables do not say it. Pure: the caller looks things up.
 *
 * Order of names: the TPU_PROCESS_ name, the older TPU_HOST_ name, the one without a prefix, metadata. Which name wins in libtpu
 * when two differ is not documented: that a spawned torch_xla runs with a differing TPU_HOST_BOUNDS speaks for this order
 * (pytorch/xla:torch_xla/_internal/tpu.py). The bounds decide: of a grid of one process no address is read
 * (pytorch/xla #7714). */
#ifndef SLICEUP_WORKER_STANDIN_PLACE_H
#define SLICEUP_WORKER_STANDIN_PLACE_H

#include "worker/standin/grid.h"
#include "worker/standin/refusal.h"

enum { PLACE_PROCESSES_MAX = 64, PLACE_NAME_BYTES = 256, PLACE_PORT_BYTES = 8 };

/* A generation of TPU, as jax sees its devices. */
struct generation {
    const char *type; /* how an accelerator type begins */
    const char *kind;
    uint32_t devices_per_chip;
    int64_t memory; /* of one device, bytes */
};
struct process_address {
    char name[PLACE_NAME_BYTES], port[PLACE_PORT_BYTES];
};
struct place {
    const struct generation *generation;
    struct slice_grid slice;
    uint32_t id, world;
    struct process_address addresses[PLACE_PROCESSES_MAX]; /* of all, where world is not 1 */
    bool locks;                                            /* does libtpu take its lock file? */
};
/* Both return NULL for what is not there; metadata is also asked for keys of tpu-env. Texts last as long as the source. */
struct place_source {
    const char *(*variable) (void *owner, const char *name);
    const char *(*metadata) (void *owner, const char *attribute, const char *key);
    void *owner;
};

int place_read (const struct place_source *source, struct place *place, struct refusal *refusal);

#endif
