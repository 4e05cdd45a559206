#include "common/model/mesh.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct field axis_fields[] = { F_TEXT (1, struct axis, axis, AXIS_NAME_MAX_BYTES),
                                            F_U32 (2, struct axis, size, DEVICES_MAX) };
const struct record axis_record = RECORD ("axis", struct axis, axis_fields);

uint32_t mesh_devices (const struct mesh *mesh)
{
    uint64_t devices = 1;
    for (uint32_t i = 0; i < mesh->n; i++) {
        devices *= mesh->items[i].size;
        if (devices > DEVICES_MAX)
            return 0;
    }
    return (uint32_t) devices;
}

int mesh_axis (const struct mesh *mesh, struct text name)
{
    for (uint32_t i = 0; i < mesh->n; i++)
        if (text_equal (mesh->items[i].axis, name))
            return (int) i;
    return -1;
}

/* Row-major: the last axis named is the one that changes from one device to the next. */
void mesh_coordinates (const struct mesh *mesh, uint32_t device, uint32_t at[])
{
    assert (mesh->n <= MESH_AXES_MAX && device < mesh_devices (mesh));
    for (uint32_t i = mesh->n; i-- > 0;) {
        at[i] = device % mesh->items[i].size;
        device /= mesh->items[i].size;
    }
}

bool mesh_reduced_together (const struct mesh *mesh, uint32_t a, uint32_t b, uint32_t axes_bits)
{
    uint32_t at_a[MESH_AXES_MAX], at_b[MESH_AXES_MAX];
    mesh_coordinates (mesh, a, at_a);
    mesh_coordinates (mesh, b, at_b);
    for (uint32_t i = 0; i < mesh->n; i++)
        if (!(axes_bits >> i & 1) && at_a[i] != at_b[i])
            return false;
    return true;
}

enum { CHIPS_MAX = 1 << 20 };

bool mesh_topology_chips (struct text grid, uint32_t *product)
{
    uint64_t all = 1, one = 0;
    bool digit = false;
    for (uint32_t i = 0; i <= grid.len; i++) {
        if (i < grid.len && text_is_digit (grid.ptr[i])) {
            one = one * 10 + (uint64_t) (grid.ptr[i] - '0');
            digit = true;
        } else if (digit && one > 0 && (i == grid.len || grid.ptr[i] == 'x' || grid.ptr[i] == ',')) {
            all *= one;
            one = 0;
            digit = false;
        } else {
            return false;
        }
        if (one > CHIPS_MAX || all > CHIPS_MAX)
            return false;
    }
    *product = (uint32_t) all;
    return true;
}

enum { GRID_AXES = 3 };

/* Sizes that are not there are 1. */
static bool read_grid (struct text grid, uint32_t sizes[GRID_AXES])
{
    uint32_t all, n = 0;
    if (!grid.len || !mesh_topology_chips (grid, &all))
        return false;
    for (int i = 0; i < GRID_AXES; i++)
        sizes[i] = 1;
    while (grid.len && n < GRID_AXES) {
        uint32_t digits = text_digits_end (grid, 0);
        (void) mesh_topology_chips ((struct text){ grid.ptr, digits }, &sizes[n++]);
        digits += digits < grid.len;
        grid = (struct text){ grid.ptr + digits, grid.len - digits };
    }
    return grid.len == 0;
}

struct text mesh_host_grid (struct text topology, struct text bounds, struct arena *arena)
{
    uint32_t all[GRID_AXES], own[GRID_AXES];
    if (!read_grid (topology, all) || !read_grid (bounds, own))
        return (struct text){ 0 };
    for (int i = 0; i < GRID_AXES; i++)
        all[i] = all[i] / own[i] ? all[i] / own[i] : 1;
    return text_format (arena, "%u,%u,%u", all[0], all[1], all[2]);
}

static int mesh_by_size (const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
    return x < y ? -1 : x > y;
}

bool mesh_same_sizes (struct text a, struct text b)
{
    uint32_t x[GRID_AXES], y[GRID_AXES];
    if (!read_grid (a, x) || !read_grid (b, y))
        return false;
    qsort (x, GRID_AXES, sizeof x[0], mesh_by_size);
    qsort (y, GRID_AXES, sizeof y[0], mesh_by_size);
    return memcmp (x, y, sizeof x) == 0;
}

/* The number counts chips in these generations (docs.cloud.google.com/tpu/docs/v6e: v6e-16 is 4x4, 16 chips). */
bool accelerator_chips (struct text accelerator, uint32_t *chips)
{
    static const char *const counted_in_chips[] = { "v6e-", "v5litepod-", "v5e-" };
    for (size_t i = 0; i < sizeof counted_in_chips / sizeof counted_in_chips[0]; i++) {
        struct text prefix = text_of (counted_in_chips[i]);
        if (text_starts (accelerator, counted_in_chips[i]))
            return mesh_topology_chips ((struct text){ accelerator.ptr + prefix.len, accelerator.len - prefix.len },
                                        chips);
    }
    return false;
}
