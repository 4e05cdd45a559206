/* place.h - which process of which slice this is, and which others it waits for: as libtpu reads it from variables,
 * else from the metadata server. Pure: the caller does the look-ups.
 *
 * Order of names: the TPU_PROCESS_ name, the older TPU_HOST_ name, the one without a prefix, metadata. Which name wins
 * in libtpu if two differ is not documented: a spawned torch_xla runs with a differing TPU_HOST_BOUNDS, which suggests
 * this order (pytorch/xla:torch_xla/_internal/tpu.py). The bounds decide: for a grid of one process no address is read
 * (pytorch/xla #7714). */
#ifndef SLICEUP_WORKER_STANDIN_PLACE_H
#define SLICEUP_WORKER_STANDIN_PLACE_H

#include "worker/probe/pjrt.h"
#include <stdbool.h>
#include <stdint.h>

/* The places of a slice's devices: x runs fastest, then y, then z, for chips and for processes. Pure.
 *
 * Source: ray-project/ray:python/ray/_private/accelerators/tpu.py (order of hosts); jax-ml/jax:docs/multi_process.md has
 * process 0 of a v5litepod-16 at (0,0), (1,0), (0,1) and (1,1). */
enum { GRID_DEVICES_MAX = 512 };

struct grid {
    uint32_t x, y, z;
};
struct slice_grid {
    struct grid processes;     /* of the slice */
    struct grid chips;         /* of one process */
    uint32_t devices_per_chip; /* 1 or 2 */
};
struct device_place {
    uint32_t process;
    int64_t coords[3]; /* of its chip, in the slice */
    int64_t core;      /* on its chip */
};

uint32_t slice_grid_devices (const struct slice_grid *slice);
struct device_place slice_grid_place (const struct slice_grid *slice, uint32_t device);

/* An error of the stand-in: a status code and a text, as in the PJRT interface.
 *
 * The texts are those of libtpu and TPU hosts, if known; the source is beside each. */
enum { REFUSAL_TEXT_BYTES = 512 };

struct refusal {
    int code; /* enum pjrt_code; PJRT_OK: none */
    char text[REFUSAL_TEXT_BYTES];
};

/* Always -1. */
int refuse (struct refusal *refusal, int code, const char *format, ...) __attribute__ ((format (printf, 3, 4)));
/* Makes a PJRT_Error, valid until 64 others were made; nobody frees it. */
void *refusal_error (const struct refusal *refusal);
/* NULL: the error is the plugin's. */
const struct refusal *refusal_of_error (const void *error);

enum { PLACE_PROCESSES_MAX = 64, PLACE_NAME_BYTES = 256, PLACE_PORT_BYTES = 8 };

/* A generation of TPU, as jax sees its devices. */
struct generation {
    const char *type; /* prefix of accelerator types */
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
    struct process_address addresses[PLACE_PROCESSES_MAX]; /* of all processes, unless world is 1 */
    bool locks;                                            /* does libtpu take its lock file? */
};
/* Both return NULL for a missing value; metadata also serves keys of tpu-env. Texts live as long as the source. */
struct place_source {
    const char *(*variable) (void *owner, const char *name);
    const char *(*metadata) (void *owner, const char *attribute, const char *key);
    void *owner;
};

int place_read (const struct place_source *source, struct place *place, struct refusal *refusal);

#endif
