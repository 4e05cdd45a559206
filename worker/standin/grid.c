#include "worker/standin/grid.h"

#include <stdio.h>

enum { SIDE_MAX = 64 };

static bool is_side (uint32_t side)
{
    return side >= 1 && side <= SIDE_MAX;
}

bool grid_parse (const char *text, struct grid *grid)
{
    int end = 0;
    if (sscanf (text, "%5u,%5u,%5u%n", &grid->x, &grid->y, &grid->z, &end) != 3 || text[end] != '\0')
        return false;
    return is_side (grid->x) && is_side (grid->y) && is_side (grid->z);
}

uint32_t grid_size (struct grid grid)
{
    return grid.x * grid.y * grid.z;
}

uint32_t slice_grid_devices (const struct slice_grid *slice)
{
    return grid_size (slice->processes) * grid_size (slice->chips) * slice->devices_per_chip;
}

struct device_place slice_grid_place (const struct slice_grid *slice, uint32_t device)
{
    const struct grid *processes = &slice->processes, *chips = &slice->chips;
    uint32_t chip = device / slice->devices_per_chip, wide = processes->x * chips->x, deep = processes->y * chips->y;
    uint32_t x = chip % wide, y = chip / wide % deep, z = chip / wide / deep;
    uint32_t process = x / chips->x + processes->x * (y / chips->y + processes->y * (z / chips->z));
    return (struct device_place){ process, { x, y, z }, device % slice->devices_per_chip };
}
