/* mesh.h - the named device grid and which host holds which coordinates.
 *
 * Devices are numbered row-major over the axes in the order they are named; host of rank r holds devices
 * r * devices_per_host .. (r + 1) * devices_per_host - 1. The product of the axes is hosts * devices_per_host. */
#ifndef SLICEUP_COMMON_MODEL_MESH_H
#define SLICEUP_COMMON_MODEL_MESH_H

#include "common/model/record.h"
#include <stdbool.h>

enum { MESH_AXES_MAX = 6, AXIS_NAME_MAX_BYTES = 31, DEVICES_MAX = 1 << 16 };

struct axis {
    struct text axis; /* its name */
    uint32_t size;
};
struct mesh {
    struct axis *items;
    uint32_t n;
}; /* a LIST_OF (struct axis) */

extern const struct record axis_record;

uint32_t mesh_devices (const struct mesh *mesh);           /* product; 0 when it passes DEVICES_MAX or an axis is 0 */
int mesh_axis (const struct mesh *mesh, struct text name); /* index, or -1 */
/* Coordinates of a device; `at` has MESH_AXES_MAX places. */
void mesh_coordinates (const struct mesh *mesh, uint32_t device, uint32_t at[]);
/* Do devices `a` and `b` meet in a reduction over these axes (bit i: axis i)? They do when they agree in all others. */
bool mesh_reduced_together (const struct mesh *mesh, uint32_t a, uint32_t b, uint32_t axes_bits);

/* "4x4" or "2,2,1", as clouds write the topology of chips: the product; false: it is no such grid. */
bool mesh_topology_chips (struct text grid, uint32_t *product);
/* The hosts of a topology "4x4" whose hosts have chips of "2,2,1": "2,2,1". Empty: one of them is none. */
struct text mesh_host_grid (struct text topology, struct text bounds, struct arena *arena);
/* Do two grids such as "1,2,1" have the same sizes, in whatever order? Which way a slice lies is the cloud's. */
bool mesh_same_sizes (struct text a, struct text b);
/* Chips that an accelerator's name promises ("v6e-16": 16); false: here the number means something else. */
bool accelerator_chips (struct text accelerator, uint32_t *chips);

#endif
