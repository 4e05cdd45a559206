/* grid.h - where the devices of a slice are: x runs fastest, then y, then z, for chips and for processes. Pure.
 *
 * Source: ray-project/ray:python/ray/_private/accelerators/tpu.py (order of hosts); jax-ml/jax:docs/multi_process.md shows
 * process 0 of a v5litepod-16 at (0,0), (1,0), (0,1) and (1,1). */
#ifndef SLICEUP_WORKER_STANDIN_GRID_H
#define SLICEUP_WORKER_STANDIN_GRID_H

#include <stdbool.h>
#include <stdint.h>

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

/* "2,2,1": three numbers from 1 to 64. */
bool grid_parse (const char *text, struct grid *grid);
uint32_t grid_size (struct grid grid);
uint32_t slice_grid_devices (const struct slice_grid *slice);
struct device_place slice_grid_place (const struct slice_grid *slice, uint32_t device);

#endif
